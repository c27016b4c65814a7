"""A process that is given images which were changed, under an audit hook; says what came of them.

`python -m tests.core.hostile_child` prints how many it tried, how many loaded, and what it saw.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from perdure.core import image
from perdure.core.run import Run
from perdure.errors import BadImage
from perdure.node.host import HOST
from tests.core import image_flows as flows
from tests.core.test_image import KEY, answer, calls, start

OUTSIDE = (
    "compile", "cpython", "ctypes", "exec", "import", "marshal", "mmap", "open", "os", "pickle",
    "pty", "shutil", "signal", "socket", "sqlite3", "subprocess", "tempfile", "urllib",
)  # fmt: skip
"""The first words of events that reach out of what an image may do."""

SEEN: set[str] = set()
WATCHED: list[bool] = []


def _saw(event: str, args: tuple[Any, ...]) -> None:
    if WATCHED:
        SEEN.add(f"{event} {args[:1]}" if event == "import" else event)


def taken() -> list[tuple[Run, bytes]]:
    """Take twenty images, of runs of four programs."""
    found: list[tuple[Run, bytes]] = []
    for seed in (1, 2, 3):
        run, effects = start(flows.many_things, seed=seed)
        found.append((run, image.take(run, KEY)))
        answer(run, calls(effects)[0])
        found.append((run, image.take(run, KEY)))
    for seed in range(6):
        run, effects = start(flows.counting, 20, seed=seed)
        for _ in range(seed):
            effects = answer(run, calls(effects)[0])
        found.append((run, image.take(run, KEY)))
    for where in ("with", "except", "gather", "group", "finally", "wait_for"):
        run, _ = start(flows.in_cleanup, where)
        found.append((run, image.take(run, KEY)))
    for seed in (1, 2):
        run, _ = start(flows.listening, seed=seed)
        found.append((run, image.take(run, KEY)))
    return found


def changed(whole: bytes, others: list[bytes]) -> Iterator[bytes]:
    """Change an image in every way that needs no key."""
    for at in range(len(whole)):
        yield whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
        yield whole[:at]
    for other in others:
        for at in range(1, min(len(whole), len(other)), 13):
            yield whole[:at] + other[at:]
    payload = whole[16:]
    for mac in (blake2b(payload, digest_size=16), blake2b(payload, key=bytes(32), digest_size=16)):
        yield mac.digest() + payload
    yield payload
    yield whole + b"."


def _reduced(module: str, name: str, *args: Any) -> bytes:
    """Give a pickle that calls something by name."""
    called = pickle.dumps(args, 2)[2:-1]
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + called + b"R."


FOREIGN = [
    ("os", "system"), ("posix", "system"), ("os", "popen"), ("builtins", "eval"),
    ("builtins", "exec"), ("builtins", "__import__"), ("builtins", "open"),
    ("builtins", "compile"), ("builtins", "breakpoint"), ("builtins", "input"),
    ("importlib", "import_module"), ("subprocess", "Popen"), ("subprocess", "check_output"),
    ("pickle", "loads"), ("shutil", "rmtree"), ("socket", "socket"), ("ctypes", "CDLL"),
    ("antigravity", "geohash"), ("json", "codecs.open"), ("json", "codecs.builtins.eval"),
    ("runpy", "run_path"), ("sys", "modules"), ("code", "InteractiveInterpreter"),
    ("perdure.core.image", "pickle.loads"), ("perdure.core.ambient", "here"),
    ("__main__", "main"),
]  # fmt: skip


def hostile(whole: bytes) -> Iterator[bytes]:
    """Give images that were written by somebody who has the key, and name what they may not."""
    payload = whole[16:]
    head = image._HEAD.size + image._HEAD.unpack_from(payload)[-1]
    bodies = [_reduced(module, name, "true") for module, name in FOREIGN]
    bodies += [
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",  # by names on the stack
        b"\x80\x02P1\n.", b"\x80\x02K\x01Q.",  # asks for what only an engine gives
        b"(S'true'\nios\nsystem\n.", b"\x80\x02\x82\x01.", b"\x80\x02.", b"", b"\xff" * 40,
    ]  # fmt: skip
    for body in bodies:
        yield signed(payload[:head] + body)
        yield signed(payload[:head] + body + payload[head:])
    for version in (b"PDI\x02", b"PDI\xff", b"XXX\x01"):
        yield signed(version + payload[4:])


def signed(payload: bytes) -> bytes:
    """Put the checksum before a payload, under the key."""
    return image._mac(KEY, payload) + payload


def main() -> None:
    """Try them all."""
    images = taken()
    told = {"images": len(images), "tried": 0, "loaded": 0}
    others = [whole for _, whole in images]
    tries = [
        (run, each)
        for number, (run, whole) in enumerate(images)
        for each in changed(whole, [others[number - 1], others[number - 7]])
        if each not in others
    ]
    keyless = _try_all(tries, told)
    run, whole = images[0]
    keyed = _try_all([(run, each) for each in hostile(whole) if each != whole], told)
    reached = [each for each in keyed if each.split(".")[0].split()[0] in OUTSIDE]
    sys.stdout.write(json.dumps(told | {"keyless": keyless, "keyed": reached}))


def _try_all(tries: list[tuple[Run, bytes]], told: dict[str, int]) -> list[str]:
    SEEN.clear()
    WATCHED.append(True)
    for run, each in tries:
        told["tried"] += 1
        try:
            image.restore(run.program, each, KEY, HOST)
        except BadImage:
            continue
        told["loaded"] += 1
    WATCHED.clear()
    return sorted(SEEN)


if __name__ == "__main__":
    sys.addaudithook(_saw)
    main()
