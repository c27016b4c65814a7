"""The engine for code without an event loop: the same methods, each waits for its answer.

Written by tools/make_sync.py from app.py and client.py; do not change it by hand.
"""

from __future__ import annotations

import builtins
import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from perdure import app as _app
from perdure import client as _client
from perdure.app import Call
from perdure.client import Moment, RunInfo
from perdure.core.facts import Row
from perdure.core.picture import Picture
from perdure.core.policy import Seconds
from perdure.node.options import Options
from perdure.node.rehearsing import Rehearsal
from perdure.portal import Portal
from perdure.store.port import Report
from perdure.workflows import Workflow

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Handle(Generic[R_co]):
    """One run, wherever it is: in this process, in another one, or only on disk."""

    def __init__(self, portal: Portal, handle: _client.Handle[R_co]) -> None:
        self._portal = portal
        self._handle = handle
        self.id = handle.id
        self.rid = handle.rid

    def __repr__(self) -> str:
        return f"<run {self.id}>"

    def info(self) -> RunInfo:
        """Give how the run stands."""
        return self._portal.run(self._handle.info())

    def status(self) -> str:
        """Give `pending`, `running`, `completed`, `failed`, `cancelled` or `stopped`."""
        return self._portal.run(self._handle.status())

    def result(self, timeout: Seconds | None = None) -> R_co:
        """Wait for the end; give what the workflow returned, or raise what it raised."""
        return self._portal.run(self._handle.result(timeout))

    def signal(self, name: str, value: Any = None, *, key: str | None = None) -> None:
        """Send a signal; when this returns, it is durable. One key is taken once, for ever."""
        self._portal.run(self._handle.signal(name, value, key=key))

    def cancel(self, reason: str = "", *, actor: str = "") -> None:
        """Ask the run to end; its `finally` blocks run. Returns when that is durable."""
        self._portal.run(self._handle.cancel(reason, actor=actor))

    def retry(self, *, actor: str = "") -> None:
        """Have a failed run go on from the await that failed; a stopped one from where it stood."""
        self._portal.run(self._handle.retry(actor=actor))

    def upgrade(self, *, actor: str = "", timeout: Seconds | None = None) -> None:
        """Have the run go on with the code that its workflow has in the process that owns it.

        Waits for the owner's answer. A run that cannot be moved raises `NotUpgraded`, which says
        which function stands in the way and why, and goes on as it was.
        """
        self._portal.run(self._handle.upgrade(actor=actor, timeout=timeout))

    def rehearse_upgrade(self) -> Rehearsal:
        """Say what `upgrade` would do with the code that the workflow has in this process.

        Nothing happens to the run. The workflow has to be imported here.
        """
        return self._portal.run(self._handle.rehearse_upgrade())

    def facts(self) -> builtins.list[Row]:
        """Give the whole log."""
        return self._portal.run(self._handle.facts())

    def watch(self) -> Iterator[Row]:
        """Give every fact, those of before first, then each as it becomes durable, to the end."""
        return self._portal.iterate(self._handle.watch())

    def picture(self, seq: int | None = None) -> Picture:
        """Give the run as its graph shows it, now or after fact `seq`: what stands how, and why.

        The log is folded again, beside the run, so the code has to be here, or its text in the
        store. Where it is not, the picture shows what the facts alone tell, and says why.
        """
        return self._portal.run(self._handle.picture(seq))

    def pictures(self) -> Iterator[Picture]:
        """Give a picture now, and another one whenever facts have become durable, to the end."""
        return self._portal.iterate(self._handle.pictures())

    def at(self, seq: int) -> Moment:
        """Give the run as it was after fact `seq`: what stood where, with which variables.

        The code of the run has to be in this process, or its text in the store under its key.
        """
        return self._portal.run(self._handle.at(seq))


class Perdure:
    """An engine on a store. `with Perdure("orders.db") as app: …`."""

    def __init__(
        self,
        where: str | os.PathLike[str] = ":memory:",
        *,
        environment: str | None = None,
        serve: bool = True,
        options: Options | None = None,
        zone: str = "UTC",
    ) -> None:
        self._portal = Portal()
        self._app = _app.Perdure(
            where, environment=environment, serve=serve, options=options, zone=zone
        )

    def __repr__(self) -> str:
        return repr(self._app)

    def __enter__(self) -> Self:
        self._portal.open()
        try:
            self._portal.run(self._app.__aenter__())
        except BaseException:
            self._portal.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let what is under way come to an end for a while, and hand the runs over."""
        try:
            self._portal.run(self._app.close())
        finally:
            self._portal.close()

    @overload
    def start(self, flow: Workflow[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Handle[R]: ...

    @overload
    def start(
        self,
        flow: Workflow[..., R],
        /,
        *args: Any,
        id: str,
        attrs: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Handle[R]: ...

    @overload
    def start(
        self, flow: Workflow[..., R], /, *args: Any, attrs: dict[str, str], **kwargs: Any
    ) -> Handle[R]: ...

    def start(self, flow: Workflow[Any, R], /, *args: Any, **kwargs: Any) -> Handle[R]:
        """Start a run; when this returns, it is durable.

        The same `id` with the same workflow and input gives the run that is there; with another
        one it is an error. `attrs` are what the run can be listed by.
        """
        return Handle(self._portal, self._portal.run(self._app.start(flow, *args, **kwargs)))

    def start_many(self, calls: Iterable[Call]) -> builtins.list[Handle[Any]]:
        """Start many runs at once, in few writes."""
        return [
            Handle(self._portal, each) for each in self._portal.run(self._app.start_many(calls))
        ]

    def get(self, id: str) -> Handle[Any]:
        """Give the run of an id."""
        return Handle(self._portal, self._portal.run(self._app.get(id)))

    def list(
        self,
        *,
        status: str | Iterable[str] = (),
        workflow: str | Workflow[..., Any] | None = None,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
        attrs: dict[str, str] | None = None,
        limit: int = 100,
    ) -> builtins.list[RunInfo]:
        """List runs, newest first: those with one of these statuses, of a workflow, and so on.

        `since` is when they were created at the earliest, `until` is before when.
        """
        return self._portal.run(
            self._app.list(
                status=status, workflow=workflow, since=since, until=until, attrs=attrs, limit=limit
            )
        )

    def iterate(
        self,
        *,
        status: str | Iterable[str] = (),
        workflow: str | Workflow[..., Any] | None = None,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
        attrs: dict[str, str] | None = None,
        limit: int | None = None,
    ) -> Iterator[RunInfo]:
        """Go through runs, newest first, page by page."""
        return self._portal.iterate(
            self._app.iterate(
                status=status, workflow=workflow, since=since, until=until, attrs=attrs, limit=limit
            )
        )

    def backup(
        self, path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Copy the store to a file while it is in use; `progress` hears of pages done and of all.

        The key stays where it is: keep a copy of it where you keep your secrets.
        """
        self._portal.run(self._app.backup(path, progress))

    def prune(self, older_than: Seconds, progress: Callable[[int], object] | None = None) -> int:
        """Delete the facts of runs that ended so long ago; give how many runs there were.

        What stays is how each ended, and its id, which is never used again. `progress` hears how
        many there were so far.
        """
        return self._portal.run(self._app.prune(older_than, progress))

    def examine(self, *, thorough: bool = False) -> Report:
        """Say what the store is, how full, and what is wrong with it."""
        return self._portal.run(self._app.examine(thorough=thorough))
