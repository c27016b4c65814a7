"""`perdure run MODULE:FLOW`: start a run, or go on with it, and serve until it ends."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import replace
from typing import Any

from perdure.app import Perdure
from perdure.cli import endings, shown
from perdure.cli.asked import call_of
from perdure.cli.following import Beside, Screen, is_terminal
from perdure.cli.live import Live
from perdure.cli.naming import load_workflow
from perdure.cli.stores import serving, store_of, takes_json, takes_run, takes_store
from perdure.cli.terminal import clean
from perdure.client import Handle
from perdure.core.effects import Say
from perdure.errors import NoSuchRun, RunExists
from perdure.node.options import Options, warn
from perdure.node.options import show as say
from perdure.serving import serve
from perdure.store.port import STATUSES, RunRow
from perdure.workflows import Workflow

_DRAWN_FACTS_MAX = 5_000
"""To draw a run its facts are folded a second time, which a long one should not pay for."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    takes_run(parser)
    takes_store(parser)
    takes_json(parser)


def command(options: argparse.Namespace) -> int:
    """Serve until the run has ended; the exit code says how."""
    flow = load_workflow(options.flow)
    return asyncio.run(_Running(options, flow).serve())


class _Running:
    """One run of a workflow, from its start or from where it was, to its end."""

    def __init__(self, options: argparse.Namespace, flow: Workflow[Any, Any]) -> None:
        self.options = options
        self.flow = flow
        draws = not options.json and is_terminal(sys.stderr)
        self.screen = Screen(sys.stderr) if draws else None
        self.beside: Beside | None = None
        self.live = Live(wanted=not options.json and not draws)
        self.begun = time.monotonic()
        self.run_id: str = options.id or ""
        self.hindered = ""

    async def serve(self) -> int:
        app = serving(self.options, replace(Options(), say=self.say, warn=self.warn))
        code = await serve(app, self.work)
        self.clear()
        if code >= 128 and self.run_id:
            again = f"perdure run {self.options.flow} --id {self.run_id}"
            again += f" --store {store_of(self.options)}"
            print(
                f"run {clean(self.run_id)} is not over; `{clean(again)}` goes on", file=sys.stderr
            )
        return code

    async def work(self, app: Perdure) -> int:
        handle = await self.find(app) or await self.start(app)
        self.run_id = handle.id
        if app.owner is not None:
            await app.owner.take_up()  # a retry, say, of a run that has failed
        row = await self.ending(app, handle)
        if not self.options.json:
            self.sum_up(row)
        return endings.tell(row, as_json=self.options.json)

    async def ending(self, app: Perdure, handle: Handle[Any]) -> RunRow:
        """Wait for the end; on a terminal, draw the run meanwhile."""
        if self.screen is None:
            row = await endings.ending(app, handle, self.seen)
        else:
            async with Beside(handle, self.screen) as self.beside:
                row = await endings.ending(app, handle, self.seen)
        self.live.clear()
        return row

    async def find(self, app: Perdure) -> Handle[Any] | None:
        """Give the run of the id, if there is one and nothing is said of its arguments."""
        if self.options.id is None or self.options.arg:
            return None
        try:
            handle = await app.get(self.options.id)
        except NoSuchRun:
            return None
        info = await handle.info()
        if info.workflow != self.flow.name:
            raise RunExists(
                f"run `{handle.id}` is there already, of `{info.workflow}`",
                remedy="give another id, or its workflow",
            )
        return handle

    async def start(self, app: Perdure) -> Handle[Any]:
        options = self.options
        [handle] = await app.start_many([call_of(self.flow, options.arg, options.id, options.attr)])
        return handle

    # --- what is seen meanwhile

    def say(self, run_id: str, said: Say) -> None:
        """Show what runs print, above what is live; beside the result there is nothing else."""
        self.clear()
        if self.options.json and not said.level:
            print(said.text, file=sys.stderr)
        else:
            say(run_id, said)

    def clear(self) -> None:
        self.live.clear()
        if self.screen is not None:
            self.screen.clear()

    def warn(self, text: str) -> None:
        """Tell the operator, above what is live."""
        self.clear()
        warn("\n".join(map(clean, text.split("\n"))))

    def seen(self, row: RunRow) -> None:
        if self.screen is not None and self.beside is not None and row.head > _DRAWN_FACTS_MAX:
            self.beside.stop()
            self.screen, self.live = None, Live()
        passed = shown.took(time.monotonic() - self.begun)
        why = "" if row.result is None else shown.error(row.result)
        self.live.show(
            f"{row.id}  {STATUSES[row.status]}  {shown.many(row.head, 'fact')}  {passed}  {why}"
        )
        if why and why != self.hindered and row.status <= 1:
            self.clear()
            print(f"run {clean(row.id)} cannot go on for now: {why}", file=sys.stderr)
        self.hindered = why

    def sum_up(self, row: RunRow) -> None:
        if self.live.is_on and row.ended_us is not None:
            lasted = shown.took((row.ended_us - row.created_us) / 1_000_000)
            status, facts = STATUSES[row.status], shown.many(row.head, "fact")
            print(f"run {clean(row.id)}: {status} in {lasted}, {facts}", file=sys.stderr)
