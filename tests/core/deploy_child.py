"""A process of a deployment: it begins a run, or goes on with one that another process began.

`python -m tests.core.deploy_child` reads one job from its input, as JSON, and writes its answer.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
from typing import Any

import msgspec
from msgspec import Raw

from perdure import values
from perdure.core import bindings, image
from perdure.core.effects import Dispatch
from perdure.core.facts import Completed, Started, decode_row, encode_row
from perdure.core.refold import refold
from perdure.core.run import Run
from perdure.errors import PerdureError
from perdure.lang.rebuilding import rebuild
from perdure.lang.telling import text_of
from perdure.node.host import HOST

KEY = bytes(range(32))


def begin(job: dict[str, Any]) -> Any:
    """Start a run, answer some of its calls, and write everything down."""
    flow = getattr(importlib.import_module(job["module"]), job["flow"])
    program = flow.program()
    run = Run(program, HOST)
    raw = Raw(values.encode([job.get("args", [])]))
    applied = run.apply(Started(1_000_000, program.hash, raw, 7))
    rows, waiting = [applied.row], calls(applied.effects)
    for _ in range(job["answers"]):
        applied = answer(run, waiting.pop(0))
        rows.append(applied.row)
        waiting += calls(applied.effects)
    return {
        "text": text_of(program).decode(),
        "image": base64.b64encode(image.take(run, KEY)).decode(),
        "rows": [encode_row(row).decode() for row in rows],
        "waiting": [{"call": each.call, "token": each.token} for each in waiting],
    }


def go_on(job: dict[str, Any]) -> Any:
    """Go on from the image, and from the facts, on the program as it was."""
    importlib.import_module(job["module"])
    return {each: told(_ended, job, each) for each in ("image", "facts")}


def _ended(job: dict[str, Any], begin_from: str) -> Any:
    """Say how the run ended."""
    program = rebuild(job["text"].encode(), bindings)
    if begin_from == "image":
        run = image.restore(program, base64.b64decode(job["image"]), KEY, HOST)
    else:
        run = refold(program, [decode_row(each.encode()) for each in job["rows"]], HOST)
    waiting: list[Any] = [msgspec.convert(each, Waiting) for each in job["waiting"]]
    made: list[Any] = []
    while run.outcome is None:
        for call in calls(answer(run, waiting.pop(0)).effects):
            waiting.append(call)
            made.append([call.target, json.loads(bytes(call.args)), call.policy.retry.attempts])
    return {
        "status": run.status,
        "value": json.loads(bytes(run.outcome.value)),
        "calls": made,
        "changed": list(program.changed),
    }


def calls(effects: Any) -> list[Dispatch]:
    return [each for each in effects if isinstance(each, Dispatch)]


class Waiting(msgspec.Struct):
    """A call that another process was asked to make."""

    call: int
    token: int


def answer(run: Run, call: Any) -> Any:
    """Every call gives its own number."""
    raw = Raw(str(call.call).encode())
    return run.apply(Completed(run.now_us + 1, call.call, call.token, raw))


def told(work: Any, *args: Any) -> Any:
    """Give what came of it, or the error that stopped it."""
    try:
        return work(*args)
    except PerdureError as error:
        return {"error": error.code, "text": str(error)}


def main() -> None:
    job = json.load(sys.stdin)
    done = told({"begin": begin, "go_on": go_on}[job["do"]], job)
    sys.stdout.write(json.dumps(done))


if __name__ == "__main__":
    main()
