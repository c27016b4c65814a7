"""Signals that nobody has asked for yet, and flows that wait for one. First in, first out."""

from __future__ import annotations

from collections import deque
from typing import Any

from perdure.core.futures import Future
from perdure.errors import Stale, WrongFact
from perdure.limits import LIMITS


class Mailbox:
    """The messages of one run by name; a key that was seen is refused."""

    __slots__ = ("keys", "messages", "waiting")

    def __init__(self) -> None:
        self.messages: dict[str, deque[Any]] = {}
        self.waiting: dict[str, deque[Future]] = {}
        self.keys: dict[str, None] = {}

    def check(self, name: str, key: str | None) -> None:
        """Refuse a message that came before, or one too many."""
        if key is not None and key in self.keys:
            raise Stale(f"signal `{name}` with the key {key!r} was taken before")
        if len(self.messages.get(name, ())) >= LIMITS.mailbox_messages_max:
            raise WrongFact(
                f"{LIMITS.mailbox_messages_max:,} signals `{name}` wait in this run already",
                remedy="nobody takes them: look at what the workflow waits for",
            )

    def deliver(self, name: str, key: str | None, value: Any) -> None:
        """Hand a message to whoever waits longest, or keep it."""
        if key is not None:
            self.keys[key] = None
            if len(self.keys) > LIMITS.signal_keys_kept:
                del self.keys[next(iter(self.keys))]
        waiting = self.waiting.get(name)
        while waiting:
            future = waiting.popleft()
            if not future.done():
                future.set_result(value)
                return
        self.messages.setdefault(name, deque()).append(value)

    def put_back(self, name: str, value: Any) -> None:
        """Return a message whose taker was cancelled before it could look at it."""
        waiting = self.waiting.get(name)
        while waiting:
            future = waiting.popleft()
            if not future.done():
                future.set_result(value)
                return
        self.messages.setdefault(name, deque()).appendleft(value)

    def take(self, name: str, future: Future) -> None:
        """Settle `future` with the oldest message, now or when one comes."""
        messages = self.messages.get(name)
        if messages:
            future.set_result(messages.popleft())
            if not messages:
                del self.messages[name]
        else:
            self.waiting.setdefault(name, deque()).append(future)

    def leave(self, name: str, future: Future) -> None:
        """Stop waiting."""
        waiting = self.waiting.get(name)
        if waiting and future in waiting:
            waiting.remove(future)
        if not waiting:
            self.waiting.pop(name, None)
