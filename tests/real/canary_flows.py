"""A process whose runs carry secrets everywhere, and which says all that it can: nothing of them.

It reads the secrets from standard input, logs at DEBUG, and has asyncio tell of every callback.
What it prints by itself are names of errors, never their texts.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import warnings
from typing import Any

from perdure import Options, Perdure, Retry, action, heartbeat, record, signal, workflow
from tests.real.kit import say

NAMES = (
    "input", "keyword", "argument", "option", "value", "result", "error", "error_part", "cause",
    "note", "signal", "wrong_signal", "progress", "child_input", "child_value", "beside",
    "process_input", "process_value", "process_error", "dying_input", "attribute", "reason",
    "recorded", "late_error", "exit_code", "retried_error", "key",
)  # fmt: skip


class Denied(Exception):
    """An error of the user's, with something in it that no text shows."""

    def __init__(self, text: str, token: str) -> None:
        super().__init__(text, token)
        self.token = token


@action
async def pay(argument: str, *, option: str, value: str) -> str:
    assert argument
    assert option
    await asyncio.sleep(0.15)
    return value


@action
async def deny(text: str, part: str, cause: str, note: str) -> None:
    error = Denied(text, part)
    error.add_note(note)
    raise error from LookupError(cause)


@action(timeout=0.1)
async def is_late(error: str, progress: str) -> None:
    heartbeat({"at": progress})
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        raise ValueError(error) from None


@action(retry=Retry(attempts=2, backoff="1ms"))
def tries_again(error: str) -> None:
    raise ConnectionError(error)


@action
def leaves(code: str) -> None:
    sys.exit(code)


@action
def half_encodable(beside: str) -> list[Any]:
    return [beside, object()]


@action(run_in="process")
def apart(given: str, value: str) -> str:
    assert given
    say_to_nobody = os.environ.get("NOBODY")
    assert say_to_nobody is None
    return value


@action(run_in="process")
def apart_fails(error: str) -> None:
    raise Denied(error, error)


@action(run_in="process")
def apart_dies(given: str) -> None:
    assert given
    os._exit(9)


@workflow
async def child(given: str, value: str) -> str:
    assert given
    return value


@workflow
async def pays(given: str, secrets: dict[str, str], *, keyword: str) -> str:
    assert given
    assert keyword
    assert record(secrets.get, "recorded")
    await pay(secrets["argument"], option=secrets["option"], value=secrets["value"])
    await child(secrets["child_input"], secrets["child_value"])
    await apart(secrets["process_input"], secrets["process_value"])
    await signal("word", str)
    return secrets["result"]


@workflow
async def denied(secrets: dict[str, str]) -> None:
    await deny(*[secrets[each] for each in ("error", "error_part", "cause", "note")])


@workflow
async def late(secrets: dict[str, str]) -> None:
    await is_late(secrets["late_error"], secrets["progress"])


@workflow
async def tried(secrets: dict[str, str]) -> None:
    await tries_again(secrets["retried_error"])


@workflow
async def left(secrets: dict[str, str]) -> None:
    await leaves(secrets["exit_code"])


@workflow
async def half(secrets: dict[str, str]) -> None:
    await half_encodable(secrets["beside"])


@workflow
async def failed_apart(secrets: dict[str, str]) -> None:
    await apart_fails(secrets["process_error"])


@workflow
async def died_apart(secrets: dict[str, str]) -> None:
    await apart_dies(secrets["dying_input"])


@workflow
async def asked_for_a_number() -> int:
    return await signal("word", int)


@workflow
async def waits() -> None:
    await signal("never")


FAIL = (denied, late, tried, left, half, failed_apart, died_apart)


async def outcome(handle: Any) -> None:
    """Say how a run ended: the class of its error, and no more."""
    try:
        await handle.result(60)
        say(handle.id, "completed")
    except BaseException as error:  # noqa: BLE001 — `SystemExit` is one of them
        say(handle.id, type(error).__name__)


async def main(file: str) -> None:
    secrets: dict[str, str] = json.loads(sys.stdin.readline())
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0
    async with Perdure(file, options=Options(heartbeat_s=0.01)) as app:
        paying = await app.start(
            pays, secrets["input"], secrets, keyword=secrets["keyword"],
            id="pays", attrs={"who": secrets["attribute"]},
        )  # fmt: skip
        failing = [await app.start(each, secrets, id=each.name.split(":")[1]) for each in FAIL]
        number = await app.start(asked_for_a_number, id="number")
        await number.signal("word", secrets["wrong_signal"])
        ended = await app.start(waits, id="waits")
        await ended.cancel(secrets["reason"])
        await paying.signal("word", secrets["signal"], key=secrets["key"])
        for handle in (paying, *failing, number, ended):
            await outcome(handle)
        app.owner.node.stop(  # type: ignore[union-attr]
            app.owner.node.residents[(await app.start(waits, id="stopped")).rid],  # type: ignore[union-attr]
            ValueError(secrets["error"]),
            None,
        )
        say("done")
        sys.stdin.readline()


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    warnings.simplefilter("always")
    asyncio.run(main(*sys.argv[1:]))
