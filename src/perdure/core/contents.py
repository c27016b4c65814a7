"""What a run may have changed of the things that its program built for it: taken, and put back.

Such a thing is written into an image as a number; only its content goes in, and is put into the
thing that the restored run has in its place, so that everybody who shares it still does.
"""

from __future__ import annotations

import functools
import random
import types
from array import array
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from perdure.errors import NotNow
from perdure.kinds import kind_of
from perdure.ordered import OrderedSet
from perdure.value_types import shape_of

_HEAP_TYPE = 1 << 9


def state_of(value: Any) -> Any:
    """Give the content of something that a program built for a run; None if there is none."""
    kind = kind_of(value)
    taker = _STATES.get(kind)
    if taker is not None:
        return taker[0](value)
    if kind.__flags__ & _HEAP_TYPE and not isinstance(value, type):
        return user_state(value)
    return None


def put_state(value: Any, state: Any) -> None:
    """Give something that a program built for a run the content that it had."""
    if type(value) in _STATES:
        _STATES[type(value)][1](value, state)
        return
    put_user_state(value, state)


def put_user_state(value: Any, state: tuple[Any, dict[str, Any]]) -> None:
    """Give an object of a user's class what it held, by the methods of its base alone."""
    content, attributes = state
    if content is not None:
        base, fill = next(pair for pair in _FILLERS if isinstance(value, pair[0]))
        base.clear(value)
        fill(value, content)
    own = getattr(value, "__dict__", None)
    if own is not None:
        for name in [name for name in own if name not in attributes]:
            del own[name]
    shape_of(kind_of(value)).fill(value, attributes)


_FILLERS: tuple[tuple[Any, Callable[..., object]], ...] = (
    (dict, dict[Any, Any].update),
    (list, list[Any].extend),
    (set, set[Any].update),
)


def user_state(value: Any) -> Any:
    """Give what an object of a user's class holds: as a container, and as attributes."""
    held: Any = value
    content: Any = None
    if isinstance(value, dict):
        mapping: Any = dict
        content = list(mapping.items(held))
    elif isinstance(value, (list, set)):
        base: Any = list if isinstance(value, list) else set
        content = list(base.__iter__(held))
    return content, dict(shape_of(kind_of(held)).take(held))


def _cell_content(cell: CellType) -> Any:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _put_cell(cell: CellType, state: tuple[Any, ...]) -> None:
    if state:
        cell.cell_contents = state[0]
    else:
        del cell.cell_contents


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items())


def _put_pairs(value: Any, pairs: list[tuple[Any, Any]]) -> None:
    value.clear()
    for key, each in pairs:
        value[key] = each


def _put_members(value: Any, members: list[Any]) -> None:
    held: Any = value
    held.clear()
    (held.update if isinstance(value, set) else held.extend)(members)


def _space(value: Any) -> dict[str, Any]:
    held: dict[str, Any] = value.__dict__
    return dict(held)


def _put_dict(value: Any, state: dict[str, Any]) -> None:
    value.__dict__.clear()
    value.__dict__.update(state)


def _put_array(value: Any, data: bytes) -> None:
    del value[:]
    value.frombytes(data)


def _put_bytes(value: bytearray, data: bytes) -> None:
    value[:] = data


def _put_nothing(_: object, __: object) -> None:
    return None


def _not_cached(value: Any) -> None:
    if value.cache_info().currsize:
        raise NotNow(f"`functools.cache` of `{value.__qualname__}` holds results")


_STATES: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    list: (list, _put_members),
    deque: (list, _put_members),
    OrderedSet: (list, _put_members),
    dict: (_pairs, _put_pairs),
    OrderedDict: (_pairs, _put_pairs),
    Counter: (_pairs, _put_pairs),
    defaultdict: (_pairs, _put_pairs),
    bytearray: (bytes, _put_bytes),
    array: (lambda held: held.tobytes(), _put_array),
    random.Random: (random.Random.getstate, random.Random.setstate),
    CellType: (_cell_content, _put_cell),
    FunctionType: (lambda function: function.__dict__ or None, _put_dict),
    ChainMap: (_space, _put_dict),
    types.SimpleNamespace: (_space, _put_dict),
    type(functools.lru_cache(lambda: None)): (_not_cached, _put_nothing),
}
