"""Name classes, find them again, take their instances apart and put them together.

A class is found only among the modules that this process has imported already: data never
causes an import. An instance is taken apart into its stored attributes and put together from
them below `__init__`, `__setattr__`, validators and properties: no code of a user runs.

Knows nothing of JSON or of payloads; `perdure.values` writes down what comes out of here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum, Flag
from functools import lru_cache
from pathlib import PurePath
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.errors import NotDecodable
from perdure.ordered import OrderedSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_HEAP_TYPE = 1 << 9
"""The bit in `__flags__` of a class that was made while running, unlike `int` or `OSError`."""

_MAIN_NAMES = frozenset({"__main__", "__mp_main__"})
"""What the started script is called in its own process, and in one spawned from it."""

_UNBOUND = object()


class Refusal(Exception):
    """Something cannot be written down; every container it passes adds its step of the path."""

    def __init__(self, fault: str, remedy: str, *, large: bool = False) -> None:
        super().__init__(fault)
        self.fault = fault
        self.remedy = remedy
        self.large = large
        self.steps: list[tuple[str, int]] = []

    def passed(self, step: str, holder: object) -> None:
        """Note that `step` leads from `holder` to the culprit; the innermost comes first."""
        self.steps.append((step, id(holder)))


# --- the name of a class, and the class of a name ---------------------------------------


def named(cls: type) -> str:
    """Return `module:qualname`; the script that was started goes by its importable name."""
    return f"{canonical(cls.__module__)}:{cls.__qualname__}"


def canonical(module: str) -> str:
    """Return the name by which every process knows a module, that of the started script too."""
    return _main_name() if module in _MAIN_NAMES else module


def live_module(name: str) -> ModuleType | None:
    """Return the module of that name, if it is imported here; the started script has its own."""
    for each in ("__main__", name) if name == _main_name() else (name,):
        module: Any = sys.modules.get(each)
        if issubclass(type(module), ModuleType):
            found: ModuleType = module
            return found
    return None


def reference(cls: type) -> str:
    """Return the name of a class, or refuse one that nobody could find by its name."""
    name = named(cls)
    if any(found is cls for found in _found(name)):
        return name
    if "<locals>" in name:
        raise Refusal(
            f"needs the class `{cls.__qualname__}`, which is made inside of a function",
            "move the class to the top level of its module",
        )
    raise Refusal(
        f"needs the class `{name}`, but that name does not lead to it",
        "make the class importable under its own name; a parametrised model needs a subclass"
        " that has a name",
    )


def find(name: str) -> type | None:
    """Return the class of that name, if its module is imported here."""
    return next(_found(name), None)


def class_of(name: str) -> type:
    """Return the class of that name, or say how to make it known."""
    cls = find(name)
    if cls is None:
        module = name.partition(":")[0]
        raise NotDecodable(
            f"there is no class `{_short(name)}` in this process",
            remedy=f"import `{_short(module)}` before reading; if the class has moved or was"
            " renamed, leave its old name behind as an alias",
        )
    return cls


def _found(name: str) -> Iterator[type]:
    module, _, path = name.partition(":")
    for space in _spaces(module):
        first, *rest = path.split(".")
        # Only what is stored: a module's `__getattr__` may run, and import, anything.
        held = space.get(first)
        for part in rest:
            held = _own(held).get(part)
        if isinstance(held, type):
            yield held


def _spaces(module: str) -> Iterator[dict[str, object]]:
    names = [module]
    if module == _main_name():
        names.insert(0, "__main__")
    for name in names:
        space: Any = sys.modules.get(name)
        if issubclass(type(space), ModuleType):
            yield ModuleType.__getattribute__(space, "__dict__")


def _own(held: object) -> Mapping[str, object]:
    return type.__getattribute__(held, "__dict__") if isinstance(held, type) else {}


def _main_name() -> str:
    main = sys.modules.get("__main__")
    return "__main__" if main is None else _importable_name(main)


@lru_cache(maxsize=1)
def _importable_name(main: ModuleType) -> str:
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in _MAIN_NAMES:
        return str(spec.name)
    path = PurePath(getattr(main, "__file__", None) or "")
    # `bin/shop`, which starts the package `shop`, is not that package: nobody imports it.
    return path.stem if path.suffix == ".py" else "__main__"


def _short(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]}…"


# --- where the instances of a class keep their attributes --------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """The slots of a class, by name, and the descriptor of its instances' `__dict__`."""

    slots: dict[str, MemberDescriptorType]
    space: GetSetDescriptorType | None

    def take(self, obj: object) -> dict[str, object]:
        """Return what an instance stores; not a copy, if it stores all in its `__dict__`."""
        state: dict[str, object] = self.space.__get__(obj) if self.space else {}
        if "__orig_class__" in state:  # what `Box[int](1)` leaves behind; no more than a hint
            state = {name: value for name, value in state.items() if name != "__orig_class__"}
        if self.slots:
            state = dict(state)
            for name, slot in self.slots.items():
                value = _read(slot, obj)
                if value is not _UNBOUND:
                    state[name] = value
        return state

    def fill(self, obj: object, state: Mapping[str, object]) -> None:
        """Store attributes in an instance, past every `__setattr__` and property."""
        for name, value in state.items():
            if name in self.slots:
                self.slots[name].__set__(obj, value)
            elif self.space is not None:
                self.space.__get__(obj)[name] = value
            else:
                raise NotDecodable(
                    f"`{named(type(obj))}` has no field `{name}`, but stored data has a value"
                    " for it",
                    remedy="keep the field, or register the new form under a new class name",
                )


def shape_of(cls: type) -> Shape:
    """Find where instances of a class store attributes."""
    slots: dict[str, MemberDescriptorType] = {}
    space: GetSetDescriptorType | None = None
    for owner in cls.__mro__:
        own = _own(owner)
        if owner.__flags__ & _HEAP_TYPE:  # `OSError.errno` is no slot of its subclasses
            for name, attribute in own.items():
                if type(attribute) is MemberDescriptorType:
                    slots.setdefault(name, attribute)
        attribute = own.get("__dict__")
        if space is None and type(attribute) is GetSetDescriptorType:
            space = attribute
    return Shape(slots, space)


def _read(slot: MemberDescriptorType, obj: object) -> object:
    try:
        return slot.__get__(obj)
    except AttributeError:
        return _UNBOUND


# --- kinds of classes with named parts ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Record:
    """One class with named parts: how to take its instances apart and put them together.

    `take` gives the fields, `more` what else belongs to an instance; `make` gets both back.
    """

    take: Callable[[Any], dict[str, object]]
    make: Callable[[dict[str, Any], dict[str, Any]], object]
    more: Callable[[Any], dict[str, object]] | None = None


def _plain_record(cls: type) -> Record:
    shape = shape_of(cls)

    def make(fields: dict[str, Any], _more: dict[str, Any]) -> object:
        obj = _object.__new__(cls)
        shape.fill(obj, fields)
        return obj

    return Record(shape.take, make)


_ATTRS_HASH = "_attrs_cached_hash"


def _attrs_record(cls: type) -> Record:
    record = _plain_record(cls)

    def take(obj: object) -> dict[str, object]:
        state = record.take(obj)
        # A hash that attrs has cached holds in this process only: it depends on the hash seed.
        return {**state, _ATTRS_HASH: None} if _ATTRS_HASH in state else state

    return Record(take, record.make)


def _struct_record(cls: Any) -> Record:
    shape = shape_of(cls)
    names: tuple[str, ...] = cls.__struct_fields__
    bare = _without_post_init(cls) if _has(cls, "__post_init__") else cls

    def make(fields: dict[str, Any], _more: dict[str, Any]) -> object:
        obj = bare(**{name: fields.get(name) for name in names})
        _CLASS.__set__(obj, cls)
        for name in names:
            if name not in fields:
                shape.slots[name].__delete__(obj)
        shape.fill(obj, {name: fields[name] for name in fields if name not in names})
        return obj

    return Record(shape.take, make)


_object: Any = object
_CLASS: Any = vars(object)["__class__"]


def _nothing(_self: object) -> None:
    """Stand for a `__post_init__` that must not run."""


def _without_post_init(cls: Any) -> type:
    # A Struct comes into being by its own constructor only, which calls `__post_init__`. So a
    # subclass of the same layout that does nothing there is made, and its instance then handed
    # over to the real class.
    config = cls.__struct_config__
    body: dict[str, Any] = {"__post_init__": _nothing, "__module__": __name__}
    flags = {name: getattr(config, name) for name in ("frozen", "weakref", "dict")}
    made: type = type(cls)(cls.__name__, (cls,), body, **flags)
    return made


_tuple: Any = tuple


def _named_tuple_record(cls: Any) -> Record:
    names: tuple[str, ...] = cls._fields
    space = shape_of(cls).space

    def take(obj: Any) -> dict[str, object]:
        return dict(zip(names, _tuple.__iter__(obj), strict=True))

    def make(fields: dict[str, Any], more: dict[str, Any]) -> object:
        unknown = fields.keys() - set(names)
        if unknown:
            raise NotDecodable(f"`{named(cls)}` has no field `{min(unknown)}`")
        values = {**cls._field_defaults, **fields}
        obj: object = _tuple.__new__(cls, [values[name] for name in names])
        if "more" in more and space is not None:
            space.__get__(obj).update(more["more"])
        return obj

    def rest(obj: object) -> dict[str, object]:
        state = space.__get__(obj) if space is not None else None
        return {"more": state} if state else {}

    return Record(take, make, rest)


_MODEL_PARTS = {
    "set": "__pydantic_fields_set__",
    "extra": "__pydantic_extra__",
    "private": "__pydantic_private__",
}


def _model_record(cls: type) -> Record:
    shape = shape_of(cls)
    assert shape.space is not None
    space = shape.space

    def more(obj: object) -> dict[str, object]:
        parts = {part: _read(shape.slots[slot], obj) for part, slot in _MODEL_PARTS.items()}
        given: Any = parts["set"]
        if given is not _UNBOUND:
            parts["set"] = sorted(given)
        return {part: value for part, value in parts.items() if value not in (None, _UNBOUND)}

    def make(fields: dict[str, Any], more: dict[str, Any]) -> object:
        obj = _object.__new__(cls)
        space.__get__(obj).update(fields)
        given: OrderedSet[str] = OrderedSet(more.get("set", ()))
        parts: dict[str, Any] = {**more, "set": given}
        for part, slot in _MODEL_PARTS.items():
            shape.slots[slot].__set__(obj, parts.get(part))
        return obj

    return Record(space.__get__, make, more)


def _has(cls: type, name: str) -> bool:
    return any(name in _own(owner) for owner in cls.__mro__)


def _is_model(cls: type) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and getattr(pydantic, "BaseModel", None) in cls.__mro__


def _is_named_tuple(cls: type) -> bool:
    return tuple in cls.__mro__ and _has(cls, "_field_defaults")


def _stores_nothing_native(cls: type) -> bool:
    """Tell whether an instance is all in its attributes, unlike that of a subclass of `dict`."""
    makers = (owner for owner in cls.__mro__ if type(_own(owner).get("__new__")) is _NATIVE)
    return next(makers, object) is object


_NATIVE = type(object.__new__)

RECORDS: dict[str, tuple[Callable[[type], bool], Callable[[Any], Record]]] = {
    "model": (_is_model, _model_record),
    "struct": (lambda cls: msgspec.Struct in cls.__mro__, _struct_record),
    "named": (_is_named_tuple, _named_tuple_record),
    "attrs": (
        lambda cls: _has(cls, "__attrs_attrs__") and _stores_nothing_native(cls),
        _attrs_record,
    ),
    "data": (
        lambda cls: _has(cls, "__dataclass_fields__") and _stores_nothing_native(cls),
        _plain_record,
    ),
}
"""Tag of the written form: whether a class is of the kind, and what to do with those that are."""

_records: dict[tuple[str, type], Record] = {}


def tag_of(cls: type) -> str | None:
    """Return which kind of record a class makes, if any."""
    return next((tag for tag, (matches, _) in RECORDS.items() if matches(cls)), None)


def record_of(tag: str, cls: type) -> Record:
    """Return how to handle the instances of a class that is said to be of a kind."""
    record = _records.get((tag, cls))
    if record is None:
        matches, prepare = RECORDS[tag]
        if not matches(cls):
            raise wrong_kind(cls, tag)
        record = _records[tag, cls] = prepare(cls)
    return record


def wrong_kind(cls: type, tag: str) -> NotDecodable:
    """Say that a name leads to a class, but not to one that the data can be an instance of."""
    return NotDecodable(
        f"`{named(cls)}` is stored as `{tag}`, which it is not in this process",
        remedy="keep the kind of a class for as long as data of it is stored",
    )


# --- enums ----------------------------------------------------------------------------------


def member_key(member: Any) -> object:
    """Return the name of an enum's member, or the value of a flag that is made up of several."""
    name = member._name_
    if member.__class__._member_map_.get(name) is member:
        return name
    return int(member._value_)


def member_of(cls: Any, key: object) -> object:
    """Return the member of that name, or the flag of that value, without asking the class."""
    if Enum not in cls.__mro__:
        raise wrong_kind(cls, "enum")
    if isinstance(key, str):
        member = cls._member_map_.get(key)
    elif type(key) is int and Flag in cls.__mro__:
        member = cls._value2member_map_.get(key)
        if member is None:
            member = Flag._missing_.__func__(cls, key)  # type: ignore[attr-defined]
    else:
        member = None
    if member is None:
        raise NotDecodable(
            f"`{named(cls)}` has no member `{key}`",
            remedy="keep a member, or an alias of its name, for as long as data holds it",
        )
    return member
