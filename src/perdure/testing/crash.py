"""`crash_everywhere`: a user's workflow, crashed after every fact and before every flush.

One run is carried out in memory, with an image after every fact. Another process, under another
hash seed, then goes on from each of these points: from the image, by folding the log again with
all images deleted, and with everything that was in flight lost and done again. All must end alike.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from perdure.core import image
from perdure.core.facts import encode_row
from perdure.errors import CrashDiffers, NotNow
from perdure.testing.memory import START_US, At, MemoryRun, run_in_memory
from perdure.testing.script import Scripted
from perdure.value_types import canonical
from perdure.workflows import Workflow


class Crashes(msgspec.Struct, frozen=True):
    """What `crash_everywhere` saw: how often it crashed, and where no image could be taken."""

    run: Any
    points: int
    """Facts after which the process was taken to die."""
    restored: int
    """Points at which the run came back from its image; at the others, from its facts."""
    tails: dict[int, str]
    """By the number of a fact, why there was no image after it."""


def crash_everywhere(
    workflow: Workflow[Any, Any],
    *args: Any,
    script: Mapping[Any, Scripted] | None = None,
    events: Iterable[At] = (),
    seed: int = 0,
    zone: str = "UTC",
    start_us: int = START_US,
    **kwargs: Any,
) -> Crashes:
    """Crash a run everywhere; raise `CrashDiffers` with the first difference, if there is one.

    Takes what `run_in_memory` takes.
    """
    key = secrets.token_bytes(32)
    images: list[bytes | None] = []
    tails: dict[int, str] = {}

    def watch(memory: MemoryRun) -> None:
        if memory.run.outcome is not None:
            images.append(None)
            return
        try:
            images.append(image.take(memory.run, key))
        except NotNow as why:
            images.append(None)
            tails[memory.run.seq] = why.what

    memory = run_in_memory(
        workflow, *args, script=script, events=events, seed=seed, zone=zone, start_us=start_us,
        watch=watch, **kwargs,
    )  # fmt: skip
    module = sys.modules[workflow.function.__module__]
    task = {
        "module": canonical(module.__name__),
        "file": getattr(module, "__file__", None),
        "name": workflow.name,
        "path": sys.path,
        "key": key.hex(),
        "rows": [encode_row(row).decode() for row in memory.rows],
        "images": [each and base64.b64encode(each).decode() for each in images],
    }
    _compare(task)
    restored = sum(each is not None for each in images)
    return Crashes(memory, len(memory.rows), restored, tails)


def _compare(task: dict[str, Any]) -> None:
    """Have another process go on from every point."""
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "perdure.testing.crash_child"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONHASHSEED": "4711",
            "TZ": "Pacific/Chatham",
            "PYTHONPATH": os.pathsep.join(
                [str(Path(__file__).parents[2]), *filter(None, sys.path)]
            ),
        },
    )
    if child.returncode == 0:
        return
    said = child.stdout.strip() or child.stderr.strip()
    raise CrashDiffers(said, remedy="code that runs inline gives something else when it runs again")
