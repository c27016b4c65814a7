"""How objects of users' classes, and exceptions, are written into an image: as what they hold.

Nothing of a class is asked: values are taken by the methods of its bases, attributes where they
are stored. On reading they are made bare and filled, without `__new__` and `__init__`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from perdure import value_errors, value_types
from perdure.core.contents import put_user_state, user_state
from perdure.core.remade import Reading
from perdure.errors import NotNow
from perdure.kinds import kind_of
from perdure.value_types import shape_of

R = Reading


def member_form(_: object, value: Any) -> Any:
    """Write a member of an enum by its name."""
    return R.member, (type(value), value_types.member_key(value))


def instance_form(_: object, value: Any) -> Any:
    """Write an object bare, and what it holds."""
    return R.new, (type(value),), shape_of(kind_of(value)).take(value), None, None, R.fill


def plain_form(_: object, value: Any) -> Any:
    """Write an object of a user's class that is a text, a number or a tuple besides."""
    kind = kind_of(value)
    base, take = next(pair for pair in PLAIN if isinstance(value, pair[0]))
    held = shape_of(kind).take(value)
    return R.plain, (base, kind, take(value)), held, None, None, R.fill


def _whole(base: Any) -> Callable[[Any], Any]:
    def take(value: Any) -> Any:
        return base.__getitem__(value, slice(None))

    return take


PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__complex__),
    (bytes, _whole(bytes)),
    (tuple, _whole(tuple)),
)
"""What cannot be changed once it is made, and how to take its value without asking its class."""


def match_form(_: object, match: re.Match[Any]) -> Any:
    """Write what a pattern matched as how to match it again."""
    told = (match.re, match.string, match.pos, match.endpos)
    for how in ("match", "fullmatch", "finditer"):
        again = R.match(*told, how, match.span())
        if again is not None and again.regs == match.regs and again.lastindex == match.lastindex:
            return R.match, (*told, how, match.span())
    raise NotNow("a match of a pattern is alive that is not found again")


def container_form(_: object, value: Any) -> Any:
    """Write an object of a user's class that is a dict, a list or a set besides."""
    bases: tuple[Any, ...] = (dict, list, set)
    base = next(each for each in bases if isinstance(value, each))
    return R.container, (base, type(value)), user_state(value), None, None, put_user_state


def attrs_form(_: object, value: Any) -> Any:
    """Write an object of a class of attrs'."""
    record = value_types.record_of("attrs", kind_of(value))
    return R.new, (type(value),), record.take(value), None, None, R.fill


def struct_form(_: object, value: Any) -> Any:
    """Write a struct."""
    record = value_types.record_of("struct", kind_of(value))
    return R.struct, (type(value), record.take(value))


def error_form(_: object, error: BaseException) -> Any:
    """Write an exception with all that hangs on it but its traceback."""
    fields = [
        (base, name, value)
        for base, names in value_errors.FIELDS.items()
        if isinstance(error, base)
        for name in names
        if name in vars(base) and (value := value_errors.field_of(error, base, name)) is not None
    ]
    attributes = dict(shape_of(type(error)).take(error))
    place = value_errors.where_raised(error)
    if place:
        attributes[value_errors.BEFORE_KEY] = place
    links = (error.__cause__, error.__context__, error.__suppress_context__)
    state = (error.args, attributes, fields, *links)
    return R.new_error, (type(error), _group(error)), state, None, None, R.fill_error


def _group(error: BaseException) -> Any:
    held: Any = error
    if isinstance(error, BaseExceptionGroup):
        return held.message, list(held.exceptions)
    return None
