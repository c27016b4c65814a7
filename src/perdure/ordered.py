"""What `set` and `frozenset` mean inside of a workflow: the builtins, in order of insertion.

CPython iterates a set in the order of hashes, which differs between two processes; a run has to
see the same order whenever it is folded again. Everything else is the builtin's own behaviour,
and most of it is the builtin's own code: each set here is a real set plus a dict of its members.

Knows no other module of Perdure, and nothing of how a set is written down.

What cannot be helped: `frozenset | OrderedSet`, `set | OrderedFrozenSet` and `dict.keys() | x`
ask the left operand first, which answers with a builtin set.
"""

from __future__ import annotations

from abc import ABCMeta
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

T = TypeVar("T")

# `Any`, as are the other operands: what is known of their members is known to nobody here.
_BUILTIN: Any = (set, frozenset)
_REPEATABLE: Any = (list, tuple, dict, set, frozenset)
_set: Any = set
_kind: Any = type
_frozenset: Any = frozenset

_GAPS_ROOT_MAX = 2
"""`pop` repacks the order once the square of its gaps exceeds this many times the length."""


class _SetMeta(ABCMeta):
    """Let the ordered classes, and only them, pass for the builtins that they stand in for.

    User code writes `isinstance(x, set)` and `case set():` where `set` is `OrderedSet`, and x may
    be a plain set that a library made. An `ABCMeta`, so that `class Tags(set, ABC)` still works.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        builtin = _STANDS_FOR.get(cls)
        return isinstance(instance, builtin) if builtin else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        builtin = _STANDS_FOR.get(cls)
        return issubclass(subclass, builtin) if builtin else super().__subclasscheck__(subclass)

    def __repr__(cls) -> str:
        builtin = _STANDS_FOR.get(cls)
        return repr(builtin) if builtin else super().__repr__()


class OrderedSet(set[T], metaclass=_SetMeta):
    """A `set` that iterates in the order in which its members came."""

    __slots__ = ("_gaps", "_order")

    _order: dict[T, None]
    _gaps: int

    def __new__(cls, *_args: Any, **_named: Any) -> Self:
        """Make an empty set; a subclass need not call `__init__` to have one."""
        self: Self = _set.__new__(cls)
        self._order = {}
        self._gaps = 0
        return self

    def __init__(self, *args: Any) -> None:
        if len(args) > 1:
            _set(*args)  # raises what the builtin raises
        if self._order:
            self.clear()
        if args:
            _add_all(self, args[0])

    def __iter__(self) -> Iterator[T]:
        return iter(self._order)

    @recursive_repr("set(...)")
    def __repr__(self) -> str:
        return _text(self, list(self._order))

    def __reduce__(self) -> Any:
        return type(self), (list(self._order),), getattr(self, "__dict__", None) or None

    # --- one member ------------------------------------------------------------------

    def add(self, item: T, /) -> None:
        """Put a member at the end, unless it is there already."""
        _set.add(self, item)
        self._order[item] = None

    def discard(self, item: object, /) -> None:
        """Remove a member if it is there."""
        if item in self:
            self.remove(item)

    def remove(self, item: object, /) -> None:
        """Remove a member; `KeyError` if it is not there."""
        _set.remove(self, item)
        try:
            del self._order[item]  # type: ignore[arg-type]
        except TypeError:  # `{frozenset({1})}.remove({1})` is allowed
            del self._order[_frozenset(item)]

    def pop(self) -> T:
        """Remove and return the oldest member."""
        order = self._order
        for item in order:
            _set.remove(self, item)
            del order[item]
            self._gaps += 1
            # A dict is searched from its first slot: a work list popped to its end would take
            # quadratic time if the gaps at its head were never closed.
            if self._gaps * self._gaps > _GAPS_ROOT_MAX * len(order) + 64:
                self._order, self._gaps = dict.fromkeys(order), 0
            return item
        raise KeyError("pop from an empty set")

    def clear(self) -> None:
        """Remove every member."""
        _set.clear(self)
        self._order.clear()

    # --- new sets --------------------------------------------------------------------

    def copy(self) -> OrderedSet[T]:
        """Return a set of the same members in the same order."""
        return _ordered(dict(self._order))

    def union(self, *others: Iterable[Any]) -> OrderedSet[Any]:
        """Return own members, then those of the others."""
        return _ordered(_union(self._order, others))

    def intersection(self, *others: Iterable[Any]) -> OrderedSet[Any]:
        """Return those members that all others have, in own order."""
        return _ordered(_common(self, self._order, others))

    def difference(self, *others: Iterable[Any]) -> OrderedSet[Any]:
        """Return those members that no other has."""
        return _ordered(_less(self._order, others))

    def symmetric_difference(self, other: Iterable[Any], /) -> OrderedSet[Any]:
        """Return own members that the other lacks, then those that only it has."""
        return _ordered(_either(self._order, other))

    def __or__(self, other: Any) -> OrderedSet[Any]:
        return self.union(other) if isinstance(other, _BUILTIN) else NotImplemented

    def __and__(self, other: Any) -> OrderedSet[Any]:
        return self.intersection(other) if isinstance(other, _BUILTIN) else NotImplemented

    def __sub__(self, other: Any) -> OrderedSet[Any]:
        return self.difference(other) if isinstance(other, _BUILTIN) else NotImplemented

    def __xor__(self, other: Any) -> OrderedSet[Any]:
        return self.symmetric_difference(other) if isinstance(other, _BUILTIN) else NotImplemented

    # The other operand is a builtin set here: its members come first, in whatever order it has.

    def __ror__(self, other: Any) -> OrderedSet[Any]:
        return OrderedSet(other) | self if isinstance(other, _BUILTIN) else NotImplemented

    def __rand__(self, other: Any) -> OrderedSet[Any]:
        return OrderedSet(other) & self if isinstance(other, _BUILTIN) else NotImplemented

    def __rsub__(self, other: Any) -> OrderedSet[Any]:
        return OrderedSet(other) - self if isinstance(other, _BUILTIN) else NotImplemented

    def __rxor__(self, other: Any) -> OrderedSet[Any]:
        return OrderedSet(other) ^ self if isinstance(other, _BUILTIN) else NotImplemented

    # --- in place --------------------------------------------------------------------

    def update(self, *others: Iterable[Any]) -> None:
        """Add every member of the others."""
        for other in others:
            _add_all(self, other)

    def intersection_update(self, *others: Iterable[Any]) -> None:
        """Keep only what all others have."""
        kept = _common(self, self._order, others)
        self.clear()
        _add_all(self, kept)

    def difference_update(self, *others: Iterable[Any]) -> None:
        """Remove every member of the others."""
        order = self._order
        for other in others:
            for item in list(other):
                if item in order:
                    del order[item]
                    _set.remove(self, item)

    def symmetric_difference_update(self, other: Iterable[Any], /) -> None:
        """Remove the members that the other has too, add those that only it has."""
        for item in dict.fromkeys(other):
            if item in self:
                self.remove(item)
            else:
                self.add(item)

    def __ior__(self, other: Any) -> Self:  # type: ignore[override]
        if not isinstance(other, _BUILTIN):
            return NotImplemented
        self.update(other)
        return self

    def __iand__(self, other: Any) -> Self:
        if not isinstance(other, _BUILTIN):
            return NotImplemented
        self.intersection_update(other)
        return self

    def __isub__(self, other: Any) -> Self:
        if not isinstance(other, _BUILTIN):
            return NotImplemented
        self.difference_update(other)
        return self

    def __ixor__(self, other: Any) -> Self:  # type: ignore[override]
        if not isinstance(other, _BUILTIN):
            return NotImplemented
        self.symmetric_difference_update(other)
        return self


class OrderedFrozenSet(frozenset[T], metaclass=_SetMeta):
    """A `frozenset` that iterates in the order in which its members came."""

    __slots__ = ("_order",)

    _order: dict[T, None]

    def __new__(cls, *args: Any) -> Self:
        """Make the set; one that is of this very class already is returned as it is."""
        first: Any = args[0] if args else ()
        if cls is OrderedFrozenSet and _kind(first) is cls:
            return first  # type: ignore[no-any-return]
        order: dict[Any, None] = dict.fromkeys(first)
        self: Self = _frozenset.__new__(cls, order, *args[1:])
        self._order = order
        return self

    def __iter__(self) -> Iterator[T]:
        return iter(self._order)

    @recursive_repr("frozenset(...)")
    def __repr__(self) -> str:
        return _text(self, list(self._order))

    def __reduce__(self) -> Any:
        return type(self), (list(self._order),), getattr(self, "__dict__", None) or None

    def __copy__(self) -> OrderedFrozenSet[T]:
        return self.copy() if type(self) is OrderedFrozenSet else type(self)(self)

    def copy(self) -> OrderedFrozenSet[T]:
        """Return the set itself, which cannot change."""
        return OrderedFrozenSet(self)

    def union(self, *others: Iterable[Any]) -> OrderedFrozenSet[Any]:
        """Return own members, then those of the others."""
        return OrderedFrozenSet(_union(self._order, others))

    def intersection(self, *others: Iterable[Any]) -> OrderedFrozenSet[Any]:
        """Return those members that all others have, in own order."""
        return OrderedFrozenSet(_common(self, self._order, others))

    def difference(self, *others: Iterable[Any]) -> OrderedFrozenSet[Any]:
        """Return those members that no other has."""
        return OrderedFrozenSet(_less(self._order, others))

    def symmetric_difference(self, other: Iterable[Any], /) -> OrderedFrozenSet[Any]:
        """Return own members that the other lacks, then those that only it has."""
        return OrderedFrozenSet(_either(self._order, other))

    def __or__(self, other: Any) -> OrderedFrozenSet[Any]:
        return self.union(other) if isinstance(other, _BUILTIN) else NotImplemented

    def __and__(self, other: Any) -> OrderedFrozenSet[Any]:
        return self.intersection(other) if isinstance(other, _BUILTIN) else NotImplemented

    def __sub__(self, other: Any) -> OrderedFrozenSet[Any]:
        return self.difference(other) if isinstance(other, _BUILTIN) else NotImplemented

    def __xor__(self, other: Any) -> OrderedFrozenSet[Any]:
        return self.symmetric_difference(other) if isinstance(other, _BUILTIN) else NotImplemented

    def __ror__(self, other: Any) -> OrderedFrozenSet[Any]:
        return OrderedFrozenSet(other) | self if isinstance(other, _BUILTIN) else NotImplemented

    def __rand__(self, other: Any) -> OrderedFrozenSet[Any]:
        return OrderedFrozenSet(other) & self if isinstance(other, _BUILTIN) else NotImplemented

    def __rsub__(self, other: Any) -> OrderedFrozenSet[Any]:
        return OrderedFrozenSet(other) - self if isinstance(other, _BUILTIN) else NotImplemented

    def __rxor__(self, other: Any) -> OrderedFrozenSet[Any]:
        return OrderedFrozenSet(other) ^ self if isinstance(other, _BUILTIN) else NotImplemented


_ordered_set: Any = OrderedSet

_STANDS_FOR: dict[type, type] = {OrderedSet: set, OrderedFrozenSet: frozenset}

# Error texts and `type(x).__name__` then read as with the builtins; the qualified name stays,
# because pickling finds the class by it.
OrderedSet.__name__ = "set"
OrderedFrozenSet.__name__ = "frozenset"


def plain(value: Any) -> Any:
    """Turn an ordered set into the builtin; anything else is returned as it is."""
    if type(value) is OrderedSet:
        return _set(value)
    if type(value) is OrderedFrozenSet:
        return _frozenset(value)
    return value


def _ordered(order: dict[Any, None]) -> OrderedSet[Any]:
    made = _ordered_set()
    _set.update(made, order)
    made._order = order
    return made  # type: ignore[no-any-return]


def _add_all(target: Any, other: Any) -> None:
    items: Any = other if isinstance(other, _REPEATABLE) else list(other)
    try:
        fresh = dict.fromkeys(items)
    except TypeError:
        for item in items:  # the builtin keeps what came before the unhashable one
            target.add(item)
        raise
    _set.update(target, fresh)
    target._order.update(fresh)


def _text(value: AbstractSet[Any], members: list[Any]) -> str:
    name = type(value).__name__
    if not members:
        return f"{name}()"
    inner = repr(members)[1:-1]
    return f"{{{inner}}}" if type(value) is OrderedSet else f"{name}({{{inner}}})"


def _union(order: dict[Any, None], others: tuple[Iterable[Any], ...]) -> dict[Any, None]:
    found = dict(order)
    for other in others:
        found.update(dict.fromkeys(other))
    return found


def _common(
    own: AbstractSet[Any], order: dict[Any, None], others: tuple[Iterable[Any], ...]
) -> dict[Any, None]:
    # The builtin decides which of two equal members (1 and 1.0) is kept; we only sort them.
    kept = {item: item for item in frozenset(own).intersection(*others)}
    return dict.fromkeys(kept[item] for item in order if item in kept)


def _less(order: dict[Any, None], others: tuple[Iterable[Any], ...]) -> dict[Any, None]:
    found = dict(order)
    for other in others:
        for item in other:
            found.pop(item, None)
    return found


def _either(order: dict[Any, None], other: Iterable[Any]) -> dict[Any, None]:
    found = dict(order)
    for item in dict.fromkeys(other):
        if item in found:
            del found[item]
        else:
            found[item] = None
    return found
