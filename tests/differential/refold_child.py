"""The other process of `test_refold`: reads logs, refolds them, says what differs."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

_real_time = time.time
time.time = lambda: _real_time() + 315_360_000  # ten years on, before anything can look

from perdure import workflow  # noqa: E402
from perdure.core.facts import decode_row  # noqa: E402
from perdure.core.refold import refold  # noqa: E402
from perdure.errors import PerdureError  # noqa: E402
from perdure.node.host import HOST  # noqa: E402
from tests.differential import harness  # noqa: E402


def main(file: str, logs: str) -> int:
    """Refold every log of a file of programs."""
    source = next(each for each in harness.sources() if each.file == file)
    wrong = done = 0
    with Path(logs).open() as lines:
        for line in lines:
            log = json.loads(line)
            module = source.fresh()
            flow = workflow(getattr(module, f"run_{log['name']}"))
            try:
                run = refold(
                    flow.program(), (decode_row(row.encode()) for row in log["rows"]), HOST
                )
                assert run.status == log["status"], (run.status, log["status"])
                done += 1
            except (PerdureError, AssertionError) as error:
                wrong += 1
                print(f"{log['name']}: {error}")
    print(f"refolded {done}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
