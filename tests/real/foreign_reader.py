"""A process of somebody else: reads the file of a store with the `sqlite3` of the standard library.

    python -m tests.real.foreign_reader FILE

Reads until its standard input is closed, over connections that come and go, then says how often it
read. What it sees never goes backwards, and no log has a hole; if not, it says so and fails.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

READS_PER_CONNECTION = 40
HOLES = """
select rid from (select rid, count(*) n, min(seq) first, max(seq) last from facts where rid in
  (select distinct rid from facts order by rowid desc limit 20) group by rid)
where first <> 1 or last <> n
"""


def reads(file: str, stop: threading.Event) -> Iterator[int]:
    """Give how many facts there are, again and again."""
    while not stop.is_set():
        place = f"{Path(file).as_uri()}?mode=ro"
        with closing(sqlite3.connect(place, uri=True, timeout=20)) as connection:
            for _ in range(READS_PER_CONNECTION):
                [(last,)] = connection.execute("select coalesce(max(rowid), 0) from facts")
                holes = connection.execute(HOLES).fetchall()
                if holes:
                    raise SystemExit(f"logs with holes: {holes}")
                yield last
                if stop.wait(0.003):
                    return


def main(file: str) -> None:
    stop = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=listen, daemon=True).start()
    before, count = 0, 0
    for last in reads(file, stop):
        if last < before:
            raise SystemExit(f"went backwards, from {before} to {last}")
        before, count = last, count + 1
    print(f"read {count}")


if __name__ == "__main__":
    main(sys.argv[1])
