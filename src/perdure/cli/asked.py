"""What people type as the value of an option, as data; what is none is refused with a code."""

from __future__ import annotations

import datetime as dt
import inspect
import json
import sys
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from perdure import values
from perdure.app import Call
from perdure.core.policy import microseconds
from perdure.errors import BadUsage, PerdureError, WrongType
from perdure.workflows import Workflow


def json_of(text: str, what: str) -> Any:
    """Read JSON; `@FILE` is what a file holds, and `@-` what comes from standard input."""
    file = text[1:] if text.startswith("@") else None
    if file is not None:
        text, what = _from_file(file, what), f"{what}, from {file},"
    try:
        return json.loads(text, parse_constant=_not_json)
    except RecursionError:
        raise BadUsage(f"{what} is nested too deep") from None
    except ValueError as error:
        # What a file holds may be a secret, and is not repeated.
        shown = "" if file is not None else f": {text if len(text) <= 60 else text[:59] + '…'}"
        remedy = f"text takes quotes: '\"{text}\"'" if shown and _is_word(text) else ""
        raise BadUsage(f"{what} is not JSON{shown}: {error}", remedy=remedy) from None


def _from_file(name: str, what: str) -> str:
    try:
        if name == "-":
            return sys.stdin.read()
        return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadUsage(f"{what} cannot be read from {name!r}: {why}") from None


def _not_json(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _is_word(text: str) -> bool:
    return text.replace("-", "").replace("_", "").replace(" ", "").isalnum()


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """Read `name=value` as often as it was given; no name twice."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise BadUsage(f"{option} {each!r} is not `name=value`")
        if name in found:
            raise BadUsage(f"{option} gives `{name}` twice")
        found[name] = value
    return found


def moment(text: str, option: str, now: dt.datetime) -> dt.datetime:
    """Read a time: a date of ISO 8601, in the zone of this machine unless it says; or `2h` ago."""
    try:
        when = dt.datetime.fromisoformat(text)
        return (when if when.tzinfo else when.astimezone()).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        pass
    try:
        return now - dt.timedelta(microseconds=microseconds(text, option))
    except (PerdureError, OverflowError):
        raise BadUsage(
            f"{option} {text!r} is no time",
            remedy='write "2026-03-01T12:00" or "2h" for so long ago',
        ) from None


def count(text: str, option: str) -> int:
    """Read a number of things."""
    if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text):
        return int(text)
    raise BadUsage(f"{option} {text!r} is no number of things", remedy="write 1 or more")


# --- the arguments of a workflow


def call_of(
    flow: Workflow[Any, Any], given: Iterable[str], id_: str | None, attrs: Iterable[str]
) -> Call:
    """Make of `name=JSON` a call of a workflow, each argument of the type that it is said to be."""
    signature = inspect.signature(flow.function)
    texts = pairs(given, "--arg")
    _demand_known(flow, signature, texts)
    types = _types_of(flow)
    named = {name: _argument(name, text, types.get(name, Any)) for name, text in texts.items()}
    args, kwargs = _in_place(signature, named)
    try:
        flow.accepts(*args, **kwargs)
    except TypeError as error:
        raise BadUsage(str(error), remedy=_takes(signature)) from None
    return Call(flow, args, kwargs, id_, pairs(attrs, "--attr"))


def _argument(name: str, text: str, type_: Any) -> Any:
    what = f"--arg {name}"
    read = json_of(text, what)
    try:
        return values.convert(read, type_, what)
    except WrongType:
        if not text.startswith("@"):
            raise
        shown = getattr(type_, "__name__", str(type_))
        raise WrongType(f"{what} should be `{shown}`, and {text[1:]} holds no such thing") from None


def _types_of(flow: Workflow[Any, Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(flow.function)
    except Exception:  # noqa: BLE001 — names that only a type checker sees
        return {}  # the data stay as they are


def _demand_known(
    flow: Workflow[Any, Any], signature: inspect.Signature, given: Iterable[str]
) -> None:
    parameters = signature.parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return
    known = {each.name for each in parameters if each.kind is not each.VAR_POSITIONAL}
    for name in given:
        if name not in known:
            raise BadUsage(f"{flow.name} takes no argument `{name}`", remedy=_takes(signature))


def _in_place(
    signature: inspect.Signature, named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Give what has a place by its place, as code does: a run is known by how it was called."""
    args: list[Any] = []
    for each in signature.parameters.values():
        if each.kind not in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD}:
            break
        if each.name not in named:
            break
        args.append(named.pop(each.name))
    return tuple(args), named


def _takes(signature: inspect.Signature) -> str:
    shown = [
        each.name if each.default is each.empty else f"{each.name}={each.default!r}"
        for each in signature.parameters.values()
        if each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}
    ]
    return f"it takes {', '.join(shown) or 'none'}"
