"""`datetime`, `time`, `uuid` and `random` as a run sees them: its clock, its seed.

Time is the time of the fact being folded and never goes back; local time is that of the
zone in which the run was started, on whatever machine it is folded.
"""

from __future__ import annotations

import datetime as dt
import functools
import random
import time
import uuid
from collections.abc import Callable, Iterator
from inspect import getattr_static
from typing import Any
from zoneinfo import ZoneInfo

from perdure.core.ambient import CURRENT
from perdure.core.run import Run
from perdure.errors import NotHere

_UTC = dt.UTC
Methods = dict[str, Callable[..., Any]]


def zone_of(run: Run) -> dt.tzinfo:
    """Give the time zone of the run: an IANA name, or an offset such as `+02:00`."""
    name = run.zone
    if name == "UTC":
        return _UTC
    if name[:1] in "+-":
        hours, minutes = name[1:].split(":")
        offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
        return dt.timezone(-offset if name[0] == "-" else offset)
    return ZoneInfo(name)


def now_of(run: Run, tz: dt.tzinfo | None = None) -> dt.datetime:
    """Give the time of the run; naive, in its own zone, when no zone is asked for."""
    exact = dt.datetime(1970, 1, 1, tzinfo=_UTC) + dt.timedelta(microseconds=run.now_us)
    return (
        exact.astimezone(zone_of(run)).replace(tzinfo=None) if tz is None else exact.astimezone(tz)
    )


class _Stands(type):
    """Makes a bound class pass for the real one wherever classes are compared or asked."""

    _real: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls._real)

    def __eq__(cls, other: object) -> bool:
        return other is cls._real or other is cls

    def __hash__(cls) -> int:
        return hash(cls._real)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._real(*args, **kwargs)


def _stand_in(real: type[Any], methods: Methods) -> type:
    members: dict[str, Any] = {name: staticmethod(method) for name, method in methods.items()}
    return _Stands(real.__name__, (real,), members | {"_real": real, "__module__": real.__module__})


def class_of_time(run: Run, real: type[dt.date]) -> type:
    """Give `datetime.datetime`, `datetime.date` or a subclass of one with the clock of the run."""
    own = _of_datetime(run, real) if issubclass(real, dt.datetime) else _of_date(run, real)
    inherited = _inherited(real, tuple(own))  # type: ignore[arg-type]
    return _stand_in(real, {name: own[name] for name in inherited})


@functools.lru_cache(maxsize=64)
def _inherited(real: type[dt.date], names: tuple[str, ...]) -> tuple[str, ...]:
    """Give those of its methods that are not the user's own; looked up once, for it is slow."""
    base = dt.datetime if issubclass(real, dt.datetime) else dt.date
    return tuple(name for name in names if getattr_static(real, name) is getattr_static(base, name))


def _of_datetime(run: Run, real: type[dt.datetime]) -> Methods:
    def made(at: dt.datetime) -> dt.datetime:
        return at if real is dt.datetime else real.combine(at, at.timetz())

    def now(tz: dt.tzinfo | None = None) -> dt.datetime:
        return made(now_of(run, tz))

    def from_timestamp(timestamp: float, tz: dt.tzinfo | None = None) -> dt.datetime:
        if tz is not None:
            return real.fromtimestamp(timestamp, tz)
        return made(dt.datetime.fromtimestamp(timestamp, zone_of(run)).replace(tzinfo=None))

    return {
        "now": now,
        "today": lambda: made(now_of(run)),
        "utcnow": lambda: made(now_of(run, _UTC).replace(tzinfo=None)),
        "fromtimestamp": from_timestamp,
    }


def _of_date(run: Run, real: type[dt.date]) -> Methods:
    def made(at: dt.datetime) -> dt.date:
        return real.fromordinal(at.toordinal())

    def from_timestamp(timestamp: float) -> dt.date:
        return made(dt.datetime.fromtimestamp(timestamp, zone_of(run)))

    return {"today": lambda: made(now_of(run)), "fromtimestamp": from_timestamp}


def time_s(run: Run) -> Callable[[], float]:
    """Give `time.time`."""
    return lambda: run.now_us / 1_000_000


def monotonic_s(run: Run) -> Callable[[], float]:
    """Give `time.monotonic`, and every other clock of which only differences count."""
    return run.time


def time_ns(run: Run) -> Callable[[], int]:
    """Give `time.time_ns` and its like."""
    return lambda: run.now_us * 1_000


def broken_down(run: Run, *, local: bool) -> Callable[..., time.struct_time]:
    """Give `time.localtime` or `time.gmtime`; without an argument they tell the run's time."""

    def tell(seconds: float | None = None) -> time.struct_time:
        at = run.now_us / 1_000_000 if seconds is None else seconds
        zone = zone_of(run) if local else _UTC
        return dt.datetime.fromtimestamp(at, zone).timetuple()

    return tell


def strftime(run: Run) -> Callable[..., str]:
    """Give `time.strftime`."""
    now = broken_down(run, local=True)

    def tell(form: str, t: Any = None) -> str:
        return time.strftime(form, now() if t is None else t)

    return tell


def asctime(run: Run) -> Callable[..., str]:
    """Give `time.asctime`."""
    now = broken_down(run, local=True)

    def tell(t: Any = None) -> str:
        return time.asctime(now() if t is None else t)

    return tell


def ctime(run: Run) -> Callable[..., str]:
    """Give `time.ctime`."""
    now = broken_down(run, local=True)

    def tell(seconds: float | None = None) -> str:
        return time.asctime(now(seconds))

    return tell


def mktime(run: Run) -> Callable[[Any], float]:
    """Give `time.mktime`, in the zone of the run."""

    def tell(t: Any) -> float:
        year, month, day, hour, minute, second = t[:6]
        zone = zone_of(run)
        return dt.datetime(year, month, day, hour, minute, second, tzinfo=zone).timestamp()

    return tell


def seed(run: Run) -> Callable[..., None]:
    """Give `random.seed`; without a seed it takes one from the run."""

    def seed(a: Any = None, version: int = 2) -> None:
        run.random.seed(run.random.getrandbits(64) if a is None else a, version)

    return seed


def uuid4(run: Run) -> Callable[[], uuid.UUID]:
    """Give `uuid.uuid4`, drawn from the seed of the run."""
    return lambda: uuid.UUID(int=run.random.getrandbits(128), version=4)


def random_method(name: str) -> Callable[[Run], Any]:
    """Give a function of the `random` module on the generator of the run."""
    return lambda run: getattr(run.random, name)


def random_class(run: Run) -> Callable[..., random.Random]:
    """Give `random.Random`; without a seed it takes one from the run."""

    class Bound(random.Random):
        """A generator that is repeatable even when nobody gave a seed."""

        def __init__(self, x: Any = None) -> None:
            super().__init__(run.random.getrandbits(64) if x is None else x)

        def seed(self, a: Any = None, version: int = 2) -> None:
            """Seed it anew; without a seed, from the run."""
            super().seed(run.random.getrandbits(64) if a is None else a, version)

    Bound.__name__ = Bound.__qualname__ = "Random"
    return Bound


def _is_outside() -> bool:
    """Whether the outside may be reached: no run is folded here, or one that writes down."""
    run = CURRENT.get()
    return run is None or run.outside


class Refusal:
    """Stands where something from outside would stand, and says what to do instead."""

    def __init__(self, name: str, remedy: str, real: Any, *, only_bare: bool = False) -> None:
        self.name = name
        self.remedy = remedy
        self.real = real
        self.only_bare = only_bare

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse, or call the real thing where that is allowed."""
        if (self.only_bare and args) or _is_outside():
            return self.real(*args, **kwargs)
        raise NotHere(f"`{self.name}` was called in a workflow", remedy=self.remedy)

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or _is_outside():
            return getattr(self.real, attribute)
        raise NotHere(f"`{self.name}.{attribute}` was used in a workflow", remedy=self.remedy)

    def _reached(self) -> Any:
        if _is_outside():
            return self.real
        raise NotHere(f"`{self.name}` was used in a workflow", remedy=self.remedy)

    def __getitem__(self, key: Any) -> Any:
        return self._reached()[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._reached()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._reached())

    def __len__(self) -> int:
        return len(self._reached())

    def __bool__(self) -> bool:
        return True
