"""The other process of `crash_everywhere`: goes on from every point, says what first differs."""

from __future__ import annotations

import base64
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import unified_diff
from functools import partial
from typing import Any

import msgspec

from perdure.core import image
from perdure.core.effects import AnyEffect, Dispatch, Revoke, outline
from perdure.core.facts import Completed, Failed, Lost, Row, decode_row
from perdure.core.refold import fold_again, refold
from perdure.core.run import Program, Run
from perdure.errors import PerdureError
from perdure.node.host import HOST
from perdure.registry import lookup


def main() -> int:
    """Read the task, and compare."""
    task = json.load(sys.stdin)
    sys.path[:] = task["path"]
    program = _program(task)
    rows = [decode_row(each.encode()) for each in task["rows"]]
    key = bytes.fromhex(task["key"])
    images = [each and base64.b64decode(each) for each in task["images"]]
    for at, what, go_on in _points(program, rows, images, key):
        problem = _problem(go_on)
        if problem:
            print(f"crashed after fact {at} of {len(rows)}, {what}:\n{problem}")
            return 1
    return 0


def _program(task: dict[str, Any]) -> Program:
    name = task["module"]
    try:
        importlib.import_module(name)
    except ImportError:
        if task["file"] is None:
            raise
        spec = importlib.util.spec_from_file_location(name, task["file"])
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    program: Program = lookup("workflow", task["name"]).program()
    return program


def _problem(go_on: Any) -> str:
    try:
        return str(go_on())
    except PerdureError as error:
        return str(error)


def _points(
    program: Program, rows: list[Row], images: list[bytes | None], key: bytes
) -> Iterator[tuple[int, str, Callable[[], str]]]:
    yield 0, "all images deleted", partial(_refolded, program, rows)
    expected = _effects(program, rows)
    for at in range(1, len(rows)):
        taken = images[at - 1]

        begin = partial(_begin, program, rows[:at], taken, key)
        yield at, "what was in flight comes in", partial(_rest, begin, rows, at, expected)
        losses = partial(_with_losses, begin, rows, at, expected)
        yield at, "what was in flight is lost", losses


Begin = Callable[[], Run]


def _begin(program: Program, rows: list[Row], taken: bytes | None, key: bytes) -> Run:
    if taken is None:
        return refold(program, rows, HOST)
    return image.restore(program, taken, key, HOST)


def _refolded(program: Program, rows: list[Row]) -> str:
    """Fold from the first fact; what each fact caused at first is written beside it."""
    run = Run(program, HOST)
    for row in rows:
        effects = run.apply(row.fact, row.recorded).effects
        problem = _difference(row.seq, list(row.outline or ()), outline(effects))
        if problem:
            return problem
    run.drop()
    refold(program, rows, HOST).drop()  # by the digests, too
    return ""


def _difference(seq: int, then: list[str], now: Sequence[str]) -> str:
    if then == list(now):
        return ""
    lines = unified_diff(then, list(now), "uncrashed", "crashed", lineterm="")
    return f"fact {seq} causes something else\n" + "\n".join(lines)


def _effects(program: Program, rows: list[Row]) -> list[tuple[AnyEffect, ...]]:
    run = Run(program, HOST)
    return [fold_again(run, row).effects for row in rows]


def _rest(begin: Begin, rows: list[Row], at: int, expected: list[tuple[AnyEffect, ...]]) -> str:
    run = begin()
    for i, row in enumerate(rows[at:], at):
        effects = run.apply(row.fact, row.recorded).effects
        problem = _difference(row.seq, list(outline(expected[i])), outline(effects))
        if problem:
            return problem
    run.drop()
    return ""


def _with_losses(
    begin: Begin, rows: list[Row], at: int, expected: list[tuple[AnyEffect, ...]]
) -> str:
    """Lose what is in flight, then let the same outcomes come under the tokens of the new tries."""
    run = begin()
    later: dict[int, int] = {}
    for call in list(run.calls.values()):
        if call.policy.at_most_once:
            return ""  # it is told apart on purpose: the flow gets `Interrupted`
        run.apply(Lost(run.now_us, call.call, call.token))
        later[call.call] = 1
    for i, row in enumerate(rows[at:], at):
        fact = row.fact
        if isinstance(fact, (Completed, Failed, Lost)) and fact.call in later:
            fact = msgspec.structs.replace(fact, token=fact.token + later[fact.call])
        effects = run.apply(fact, row.recorded).effects
        then = outline([_without_token(each) for each in expected[i]])
        now = outline([_without_token(each) for each in effects])
        problem = _difference(i + 1, list(then), now)
        if problem:
            return problem
    run.drop()
    return ""


def _without_token(effect: AnyEffect) -> AnyEffect:
    if isinstance(effect, (Dispatch, Revoke)):
        return msgspec.structs.replace(effect, token=0)
    return effect


if __name__ == "__main__":
    raise SystemExit(main())
