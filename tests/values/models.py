"""The classes whose instances the tests of the codec write and read."""

from __future__ import annotations

import collections
import dataclasses
import enum
import typing
from typing import Any, Generic, NamedTuple, TypeVar

import attrs
import msgspec
import pydantic

T = TypeVar("T")


@dataclasses.dataclass
class Plain:
    a: Any
    b: Any = 0


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any = 0


@dataclasses.dataclass(slots=True)
class Slotted:
    a: Any
    b: Any = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tight:
    a: Any
    b: Any = 0


@dataclasses.dataclass
class Parent:
    a: Any


@dataclasses.dataclass
class Child(Parent):
    b: Any = 0
    c: Any = dataclasses.field(init=False, default=7)


@dataclasses.dataclass(slots=True)
class SlottedChild(Slotted):
    c: Any = None


@dataclasses.dataclass
class Box(Generic[T]):
    a: T


class Point(NamedTuple):
    x: Any
    y: Any = 0


Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024 -- the untyped kind on purpose


class Tagged(Point):
    """A named tuple whose instances have attributes of their own, too."""


class Colour(enum.Enum):
    RED = "r"
    BLUE = "b"
    CRIMSON = "r"  # noqa: PIE796 -- an alias on purpose


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    YES = "yes"


class Right(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


class Mode(enum.IntFlag):
    A = 1
    B = 2


@attrs.define
class Attrs:
    a: Any
    b: Any = 0


@attrs.frozen
class FrozenAttrs:
    a: Any
    b: Any = 0


@attrs.frozen(cache_hash=True)
class HashedAttrs:
    a: Any


@attrs.define(slots=False)
class OpenAttrs:
    a: Any


class Model(pydantic.BaseModel):
    a: Any
    b: Any = 0
    _secret: Any = pydantic.PrivateAttr(default=None)


class OpenModel(pydantic.BaseModel, extra="allow", frozen=True):
    a: Any


class TaggedModel(pydantic.BaseModel):
    tags: set[str]


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


class Numbers(Page[int]):
    pass


class Struct(msgspec.Struct):
    a: Any
    b: Any = 0


class FrozenStruct(msgspec.Struct, frozen=True, tag="x"):
    a: Any
    b: Any = 0


class OpenStruct(msgspec.Struct, dict=True):
    a: Any


class Movie(typing.TypedDict):
    name: str
    year: int


# --- classes that hold their user's code against the reader ------------------------------

RAN: list[str] = []


def _trap(name: str) -> Any:
    def run(*_args: Any, **_named: Any) -> Any:
        RAN.append(name)
        raise AssertionError(name)

    return run


@dataclasses.dataclass
class TrapData:
    a: Any

    def __post_init__(self) -> None:
        RAN.append("TrapData")

    __init__ = _trap("init")  # type: ignore[assignment]
    __new__ = _trap("new")  # type: ignore[assignment]
    __setattr__ = _trap("setattr")
    __setstate__ = _trap("setstate")
    __getattribute__ = object.__getattribute__

    @property
    def shown(self) -> Any:
        return None

    @shown.setter
    def shown(self, value: Any) -> None:
        _trap("property")()


@attrs.define
class TrapAttrs:
    a: Any = attrs.field(validator=_trap("validator"), converter=_trap("converter"))

    __attrs_post_init__ = _trap("attrs post init")
    __setstate__ = _trap("attrs setstate")


class TrapModel(pydantic.BaseModel):
    a: Any

    @pydantic.field_validator("a")
    @classmethod
    def check(cls, value: Any) -> Any:
        return _trap("pydantic validator")()

    def model_post_init(self, context: Any, /) -> None:
        _trap("pydantic post init")()


class TrapStruct(msgspec.Struct):
    a: Any
    __post_init__ = _trap("struct post init")


class TrapTuple(Point):
    __new__ = _trap("tuple new")  # type: ignore[assignment]
    __init__ = _trap("tuple init")  # type: ignore[assignment]


class TrapEnum(enum.Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return _trap("missing")()


class TrapError(Exception):
    __new__ = _trap("error new")  # type: ignore[assignment]
    __init__ = _trap("error init")  # type: ignore[assignment]
    __setattr__ = _trap("error setattr")
    __setstate__ = _trap("error setstate")


class Rude:
    """Neither its text nor its comparison can be had."""

    __repr__ = _trap("repr")
    __str__ = _trap("str")
    __eq__ = _trap("eq")  # type: ignore[assignment]
    __hash__ = object.__hash__


# --- exceptions ---------------------------------------------------------------------------


class ShopError(Exception):
    pass


class PaymentError(ShopError, ValueError):
    def __init__(self, order: str, *, code: int) -> None:
        super().__init__(f"{order} was declined ({code})")
        self.order = order
        self.code = code


class OddArgs(Exception):
    def __init__(self, a: int, b: int) -> None:
        self.a = a
        self.b = b


class SlottedError(Exception):
    __slots__ = ("extra",)


@dataclasses.dataclass
class DataError(Exception):
    a: int
    b: str


class DiskError(OSError):
    def __init__(self, disk: str) -> None:
        super().__init__(5, "broken", disk)
        self.disk = disk


class Several(ExceptionGroup[Exception]):
    def __new__(cls, errors: list[Exception], note: str) -> Any:
        self = super().__new__(cls, "several", errors)
        self.note = note
        return self

    def derive(self, excs: Any) -> Any:
        return Several(list(excs), self.note)


class Local:
    """Where a nested class lives."""

    @dataclasses.dataclass
    class Inner:
        a: Any

    class Oops(ShopError):
        pass


@dataclasses.dataclass
class Tagset:
    a: set[str]
