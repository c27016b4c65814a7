"""Take an exception apart into data, and put it together again as an instance of its own class.

An exception must never get lost for want of a class or of an encodable argument, so nothing here
refuses: what cannot be written down is replaced by its `repr` or left out, and the exception is
marked as inexact. A class that this process lacks is replaced by one of the same name below the
nearest parents that it has, so that `except Parent:` still catches. No user's `__new__`,
`__init__` or `__setattr__` runs.

Knows the form of an error's data, not how that of other values looks: a pen writes those.
"""

from __future__ import annotations

import re
import traceback
from abc import ABCMeta
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from perdure.value_types import Refusal, find, named, shape_of, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TRACE_KEY = "__perdure_traceback__"
INEXACT_KEY = "__perdure_inexact__"
_TEXT_KEY = "__perdure_text__"
_MRO_KEY = "__perdure_mro__"
BEFORE_KEY = "__perdure_before__"
"""Where an exception was raised before its run was restored; tracebacks cannot be."""

_OWN_KEYS = frozenset({TRACE_KEY, INEXACT_KEY, BEFORE_KEY, _TEXT_KEY})

_TEXT_MAX = 8 << 10
_REPR_MAX = 1 << 10
_FRAMES_MAX = 40
_BARE_PARTS_MAX = 20
_STAND_INS_MAX = 1_000
_CHAIN_MAX = 20

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lies in this process: it means nothing in another, and is never the same."""

_HEAP_TYPE = 1 << 9
_BASE_TYPE = 1 << 10

_CAUSE = "\nThis was the cause of the following exception:\n\n"
_CONTEXT = "\nWhile this was being handled, another exception came:\n\n"

FIELDS: dict[type[BaseException], tuple[str, ...]] = {
    OSError: ("errno", "strerror", "filename", "filename2"),
    UnicodeDecodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeEncodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeTranslateError: ("object", "start", "end", "reason"),
    ImportError: ("msg", "name", "path", "name_from"),
    AttributeError: ("name",),
    NameError: ("name",),
    SyntaxError: ("msg", "filename", "lineno", "offset", "text", "end_lineno", "end_offset"),
    StopIteration: ("value",),
    SystemExit: ("code",),
}
"""What builtin exceptions store outside of `args` and `__dict__`."""

Node = dict[str, Any]

_type: Any = type
_GROUP: Any = BaseExceptionGroup
_args: Any = vars(BaseException)["args"]
_space: Any = vars(BaseException)["__dict__"]
_cause: Any = vars(BaseException)["__cause__"]
_context: Any = vars(BaseException)["__context__"]
_suppress: Any = vars(BaseException)["__suppress_context__"]
_message: Any = vars(BaseExceptionGroup)["message"]
_members: Any = vars(BaseExceptionGroup)["exceptions"]


class Pen(Protocol):
    """What writes the values that an exception holds."""

    room: int
    """Containers that may still be opened inside of each other."""
    left: int
    """Bytes that may still be written."""
    links: int
    """Causes and contexts that may still be written."""
    active: set[int]
    """The exceptions, by identity, that are being written."""
    trace: bool
    """Whether the tracebacks of this process are written, too."""

    def write(self, value: Any, /) -> Any:
        """Return the written form of a value, or raise `Refusal`."""


# --- writing ------------------------------------------------------------------------------


def written(exc: BaseException, pen: Pen) -> Node:
    """Return the data of an exception; refuse only one that is being written already."""
    if id(exc) in pen.active or not pen.room:
        raise Refusal("leads back to itself, or too deep", "cut the chain", large=True)
    pen.active.add(id(exc))
    pen.room -= 1
    try:
        return _written(exc, pen)
    finally:
        pen.room += 1
        pen.active.discard(id(exc))


def _written(exc: BaseException, pen: Pen) -> Node:
    node = _named(exc)
    inexact = _is_marked(exc)
    for part in (_write_args, _write_state, _write_fields):
        inexact |= part(exc, node, pen)
    _write_links(exc, node, pen)
    text = text_of(exc)
    if node["args"] != [text]:
        node["text"] = text
    trace = _trace(exc, fresh=pen.trace)
    if trace:
        node["trace"] = trace
    if inexact:
        node["inexact"] = True
    return node


def bare(exc: BaseException, *, trace: bool) -> Node:
    """Return the least that can be said of an exception, when it is too large to be written."""
    args = _args.__get__(exc)
    node = _named(exc)
    node |= {"args": [_repr(arg) for arg in args[:_BARE_PARTS_MAX]], "text": text_of(exc)}
    node |= {"trace": _trace(exc, fresh=trace), "inexact": True}
    if isinstance(exc, _GROUP):
        node["message"] = _sound(_message.__get__(exc), _TEXT_MAX)
        node["args"] = "list"
        node["subs"] = [_brief(sub, trace=trace) for sub in _members.__get__(exc)[:_BARE_PARTS_MAX]]
    return node


def _brief(sub: BaseException, *, trace: bool) -> Node:
    if not isinstance(sub, _GROUP):
        return bare(sub, trace=trace)
    # An inner group of an oversized group is told of, not shown: its parts could be as large.
    kind = "Exception" if isinstance(sub, Exception) else "BaseException"
    return {"$": "error", "of": f"builtins:{kind}", "args": [text_of(sub)], "inexact": True}


def _named(exc: BaseException) -> Node:
    cls = type(exc)
    names: tuple[str, ...] | None = _own_names(cls)
    if names is None:
        names = tuple(_sound(named(owner), _REPR_MAX) for owner in cls.__mro__[:-1])
    node: Node = {"$": "error", "of": names[0]}
    if not names[0].startswith("builtins:"):
        node["mro"] = list(names[1:])
    return node


def _own_names(cls: type) -> tuple[str, ...] | None:
    """Return the names that a stand-in was made for."""
    names: tuple[str, ...] | None = vars(cls).get(_MRO_KEY)
    return names


def _write_args(exc: BaseException, node: Node, pen: Pen) -> bool:
    inexact = False
    args = _args.__get__(exc)
    if isinstance(exc, _GROUP):
        members: tuple[BaseException, ...] = _members.__get__(exc)
        inexact = _write_members(members, node, pen)
        node["message"] = pen.write(_message.__get__(exc))
        if _are_of_group(args, members):
            node["args"] = type(args[1]).__name__
            return inexact
    out: list[Any] = []
    for arg in args:
        tree, failed = _attempt(arg, pen)
        out.append(_repr(arg) if failed else tree)
        inexact |= failed
    node["args"] = out
    return inexact


def _write_members(members: tuple[BaseException, ...], node: Node, pen: Pen) -> bool:
    inexact = False
    subs: list[Node] = []
    for sub in members:
        tree, failed = _attempt(sub, pen)
        subs.append(_brief(sub, trace=pen.trace) if failed else tree)
        inexact |= failed
    node["subs"] = subs
    return inexact


def _are_of_group(args: tuple[Any, ...], members: tuple[BaseException, ...]) -> bool:
    """Tell whether `args` says no more than the message and the members of a group."""
    return (
        len(args) == 2
        and type(args[1]) in (list, tuple)
        and len(args[1]) == len(members)
        and all(a is b for a, b in zip(args[1], members, strict=True))
    )


def _write_state(exc: BaseException, node: Node, pen: Pen) -> bool:
    state = shape_of(type(exc)).take(exc)
    out, inexact = _write_each(((n, v) for n, v in state.items() if n not in _OWN_KEYS), pen)
    if out:
        node["state"] = out
    return inexact


def _write_fields(exc: BaseException, node: Node, pen: Pen) -> bool:
    held = ((n, field_of(exc, base, n)) for base, names in FIELDS.items() for n in names)
    out, inexact = _write_each(((name, value) for name, value in held if value is not None), pen)
    if out:
        node["fields"] = out
    return inexact


def where_raised(exc: BaseException) -> str:
    """Return the places that the traceback of an exception names, one in a line."""
    before = _space.__get__(exc).get(BEFORE_KEY, "")
    steps: list[str] = []
    for frame, line in islice(traceback.walk_tb(exc.__traceback__), _FRAMES_MAX):
        code = frame.f_code
        steps.append(f'  File "{code.co_filename}", line {line}, in {code.co_qualname}')
    return "\n".join([*([before] if before else []), *steps])


def field_of(exc: BaseException, base: type[BaseException], name: str) -> object:
    """Return what a builtin class stores under a name, or None."""
    slot: Any = vars(base).get(name)
    if slot is None or not isinstance(exc, base):
        return None
    try:
        value: object = slot.__get__(exc)
    except (AttributeError, TypeError):  # never filled, as Python versions may come to report it
        return None
    return value


def _write_each(held: Iterator[tuple[Any, Any]], pen: Pen) -> tuple[Node, bool]:
    out: Node = {}
    inexact = False
    for name, value in held:
        tree, failed = _attempt(value, pen)
        if failed or type(name) is not str or _sound(name, _REPR_MAX) != name:
            inexact = True
        else:
            out[name] = tree
    return out, inexact


def _write_links(exc: BaseException, node: Node, pen: Pen) -> None:
    cause, context = _cause.__get__(exc), _context.__get__(exc)
    for key, link in (("cause", cause), ("context", context)):
        if link is None:
            continue
        if key == "context" and link is cause:
            # `raise X from e` makes `e` both; written twice, a chain would double at each link.
            node[key] = True
            continue
        pen.links -= 1
        if pen.links >= 0:
            tree, failed = _attempt(link, pen)
            if not failed:
                node[key] = tree
    if _suppress.__get__(exc):
        node["suppress"] = True


def _attempt(value: object, pen: Pen) -> tuple[Any, bool]:
    """Write a value if that can be done, and say whether it could not."""
    room, left = pen.room, pen.left
    try:
        return pen.write(value), False
    except Refusal:
        # Half of the budget only, so that failing again and again takes bounded time.
        pen.room, pen.left = room, left // 2
        return None, True


def text_of(exc: BaseException) -> str:
    """Give the text of an exception, whatever its `__str__` does."""
    try:
        return _ADDRESS.sub("", _sound(str(exc), _TEXT_MAX))
    except Exception as error:  # noqa: BLE001 -- a user's `__str__`, which may raise anything
        return f"<its text cannot be had: {type(error).__name__}>"


def _repr(value: object) -> str:
    try:
        return _ADDRESS.sub("", _sound(repr(value), _REPR_MAX))
    except Exception as error:  # noqa: BLE001 -- a user's `__repr__`, which may raise anything
        return f"<a {type(value).__name__}, whose repr fails: {type(error).__name__}>"


def _sound(text: str, length_max: int) -> str:
    """Return a text that UTF-8 can hold, and no more than its two ends."""
    if len(text) > length_max:
        half = length_max // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _trace(exc: BaseException, *, fresh: bool) -> str:
    parts = [_recorded(exc)]
    if fresh and exc.__traceback__ is not None:
        frames = "".join(traceback.format_tb(exc.__traceback__, limit=-_FRAMES_MAX))
        last = f"{type(exc).__qualname__}: {text_of(exc)}"
        parts.append(f"Traceback (most recent call last):\n{frames}{last}\n")
    return _sound("\nRaised again in another process:\n\n".join(filter(None, parts)), _TEXT_MAX)


def _recorded(exc: BaseException) -> str:
    text = _space.__get__(exc).get(TRACE_KEY)
    return text if isinstance(text, str) else ""


def _is_marked(exc: BaseException) -> bool:
    return INEXACT_KEY in _space.__get__(exc)


def remote_traceback(exc: BaseException) -> str | None:
    """Return where an exception was raised in the process that it came from, causes first."""
    parts: list[str] = []
    link, joint = exc, ""
    while len(parts) < _CHAIN_MAX and _recorded(link):
        parts.insert(0, _recorded(link) + joint)
        if link.__cause__ is not None:
            link, joint = link.__cause__, _CAUSE
        elif link.__context__ is not None and not link.__suppress_context__:
            link, joint = link.__context__, _CONTEXT
        else:
            break
    return "".join(parts) or None


# --- reading ------------------------------------------------------------------------------


def rebuilt(node: Node, read: Callable[[Any], Any]) -> BaseException:
    """Return the exception that such data was written from."""
    names = (node["of"], *node.get("mro", ()))
    exc = _empty(names, node, read)
    subs = _members.__get__(exc) if isinstance(exc, _GROUP) else ()
    args = node["args"]
    if isinstance(args, str):
        members = list(subs) if args == "list" else tuple(subs)
        _args.__set__(exc, (_message.__get__(exc), members))
    else:
        _args.__set__(exc, tuple(read(args)))
    _fill(exc, node, read)
    _link(exc, node, read)
    return exc


def _empty(names: tuple[str, ...], node: Node, read: Callable[[Any], Any]) -> BaseException:
    cls = find(names[0])
    if cls is not None:
        if BaseException not in cls.__mro__:
            raise wrong_kind(cls, "error")
        try:
            return _instance(cls, node, read)
        except TypeError:
            pass  # a class of an extension module that nobody else can make instances of
    exc = _instance(_stand_in(names), node, read)
    text = node["text"] if "text" in node else read(node["args"][0])
    _space.__get__(exc)[_TEXT_KEY] = text
    return exc


def _instance(cls: type, node: Node, read: Callable[[Any], Any]) -> BaseException:
    if BaseExceptionGroup in cls.__mro__:
        if "members" not in node:  # read once, even when a second class has to be tried
            node["members"] = [read(sub) for sub in node["subs"]]
        message = read(node["message"])
        group: BaseException = _GROUP.__new__(cls, message, node["members"])
        return group
    base: Any = cls
    while base.__flags__ & _HEAP_TYPE:  # `__new__` has to be that of the layout, hence `__base__`
        base = base.__base__
    exc: BaseException = base.__new__(cls)
    return exc


def _fill(exc: BaseException, node: Node, read: Callable[[Any], Any]) -> None:
    state = {name: read(value) for name, value in node.get("state", {}).items()}
    if "trace" in node:
        state[TRACE_KEY] = node["trace"]
    if "inexact" in node:
        state[INEXACT_KEY] = True
    shape_of(type(exc)).fill(exc, state)
    fields = {name: read(value) for name, value in node.get("fields", {}).items()}
    for base, names in FIELDS.items():
        if isinstance(exc, base):
            for name in names:
                if name in fields and name in vars(base):
                    _check_position(name, fields[name])
                    vars(base)[name].__set__(exc, fields[name])


def _check_position(name: str, value: object) -> None:
    # `str()` of a `UnicodeDecodeError` reads at `start`, and does not ask whether it is negative.
    if name in ("start", "end") and not (isinstance(value, int) and value >= 0):
        raise ValueError(f"`{name}` is no position")


def _link(exc: BaseException, node: Node, read: Callable[[Any], Any]) -> None:
    cause = read(node["cause"]) if "cause" in node else None
    context = node.get("context")
    _cause.__set__(exc, cause)
    _context.__set__(exc, cause if context is True else read(context))
    _suppress.__set__(exc, bool(node.get("suppress", False)))


# --- stand-ins for classes that this process lacks -----------------------------------------

_stand_ins: dict[tuple[Any, ...], type[BaseException]] = {}


def _stand_in(names: tuple[str, ...]) -> type[BaseException]:
    """Return a class of that name, below the nearest parents that can be found."""
    parents = _parents(names[1:])
    key = (names, parents)  # not by name alone: a parent may get imported later on
    made = _stand_ins.get(key)
    if made is None:
        if len(_stand_ins) >= _STAND_INS_MAX:
            _stand_ins.clear()
        made = _stand_ins[key] = _made(names, parents)
    return made


def _parents(names: tuple[str, ...]) -> tuple[type[BaseException], ...]:
    chosen: list[type[BaseException]] = []
    for cls in islice(map(find, names), 100):
        if cls is None or not _can_be_parent(cls):
            continue
        if not any(cls in other.__mro__ for other in chosen):
            chosen.append(cls)
    return tuple(chosen) or (Exception,)


def _can_be_parent(cls: type) -> bool:
    """Tell whether a subclass of an exception's class can be made, and made without user code."""
    return (
        BaseException in cls.__mro__
        and bool(cls.__flags__ & _BASE_TYPE)
        and type(cls) in (type, ABCMeta)
        and not any("__init_subclass__" in vars(owner) for owner in cls.__mro__[:-1])
    )


def _made(names: tuple[str, ...], parents: tuple[type, ...]) -> type[BaseException]:
    module, _, path = names[0].partition(":")
    body = {"__module__": module, "__qualname__": path, "__str__": _told, _MRO_KEY: names}
    body["__doc__"] = "The class of this name is not imported in this process."
    name = path.rpartition(".")[2]
    try:
        return _type(name, parents, body)  # type: ignore[no-any-return]
    except TypeError:  # the layouts of two builtin parents clash, which those of `names` did not
        return _type(name, parents[:1], body)  # type: ignore[no-any-return]


def _told(exc: BaseException) -> str:
    return str(_space.__get__(exc).get(_TEXT_KEY, ""))
