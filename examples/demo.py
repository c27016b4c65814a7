"""`make demo`: an order on a file, its process killed with SIGKILL half-way, and the order goes on.

This process looks and plays the manager; it runs nothing of the order. A worker does that, until it
is killed, and another one that is started then. Every action writes into a journal of its own what
it begins and what it has done. At the end the journal is held against what was promised: nothing is
done twice but what was in flight when the worker died. The exit code says whether that held.

    python examples/demo.py --keep FOLDER    keeps the store, for `perdure show order-42`
"""

# slow: it sleeps, kills and starts processes; tests/real/test_demo.py runs it

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from orders import Line, Order, fulfil

from perdure import Perdure
from perdure.cli.following import Shows, follow, way_for
from perdure.cli.terminal import paint, wants_colour
from perdure.core.facts import Completed
from perdure.core.picture import Picture

HERE = Path(__file__).parent
PARCELS = {"lamp": 1, "mug": 1, "chair": 3, "table": 3, "bed": 4}
ORDER = Order("42", 1800, [Line(item, count) for item, count in PARCELS.items()])
LIMIT_S = 90
"""How long it may take on a machine that is busy with other things; else a quarter of it."""
PATIENCE_S = 1.0
"""How long the manager takes, and how long the order lies there without a process."""


class Demo:
    """The order, the two processes that see it through, and what is told of them."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "orders.db"
        self.journal = folder / "journal.txt"
        self.log = folder / "workers.txt"
        self.way: Shows = way_for(sys.stdout)
        self.picture: Picture | None = None
        self.moved = asyncio.Event()
        self.workers: list[asyncio.subprocess.Process] = []
        self.durable: set[int] = set()

    # --- what is shown: this stands between the run and the screen

    def show(self, picture: Picture) -> None:
        """Take the next picture, for the screen and for whoever waits for something in it."""
        self.picture = picture
        self.moved.set()
        self.way.show(picture)

    def tick(self) -> None:
        """Let the screen count the seconds."""
        self.way.tick()

    def clear(self) -> None:
        """Make room for a line."""
        self.way.clear()

    def close(self) -> None:
        """Leave the last picture on the screen."""
        self.way.close()

    def say(self, text: str) -> None:
        """Say what happens beside the order."""
        self.way.say(f"── {text}")

    async def until(self, holds: Callable[[Picture], bool]) -> None:
        """Wait for a picture in which something holds."""
        while self.picture is None or not holds(self.picture):
            if self.picture is not None and self.picture.ended is not None:
                raise RuntimeError("the order was over before the demo had come to its point")
            self.moved.clear()
            await self.moved.wait()

    # --- what happens

    async def run(self) -> Picture | None:
        """See the order through, with everything that comes between."""
        async with Perdure(self.store, serve=False) as app:
            handle = await app.start(fulfil, ORDER, id="order-42")
            acting = asyncio.create_task(self.act(app))
            following = asyncio.create_task(follow(handle, self))
            try:
                async with asyncio.timeout(LIMIT_S):
                    await asyncio.gather(acting, following)
            finally:
                acting.cancel()
                following.cancel()
                await self.stop()
            return following.result()

    async def act(self, app: Perdure) -> None:
        """Approve the order; kill its process half-way; start another one."""
        self.say("a worker serves the file")
        worker = await self.worker()
        await self.until(lambda picture: _stands(picture, "_approved").startswith("waiting"))
        await asyncio.sleep(PATIENCE_S)
        self.say("the manager approves: perdure signal order-42 approval true")
        await self.perdure("signal", "order-42", "approval", "true")
        await self.until(lambda picture: _stands(picture, "gather") == "waiting 2 of 5")
        worker.kill()
        await worker.wait()
        self.durable = await _completed(app)
        self.say(f"kill -9 {worker.pid}: the worker is dead, with three parcels in flight")
        await asyncio.sleep(PATIENCE_S)
        self.say("another worker takes the file, and goes on where it stood")
        await self.worker()

    async def worker(self) -> asyncio.subprocess.Process:
        """Start a process that runs what is in the store."""
        made = await self.begin("worker", str(HERE / "orders.py"))
        self.workers.append(made)
        return made

    async def perdure(self, *words: str) -> None:
        """Run a command on the store to its end."""
        await (await self.begin(*words)).wait()

    async def begin(self, *words: str) -> asyncio.subprocess.Process:
        """Begin a command on the store."""
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-m", "perdure", *words, "--store", str(self.store),
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "ORDERS_JOURNAL": str(self.journal)},
            )  # fmt: skip

    async def stop(self) -> None:
        """End the workers in order."""
        for each in self.workers:
            if each.returncode is None:
                each.terminate()
                await each.wait()


def _stands(picture: Picture, label: str) -> str:
    """Say how a node stands: `waiting 2 of 5`."""
    node = next((each for each in picture.nodes if label in each.label), None)
    if node is None:
        return ""
    return node.status if node.gate is None else f"{node.status} {node.gate[0]} of {node.gate[1]}"


async def _completed(app: Perdure) -> set[int]:
    """Give the calls whose outcome is in the file."""
    facts = await (await app.get("order-42")).facts()
    return {row.fact.call for row in facts if isinstance(row.fact, Completed)}


# --- the journal


class Journal:
    """What each process says that it began and did, by the number of the call."""

    def __init__(self, text: str, pids: list[int]) -> None:
        self.pids = pids
        self.names: dict[int, str] = {}
        self.words: dict[tuple[int, int], list[str]] = {}
        for line in text.splitlines():
            pid, word, key, name = line.split(" ", 3)
            call = int(key.rpartition(":")[2])
            self.names[call] = name
            self.words.setdefault((call, int(pid)), []).append(word)

    def table(self) -> list[str]:
        """Say what ran in which process."""
        heads = [f"process {pid}" for pid in self.pids]
        rows = [["", *heads], ["", "killed with -9", "started after that"]]
        for call, name in sorted(self.names.items()):
            rows.append([name, *(self.told(call, pid) for pid in self.pids)])
        return [f"  {a:14}  {b:18}  {c}".rstrip() for a, b, c in rows]

    def told(self, call: int, pid: int) -> str:
        """Say what one process did of a call."""
        words = self.words.get((call, pid), [])
        ended = [word for word in words if word != "begun"]
        cut_off = words.count("begun") > len(ended)
        return ", then ".join([*ended, *(["cut off"] if cut_off else [])])

    def problems(self, durable: set[int]) -> list[str]:
        """Say what did not hold of what was promised."""
        first, second = self.pids
        found: list[str] = []
        again = [call for call in self.names if (call, first) in self.words]
        again = [call for call in again if (call, second) in self.words]
        for call, name in self.names.items():
            done = sum(words.count("done") for (at, _), words in self.words.items() if at == call)
            if done == 0 or (done > 1 and call not in again):
                found.append(f"{name} was done {done} times")
            if call in durable and (call, second) in self.words:
                found.append(f"{name} was in the file as done, and yet was done again")
        if not again:
            found.append("nothing was in flight when the worker was killed")
        if not durable:
            found.append("nothing was in the file when the worker was killed")
        return found

    def again(self) -> list[str]:
        """Give what the second process had to begin anew."""
        both = [call for call in sorted(self.names) if (call, self.pids[0]) in self.words]
        return [self.names[call] for call in both if (call, self.pids[1]) in self.words]


def verdict(demo: Demo, last: Picture | None) -> list[str]:
    """Print what ran where; give what did not hold."""
    pids = [each.pid for each in demo.workers]
    journal = Journal(demo.journal.read_text(encoding="utf-8"), pids)
    print(bold("\nWhat ran in which process, by a journal that the engine knows nothing of\n"))
    print("\n".join(journal.table()))
    found = journal.problems(demo.durable)
    if last is None or last.status != "completed":
        found.append(f"the order is {'gone' if last is None else last.status}")
    if demo.workers[0].returncode != -9:
        found.append("the first worker was not killed")
    if found:
        print("\n" + "\n".join(f"it did not hold: {each}" for each in found))
    else:
        print(f"\nBegun twice: {', '.join(journal.again())}.")
        print("These were in flight. Nothing else was.")
    return found


def bold(text: str) -> str:
    """Write in bold where that can be seen."""
    return paint(text, "bold", on=wants_colour())


def main() -> int:
    """Show it; 1 if something that is claimed did not hold."""
    options = argparse.ArgumentParser(description="an order that is killed half-way, and goes on")
    options.add_argument("--keep", metavar="FOLDER", type=Path, help="keep the store there")
    keep: Path | None = options.parse_args().keep
    if keep is not None:
        keep.mkdir(parents=True)
        code = _demo(keep)
        print(f"\nLook again: perdure show order-42 --store {shlex.quote(str(keep / 'orders.db'))}")
        return code
    with tempfile.TemporaryDirectory(prefix="perdure-demo-") as folder:
        return _demo(Path(folder))


def _demo(folder: Path) -> int:
    demo = Demo(folder)
    print(bold("An order on a file. Its process is killed half-way; see what runs twice.\n"))
    try:
        last = asyncio.run(demo.run())
        code = 1 if verdict(demo, last) else 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 — whatever it is, the workers may know more
        log = demo.log.read_text(encoding="utf-8") if demo.log.exists() else ""
        print(f"\nthe demo failed: {error!r}\n{log}", file=sys.stderr)
        return 1
    return code


if __name__ == "__main__":
    raise SystemExit(main())
