"""`print` and loggers as a run sees them: lines that are shown once their fact is durable."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, cast

from perdure.core.run import Run


def bound_print(run: Run) -> Callable[..., None]:
    """Give `print`; what goes to a file of the workflow's own making goes there at once."""

    def print_(
        *values: object,
        sep: str | None = " ",
        end: str | None = "\n",
        file: Any = None,
        flush: bool = False,
    ) -> None:
        target = sys.stdout if file is None else file
        if file is not None or (run.stdout is not None and target is not run.stdout):
            print(*values, sep=sep, end=end, file=target, flush=flush)
            return
        text = (" " if sep is None else sep).join(str(value) for value in values)
        tail = "\n" if end is None else end
        run.say(text + tail[:-1] if tail.endswith("\n") else text + tail)

    return print_


class RunLogger:
    """A logger of the user's, as a workflow uses it. Every level is on: which is off may differ."""

    def __init__(self, run: Run, logger: logging.Logger | str, adapter: Any = None) -> None:
        self.run = run
        self.name = logger if isinstance(logger, str) else logger.name
        self.adapter = adapter

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 — logging's own name
        """Say yes: whether a line is shown is decided where it is shown."""
        return True

    def getChild(self, suffix: str) -> RunLogger:  # noqa: N802 — logging's own name
        """Give the logger below this one."""
        return RunLogger(self.run, f"{self.name}.{suffix}" if self.name != "root" else suffix)

    def log(
        self,
        level: int,
        msg: object,
        *args: object,
        exc_info: Any = None,
        stack_info: bool = False,
        stacklevel: int = 1,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Say a line at a level."""
        if self.adapter is not None:
            msg, _ = self.adapter.process(msg, {"extra": extra})
        text = _formatted(str(msg), args)
        error: Any = sys.exception() if exc_info is True else exc_info
        if isinstance(error, tuple):
            error = cast("tuple[Any, Any, Any]", error)[1]
        if isinstance(error, BaseException):
            text += "\n" + "".join(traceback.format_exception_only(error)).rstrip("\n")
        self.run.say(text, level, self.name)

    def debug(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Say a line at the level DEBUG."""
        self.log(logging.DEBUG, msg, *args, **kwargs)

    def info(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Say a line at the level INFO."""
        self.log(logging.INFO, msg, *args, **kwargs)

    def warning(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Say a line at the level WARNING."""
        self.log(logging.WARNING, msg, *args, **kwargs)

    def error(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Say a line at the level ERROR."""
        self.log(logging.ERROR, msg, *args, **kwargs)

    def critical(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Say a line at the level CRITICAL."""
        self.log(logging.CRITICAL, msg, *args, **kwargs)

    def exception(self, msg: object, *args: object, exc_info: Any = True, **kwargs: Any) -> None:
        """Say a line at the level ERROR, with the exception that is being handled."""
        self.log(logging.ERROR, msg, *args, exc_info=exc_info, **kwargs)

    warn = warning
    fatal = critical

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter or logging.getLogger(self.name), name)


METHODS = ("debug", "info", "warning", "error", "critical", "exception", "log")


def get_logger(run: Run) -> Callable[..., RunLogger]:
    """Give `logging.getLogger`."""

    def get(name: str | None = None) -> RunLogger:
        return RunLogger(run, name or "root")

    return get


def root_method(name: str) -> Callable[[Run], Any]:
    """Give a function of the `logging` module, which speaks for the root logger."""
    return lambda run: getattr(RunLogger(run, "root"), name)


def _formatted(text: str, args: tuple[object, ...]) -> str:
    if not args:
        return text
    only = args[0]
    try:
        return text % (only if len(args) == 1 and isinstance(only, Mapping) and only else args)
    except (TypeError, ValueError, KeyError):  # logging says so on stderr, and goes on
        return f"{text} {args!r}"
