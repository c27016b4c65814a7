"""Without an event loop: a child for each file, progress that outlives an attempt, and a list.

`perdure.sync` has every method of the engine. The actions are plain functions: they run in threads.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from perdure import Retry, action, attempt, heartbeat, workflow
from perdure.sync import Perdure

LINES = 30


@action(retry=Retry(attempts=5, backoff="10ms"))
def read_lines(name: str) -> int:
    """Read a file line by line; the next attempt goes on where this one fails."""
    done = attempt().details or 0
    for line in range(done, LINES):
        if line == 20 and attempt().number == 1:
            raise ConnectionError(f"{name}: the disk was away")
        heartbeat(line + 1)
    return LINES - done


@workflow
async def import_file(name: str) -> int:
    """One file: a run of its own, with its own log."""
    return await read_lines(name)


@workflow
async def import_all(names: list[str]) -> dict[str, int]:
    """All files at once."""
    counts = await asyncio.gather(*[import_file(name) for name in names])
    return dict(zip(names, counts, strict=True))


def main() -> None:
    """Import three files, and show what the store has of it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Perdure(Path(folder) / "imports.db") as app,
    ):
        run = app.start(import_all, ["a.txt", "b.txt", "c.txt"], id="import-1")
        print("lines read by the last attempt of each:", run.result(timeout="30s"))
        for each in app.list(workflow=import_file):
            print(each.id, each.status, "of", each.parent)


if __name__ == "__main__":
    main()
