"""Draws random programs that always end, to be run by asyncio and by Perdure.

Owns the grammar and the text it renders to; knows nothing of how a program is run or compared.
Every choice is one integer of Hypothesis, and 0 is the simplest, so that failures shrink.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

Lines = list[str]
"""A piece of a program: its lines, indented relative to the piece."""

SUPPORT = """\
import asyncio
import contextlib
import contextvars

from tests.differential.kit import act, boom, slow

_var = contextvars.ContextVar("_var", default=0)


class _Err(Exception):
    pass


class _Sub(_Err):
    def __init__(self, code, extra=0):
        super().__init__(code)
        self.extra = extra


class _Log:
    def append(self, told):
        print(told)


_KEPT = []


def _keep(generator):
    _KEPT.append(generator)
    return generator


def _why(e, depth=0):
    if e is None or depth > 4:
        return None
    told = [type(e).__name__, [arg for arg in e.args if isinstance(arg, (int, str))]]
    told.append([_why(each, depth + 1) for each in getattr(e, "exceptions", ())])
    # What a generator sees that an error closes is a known difference: see the reference schedule.
    context = None if type(e) is GeneratorExit else e.__context__
    told.append((e.__suppress_context__, _why(e.__cause__, depth + 1), _why(context, depth + 1)))
    return told


def _sum(*args, k=0, **rest):
    return (sum(args) + k * 2 + len(rest)) % 7


class _Cm:
    def __init__(self, log, name, swallow=()):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(("enter", self.name))
        return self.name

    def __exit__(self, kind, error, traceback):
        self.log.append(("exit", self.name, _why(error)))
        return kind is not None and issubclass(kind, self.swallow)


class _Acm:
    def __init__(self, log, name, swallow=()):
        self.log, self.name, self.swallow = log, name, swallow

    async def __aenter__(self):
        self.log.append(("aenter", self.name))
        return await act(self.name)

    async def __aexit__(self, kind, error, traceback):
        self.log.append(("aexit", self.name, _why(error)))
        await asyncio.sleep(self.name % 2 * 0.5)
        self.log.append(("aexited", self.name))
        return kind is not None and issubclass(kind, self.swallow)


class _Feed:
    def __init__(self, log, n):
        self.log, self.n = log, n

    def __aiter__(self):
        return self

    async def __anext__(self):
        self.n -= 1
        if self.n < 0:
            raise StopAsyncIteration
        return await slow(self.n, 0.5)


@contextlib.contextmanager
def _gcm(log, name):
    log.append(("begin", name))
    try:
        yield name
    except LookupError as e:
        log.append(("gcm", _why(e)))
    finally:
        log.append(("end", name))


@contextlib.asynccontextmanager
async def _agcm(log, name):
    log.append(("abegin", await act(name)))
    try:
        yield name
    except ValueError as e:
        log.append(("agcm", _why(e)))
        await act(name)
    finally:
        log.append(("aend", await slow(name, 0.5)))
"""
"""The text of a module that every program imports: what it needs and does not draw."""

SUPPORT_NAME = "generated_support"

PREAMBLE = f"""\
import asyncio
import contextlib

from {SUPPORT_NAME} import _Acm, _Cm, _Err, _Feed, _Log, _Sub, _agcm, _gcm, _keep, _sum, _var, _why
from tests.differential.kit import act, boom, slow

"""

WORLD = "log, lock, sem, ev, q, cond"
"""What all functions of a program share, handed on as `w`."""

MAKE_WORLD = (
    "_Log(), asyncio.Lock(), asyncio.Semaphore(2), asyncio.Event(), asyncio.Queue(2), "
    "asyncio.Condition()"
)

TIMES = ("1.0", "0.5", "2.0", "0.0", "1.0", "3.0", "1.5", "0.25")
"""Few, so that things happen at the same time; halves and quarters, so that sums are exact."""

ERRORS = ("ValueError", "KeyError", "_Err", "_Sub", "RuntimeError", "LookupError", "TimeoutError")

CAUGHT = (
    "Exception",
    "ValueError",
    "BaseException",
    "(KeyError, _Err)",
    "asyncio.CancelledError",
    "TimeoutError",
    "LookupError",
    "_Sub",
    "ExceptionGroup",
    "(asyncio.CancelledError, ValueError)",
)

INTS = [st.integers(0, most) for most in range(128)]


@dataclass
class Callee:
    """A coroutine function, or a function, of the program: how to call it and what that costs."""

    call: str
    cost: int
    locks: bool = False


@dataclass
class Scope:
    """What may be written at one place of a program."""

    is_async: bool = True
    yields: bool = False
    returns: bool = True
    ints: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    timeouts: list[str] = field(default_factory=list)
    generators: list[str] = field(default_factory=list)
    agens: list[str] = field(default_factory=list)
    coroutines: list[Callee] = field(default_factory=list)
    functions: list[Callee] = field(default_factory=list)
    makers: list[Callee] = field(default_factory=list)
    amakers: list[Callee] = field(default_factory=list)
    in_loop: bool = False
    error: str | None = None
    depth: int = 0
    own: list[str] = field(default_factory=list)

    def inner(self, **changes: Any) -> Scope:
        """Give the scope of a block: what it defines is not defined after it."""
        copies = {
            name: list(value) for name, value in vars(self).items() if isinstance(value, list)
        }
        return replace(self, **(copies | {"depth": self.depth + 1} | changes))


def block(head: str, body: Lines) -> Lines:
    """Give a compound statement."""
    return [head, *(f"    {line}" for line in body or ["pass"])]


class Grammar:
    """Writes one program, asking `choose` for an integer below a bound at every choice."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        self.n = choose
        self.names = 0
        self.spent = 0
        self.times = 1
        self.most = 0
        self.locks = False
        self.statements = 0

    # --- choosing

    def one(self, options: Any) -> Any:
        """Choose; the first is the simplest."""
        return options[self.n(len(options))] if len(options) > 1 else options[0]

    def odds(self, of: int) -> bool:
        """Be true once in `of`, and false when shrunk."""
        return self.n(of) == of - 1

    def name(self, prefix: str) -> str:
        """Give a name that the program does not have yet."""
        self.names += 1
        return f"{prefix}{self.names}"

    def may(self, cost: int = 1) -> bool:
        """Whether the program may wait so many times more often here; if so, it will."""
        if self.spent + self.times * cost > self.most:
            return False
        self.spent += self.times * cost
        return True

    @contextmanager
    def repeated(self, times: int) -> Iterator[None]:
        """Count what is written meanwhile as happening so many times."""
        before, self.times = self.times, self.times * times
        yield
        self.times = before

    @contextmanager
    def function(self, most: int) -> Iterator[Callable[[], int]]:
        """Count what is written meanwhile apart: it costs where it is called."""
        before = self.spent, self.times, self.most, self.locks
        self.spent, self.times, self.most, self.locks = 0, 1, most, False
        cost = [0]
        yield lambda: cost[0]
        cost[0] = max(1, self.spent)
        self.spent, self.times, self.most, self.locks = before

    # --- expressions: all are of type int or bool, unless they raise

    def value(self, s: Scope, depth: int = 0) -> str:
        """Write an expression."""
        if depth > 2 or not self.n(3):
            return self.simple(s)
        table = VALUES_ASYNC if s.is_async else VALUES
        return self.one(table)(self, s, depth + 1)

    def simple(self, s: Scope) -> str:
        if s.ints and self.n(3):
            return self.one(s.ints)
        return str(self.n(6))

    def arithmetic(self, s: Scope, depth: int) -> str:
        left, right = self.value(s, depth), self.value(s, depth)
        return f"({left} {self.one(('+', '-', '*', '|', '^'))} {right})"

    def remainder(self, s: Scope, depth: int) -> str:
        return f"({self.value(s, depth)} {self.one(('%', '//'))} {self.value(s, depth)})"

    def compared(self, s: Scope, depth: int) -> str:
        parts = [
            self.value(s, depth),
            self.one(("<", "==", ">=", "!=", "is not")),
            self.value(s, depth),
        ]
        if self.odds(3):
            parts += [self.one(("<=", ">")), self.value(s, depth)]
        return (
            f"({' '.join(parts)})" if "is not" not in parts else f"({parts[0]} in ({parts[2]}, 1))"
        )

    def short(self, s: Scope, depth: int) -> str:
        return f"({self.value(s, depth)} {self.one(('and', 'or'))} {self.value(s, depth)})"

    def inverse(self, s: Scope, depth: int) -> str:
        return f"(not {self.value(s, depth)})"

    def conditional(self, s: Scope, depth: int) -> str:
        return f"({self.value(s, depth)} if {self.value(s, depth)} else {self.value(s, depth)})"

    def walrus(self, s: Scope, depth: int) -> str:
        if not s.own:
            return self.simple(s)
        return f"({self.one(s.own)} := {self.value(s, depth)} % 7)"

    def length(self, s: Scope, depth: int) -> str:
        kind = self.n(3)
        if kind == 0:
            return f"len({self.one(s.lists)})"
        elements = f"{self.value(s, depth)}, {self.value(s, depth)}"
        return f"len({{{elements}}})" if kind == 1 else f"len({self.formatted(s)})"

    def formatted(self, s: Scope) -> str:
        """Write an f-string, whose fields have no quotes: they may not, before Python 3.12."""
        fields = [self.value(s, 2) for _ in range(2)]
        first, second = (self.simple(s) if '"' in each or "'" in each else each for each in fields)
        return f'f"{{{first}}}:{{{second}!r:>{2 + self.n(3)}}}"'

    def item(self, s: Scope, depth: int) -> str:
        if self.odds(3):
            return f"d.get({self.value(s, depth)}, {self.value(s, depth)})"
        return f"{self.one(s.lists)}[{self.value(s, depth)}]"

    def starred(self, s: Scope, depth: int) -> str:
        first, second, third = (self.value(s, depth) for _ in range(3))
        return self.one(
            (
                f"_sum({first}, *[{second}, {third}])",
                f"_sum(*{self.one(s.lists)}[:2], {first}, k={second}, **{{'x': {third}}})",
                f"max({first}, *({second}, {third}))",
            )
        )

    def comprehension(self, s: Scope, depth: int) -> str:
        name = self.name("x")
        with self.repeated(3):
            inside = s.inner(ints=[*s.ints, name], own=[])
            of = f"{self.one(s.lists)}[:3]" if self.n(2) else "range(3)"
            element = self.value(inside, depth)
            clause = f"for {name} in {of}"
            if self.odds(3):
                clause += f" if {self.value(inside, depth)}"
        kind = self.n(4)
        if kind == 1:
            return f"len({{{element} {clause}}})"
        if kind == 2:
            return f"len({{{name}: {element} {clause}}})"
        if kind == 3 and "await" not in f"{element}{clause}":
            return f"sum({element} {clause})"
        return f"sum([{element} {clause}])"

    def applied(self, s: Scope, depth: int) -> str:
        name = self.name("x")
        inside = s.inner(ints=[*s.ints, name], own=[], is_async=False)
        body = self.value(inside, depth)
        return f"(lambda {name}, y={self.value(s, depth)}: {body} + y)({self.value(s, depth)})"

    def called(self, s: Scope, depth: int) -> str:
        if not s.functions:
            return self.simple(s)
        return self.one(s.functions).call.format(self.value(s, depth))

    def advanced(self, s: Scope, depth: int) -> str:
        if not s.generators:
            return self.simple(s)
        return f"next({self.one(s.generators)}, {self.value(s, depth)})"

    def state(self, s: Scope, depth: int) -> str:
        options = ["_var.get()", "ev.is_set()", "lock.locked()", "q.qsize()", "sem.locked()"]
        options += [f"{task}.done()" for task in s.tasks]
        options += [f"{task}.cancelling()" for task in s.tasks if task.startswith("t")]
        options += [f"{each}.expired()" for each in s.timeouts]
        options += (
            ["len(asyncio.all_tasks())", "asyncio.current_task().cancelling()"]
            if s.is_async and s.own[:1] == ["a"]  # not while generators are closed at the end
            else []
        )
        return self.one(options)

    def awaited(self, s: Scope, depth: int) -> str:
        if not self.may():
            return self.simple(s)
        return f"(await {self.cheap(s, depth)})"

    def cheap(self, s: Scope, depth: int) -> str:
        """Write an awaitable that suspends at most once."""
        kind = self.n(5)
        if kind == 0:
            return f"act({self.value(s, depth)})"
        if kind < 3:
            return f"slow({self.value(s, depth)}, {self.one(TIMES)})"
        if kind == 3:
            return f"asyncio.sleep(0, {self.value(s, depth)})"
        return f"asyncio.sleep({self.one(TIMES)}, {self.value(s, depth)})"

    def awaited_call(self, s: Scope, depth: int) -> str:
        callee = self.callee(s)
        return self.awaited(s, depth) if callee is None else f"(await {callee})"

    def callee(self, s: Scope) -> str | None:
        """Write a call of a coroutine function of the program, if one may be called here."""
        usable = [each for each in s.coroutines if not (self.locks and each.locks)]
        if not usable:
            return None
        callee = self.one(usable)
        return callee.call.format(self.value(s, 2)) if self.may(callee.cost) else None

    def awaited_next(self, s: Scope, depth: int) -> str:
        if not s.agens or not self.may(2):
            return self.awaited(s, depth)
        return f"(await anext({self.one(s.agens)}, {self.value(s, depth)}))"

    def awaited_gather(self, s: Scope, depth: int) -> str:
        if not self.may():
            return self.simple(s)
        return f"sum(await asyncio.gather({self.cheap(s, depth)}, {self.cheap(s, depth)}))"

    # --- awaitables

    def coroutine(self, s: Scope) -> str:
        """Write an awaitable that makes a task of its own."""
        kind = self.n(8)
        if kind < 3:
            called = self.callee(s)
            if called is not None:
                return called
        self.may()
        if kind == 3:
            return f"boom({self.error(s)}, {self.one(TIMES)})"
        if kind == 4:
            waits = ["ev.wait()", "q.get()", f"q.put({self.value(s, 2)})", "lock.acquire()"]
            if s.agens:
                waits.append(f"anext({self.one(s.agens)}, 5)")
            return self.wrapped(self.one(waits))
        return self.cheap(s, 2)

    def wrapped(self, awaitable: str) -> str:
        return f"asyncio.wait_for({awaitable}, {self.one(TIMES)})"

    def error(self, s: Scope) -> str:
        name = self.one(ERRORS)
        extra = ", extra=1" if name == "_Sub" and self.odds(2) else ""
        return f"{name}({self.value(s, 2)}{extra})"

    def awaitable(self, s: Scope) -> str:
        """Write something that can be given to `gather` and the like: a coroutine or a task."""
        if s.tasks and self.odds(3):
            task = self.one(s.tasks)
            return f"asyncio.shield({task})" if self.odds(3) else task
        return self.coroutine(s)

    # --- statements

    def body(self, s: Scope, most: int = 3) -> Lines:
        """Write the statements of a block."""
        written: Lines = []
        for number in range(most):
            if number and not self.n(3):
                break
            written += self.statement(s)
        return written

    def inner(self, s: Scope, most: int = 3, **changes: Any) -> Lines:
        """Write an inner block, which sometimes jumps away at its end."""
        inside = s.inner(**changes)
        written = self.body(inside, most)
        if self.odds(7):
            written += self.jump(inside)
        return written

    def statement(self, s: Scope) -> Lines:
        """Write one statement."""
        self.statements += 1
        if s.depth > 2 or self.statements > 16 or not self.n(6):
            return self.note(s)
        table = STATEMENTS_ASYNC if s.is_async else STATEMENTS
        return self.one(table)(self, s)

    def note(self, s: Scope) -> Lines:
        kind = self.n(6)
        if kind < 3:
            return [f"log.append({self.value(s)})"]
        if kind == 3:
            return [f"log.append({self.formatted(s)})"]
        if kind == 4:
            return [f"log.append((asyncio.get_running_loop().time(), {self.value(s)}))"]
        return [f'print("{self.name("p")}", {self.value(s)}, {self.value(s)})']

    def assign(self, s: Scope) -> Lines:
        if not s.own:
            return self.note(s)
        target, other = self.one(s.own), self.one(s.own)
        xs = self.one(s.lists)
        kind = self.n(10)
        if kind == 0:
            return [f"{target} = {self.value(s)} % 7"]
        if kind == 1:
            return [f"{target} {self.one(('+=', '-=', '*='))} {self.value(s)} % 5"]
        if kind == 2:
            return [f"{xs}[{self.value(s, 1)}] = {self.value(s)}"]
        if kind == 3:
            return [f"{xs}[{self.value(s, 1)} % 3] += {self.value(s)} % 5"]
        if kind == 4:
            return [f"d[{self.value(s, 1)}] = {self.value(s)}"]
        if kind == 5:
            first, second = self.value(s, 1), self.value(s, 1)
            return [f"{target}, *{xs} = [{first}, {second}, *{xs}[:2], {self.value(s)}]"]
        if kind == 6:
            return [f"{target}, {other} = {self.value(s)}, {self.value(s)}"]
        if kind == 7:
            return [f"{target} = {xs}[{self.value(s, 2)}] = {self.value(s)} % 7"]
        if kind == 8:
            first, second = self.value(s, 1), self.value(s, 1)
            return [f"({target}, (*{xs}, {other})) = {first}, ({second}, 2, {self.value(s)})"]
        return [f"{xs}.append({self.value(s)})"]

    def branch(self, s: Scope) -> Lines:
        lines = block(f"if {self.value(s)}:", self.inner(s))
        if self.odds(3):
            lines += block(f"elif {self.value(s)}:", self.inner(s))
        if self.n(2):
            lines += block("else:", self.inner(s))
        return lines

    def loop_for(self, s: Scope) -> Lines:
        name = self.name("i")
        kind = self.n(4)
        heads = (
            f"for {name} in range({2 + self.n(2)}):",
            f"for {name} in {self.one(s.lists)}[:3]:",
            f"for {name}, {name}b in enumerate({self.one(s.lists)}[:2]):",
            f"for {name}, *{name}b in [(1, 2), (3, {self.value(s, 2)}, 4)]:",
        )
        with self.repeated(3):
            body = self.inner(s, in_loop=True, ints=[*s.ints, name])
        lines = block(heads[kind], body)
        if self.odds(3):
            lines += block("else:", self.inner(s, 2))
        return lines

    def loop_while(self, s: Scope) -> Lines:
        name = self.name("k")
        with self.repeated(3):
            condition = self.value(s, 1)
            body = self.inner(s, in_loop=True, ints=[*s.ints, name])
        head = (
            f"while {name} < 3 and {condition}:"
            if self.n(2)
            else f"while ({name} := {name} + 1) < 3:"
        )
        step = [f"{name} += 1"] if ":=" not in head or "< 3 and" in head else []
        lines = [f"{name} = 0", *block(head, step + body)]
        if self.odds(3):
            lines += block("else:", self.inner(s, 2))
        return lines

    def attempt(self, s: Scope) -> Lines:
        """Write a `try` with any of its clauses, each of which may wait and may jump away."""
        body = self.inner(s)
        if self.odds(3):
            body += self.failure(s)
        lines = block("try:", body)
        handled = self.n(5)
        if handled:
            for _ in range(1 + self.odds(3)):
                lines += self.handler(s)
            if self.odds(3):
                lines += block("else:", self.inner(s, 2))
        if not handled or self.odds(2):
            lines += block("finally:", self.inner(s, 2))
        return lines

    def handler(self, s: Scope, star: str = "") -> Lines:
        name = self.name("e")
        caught = self.one(CAUGHT)
        if star:
            caught = self.one(("Exception", "ValueError", "(KeyError, _Err)", "LookupError"))
            inside = s.inner(error=name, in_loop=False, returns=False, yields=False)
        else:
            inside = s.inner(error=name)
        told = [f"log.append(_why({name}))"] if self.n(4) else []
        body = told + self.body(inside, 2)
        if self.odds(4) and not star:
            body += self.jump(inside)
        return block(f"except{star} {caught} as {name}:", body)

    def attempt_group(self, s: Scope) -> Lines:
        body = self.inner(s, 2)
        if self.odds(2):
            body += [f"raise ExceptionGroup('g', [{self.error(s)}, {self.error(s)}])"]
        lines = block("try:", body) + self.handler(s, "*")
        return lines + block("finally:", self.inner(s, 2)) if self.odds(3) else lines

    def escape(self, s: Scope) -> Lines:
        """Write a loop whose `finally` jumps away, whatever was raised or returned before it."""
        name = self.name("i")
        inside = s.inner(in_loop=True, ints=[*s.ints, name])
        with self.repeated(3):
            body = self.inner(inside, 2)
            if self.n(3):
                body += self.jump(inside)
            last = self.inner(inside, 1)
            jumps = ["break", "continue"]
            if s.returns:
                jumps.append("return" if s.yields else f"return {self.value(inside, 1)}")
            jump = [self.one(jumps)]
            last += block(f"if {self.value(inside, 1)}:", jump) if self.odds(3) else jump
        return block(f"for {name} in range(3):", block("try:", body) + block("finally:", last))

    def failure(self, s: Scope) -> Lines:
        """Write something that fails."""
        if s.is_async and self.n(2) and self.may():
            return [f"await boom({self.error(s)}, {self.one(TIMES)})"]
        return [f"raise {self.error(s)}"]

    def jump(self, s: Scope) -> Lines:
        """Leave the block."""
        options = []
        if s.in_loop:
            options += ["break", "continue"]
        if s.error is not None:
            options += [
                "raise",
                f"raise {self.error(s)} from {s.error}",
                f"raise {self.error(s)} from None",
            ]
        options.append(f"raise {self.error(s)}")
        if s.returns:
            options.append("return" if s.yields else f"return {self.value(s, 1)}")
        return [self.one(options)]

    def asserted(self, s: Scope) -> Lines:
        text = [f"assert {self.value(s)} != {self.value(s, 2)}, {self.value(s, 2)}"]
        return text if self.odds(3) else self.guarded(text)

    def guarded(self, lines: Lines) -> Lines:
        """Have what fails in `lines` told, and go on."""
        name = self.name("e")
        return block("try:", lines) + block(
            f"except {self.one(('Exception', 'BaseException'))} as {name}:",
            [f"log.append(_why({name}))"],
        )

    def define(self, s: Scope) -> Lines:
        """Write a function inside of the function."""
        name = self.name("f")
        is_async = s.is_async and self.n(4) != 0
        shared = [each for each in s.own if self.odds(2)]
        with self.function(max(2, (self.most - self.spent) // (3 * self.times))) as cost:
            inside = self.function_scope(s, shared, is_async=is_async)
            body = [f"nonlocal {', '.join(shared)}"] if shared else []
            body += ["v = n", *self.body(inside, 3), f"return {self.value(inside, 1)}"]
            locks = self.locks_used(body)
        callee = Callee(f"{name}({{}})", cost(), locks)
        (s.coroutines if is_async else s.functions).append(callee)
        return block(f"{'async ' if is_async else ''}def {name}(n):", body)

    def locks_used(self, body: Lines) -> bool:
        return any("lock:" in line or "cond:" in line for line in body)

    def function_scope(self, s: Scope, shared: list[str], **changes: Any) -> Scope:
        return Scope(
            ints=["n", "v", *s.ints],
            lists=list(s.lists),
            coroutines=list(s.coroutines),
            functions=list(s.functions),
            depth=s.depth + 1,
            own=["v", *shared],
            **changes,
        )

    def keep_lambda(self, s: Scope) -> Lines:
        name = self.name("f")
        inside = s.inner(ints=["z", *s.ints], own=[], is_async=False)
        default, result = self.value(s, 2), self.value(inside, 1)
        lines = [f"{name} = lambda z, *rest, y={default}: ({result}) + y + len(rest)"]
        s.functions.append(Callee(f"{name}({{}}, 1)", 0))
        return lines

    def matched(self, s: Scope) -> Lines:
        name = self.name("m")
        subject = self.one(
            (
                f"{self.value(s)}",
                f"[{self.value(s, 1)}, *{self.one(s.lists)}[:2]]",
                f"{{'k': {self.value(s, 1)}, 'l': {self.value(s, 2)}}}",
                f"({self.value(s, 1)}, {self.value(s, 2)})",
            )
        )
        known = s.inner(ints=[*s.ints, name])
        cases = [
            block("case 0 | 1:", self.inner(s, 2)),
            block(f"case [{name}, *_] if {self.value(known, 1)}:", self.inner(known, 2)),
            block(f"case {{'k': {name}, **{name}r}}:", self.inner(known, 2)),
            block(f"case int({name}):", self.inner(known, 2)),
            block(f"case (0, {name}) | ({name}, 1):", self.inner(known, 2)),
        ]
        chosen = [each for each in cases if self.n(2)]
        chosen.append(block("case _:", self.inner(s, 2)))
        return block(f"match {subject}:", [line for each in chosen for line in each])

    def with_block(self, s: Scope) -> Lines:
        name = self.name("c")
        managers = [
            f"_Cm(log, {self.value(s, 2)})",
            f"_Cm(log, {self.value(s, 2)}, {self.one(ERRORS)})",
            f"_gcm(log, {self.value(s, 2)})",
            f"contextlib.suppress({self.one(ERRORS)})",
        ]
        first = self.one(managers)
        if self.odds(3):
            first += f", {self.one(managers[:3])}"
        body = self.inner(
            s,
            ints=[*s.ints, name]
            if first.startswith(("_Cm", "_gcm")) and ", _" not in first
            else s.ints,
        )
        if self.odds(3):
            body += self.failure(s)
        return block(f"with {first} as {name}:", body)

    def async_with(self, s: Scope) -> Lines:
        if not self.may(3):
            return self.with_block(s)
        name = self.name("c")
        managers = [
            f"_Acm(log, {self.value(s, 2)})",
            f"_Acm(log, {self.value(s, 2)}, {self.one(ERRORS)})",
            f"_Acm(log, {self.value(s, 2)}, asyncio.CancelledError)",
            f"_agcm(log, {self.value(s, 2)})",
        ]
        first = self.one(managers)
        body = self.inner(s, ints=[*s.ints, name])
        if self.odds(3):
            body += self.failure(s)
        return block(f"async with {first} as {name}:", body)

    # --- generators

    def generator(self, s: Scope) -> Lines:
        """Define a generator, and keep one that is alive."""
        name, kept = self.name("g"), self.name("y")
        shared = [each for each in s.own if self.odds(3)]
        with self.function(0):
            inside = self.function_scope(s, shared, is_async=False, yields=True, in_loop=True)
            inside.own.append("got")
            yielding = [f"got = (yield {self.value(inside, 1)}) or 0", *self.body(inside, 1)]
            loop = block("for i in range(3):", ["v += i", *yielding])
            body = [f"nonlocal {', '.join(shared)}"] if shared else []
            body += ["v = got = n", *self.around(loop, inside)]
            if self.odds(3):
                body += ["yield from (v, n)"]
        lines = block(f"def {name}(n):", body)
        lines.append(f"{kept} = _keep({name}({self.value(s, 2)}))")
        s.generators.append(kept)
        s.makers.append(Callee(f"{name}({{}})", 0))
        return lines

    def around(self, loop: Lines, inside: Scope) -> Lines:
        """Put a `try` around the loop of a generator, or not."""
        kind = self.n(3)
        if kind == 0:
            return loop
        lines = block("try:", loop)
        if kind == 2:
            lines += self.handler(inside.inner(in_loop=False))
        outside = inside.inner(in_loop=False, returns=False)
        return lines + block("finally:", ['log.append(("closed", v))', *self.body(outside, 1)])

    def drive(self, s: Scope) -> Lines:
        """Do something with a generator that is alive."""
        if not s.generators:
            return [*self.generator(s), *self.drive(s), *self.drive(s)]
        name = self.one(s.generators)
        kind = self.n(6)
        if kind == 0:
            return [f"log.append(next({name}, None))"]
        if kind == 1:
            return self.guarded([f"log.append({name}.send({self.value(s, 2)}))"])
        if kind == 2:
            return self.guarded([f"{name}.close()"])
        if kind == 3:
            return self.guarded([f"log.append({name}.throw({self.error(s)}))"])
        item = self.name("i")
        with self.repeated(4):
            body = self.inner(s, in_loop=True, ints=[*s.ints, item])
        of = self.one(s.makers).call.format(self.value(s, 2)) if kind == 5 else name
        return block(f"for {item} in {of}:", body)

    def agenerator(self, s: Scope) -> Lines:
        """Define an asynchronous generator, and keep one that is alive."""
        name, kept = self.name("ag"), self.name("ay")
        shared = [each for each in s.own if self.odds(3)]
        with self.function(max(3, (self.most - self.spent) // (2 * self.times))) as cost:
            inside = self.function_scope(s, shared, yields=True, in_loop=True)
            inside.own.append("got")
            with self.repeated(3):
                yielding = [f"got = (yield {self.value(inside)}) or 0", *self.body(inside, 2)]
            loop = block("for i in range(3):", ["v += i", *yielding])
            body = [f"nonlocal {', '.join(shared)}"] if shared else []
            body += ["v = got = n", *self.around(loop, inside)]
        lines = block(f"async def {name}(n):", body)
        lines.append(f"{kept} = _keep({name}({self.value(s, 2)}))")
        s.agens.append(kept)
        s.amakers.append(Callee(f"{name}({{}})", cost(), self.locks_used(body)))
        return lines

    def drive_async(self, s: Scope) -> Lines:
        """Do something with an asynchronous generator that is alive."""
        kind = self.n(7)
        if kind == 0 or (s.agens and kind < 5 and not self.may(3)):
            return self.feed(s)
        if not s.agens:
            return [*self.agenerator(s), *self.drive_async(s), *self.drive_async(s)]
        name = self.one(s.agens)
        if kind == 1:
            return [f"log.append(await anext({name}, None))"]
        if kind == 2:
            return self.guarded(
                [f"log.append(await {name}.asend({self.one(('None', self.value(s, 2)))}))"]
            )
        if kind == 3:
            return self.guarded([f"await {name}.aclose()"])
        if kind == 4:
            return self.guarded([f"log.append(await {name}.athrow({self.error(s)}))"])
        item = self.name("i")
        maker = self.one(s.amakers) if kind == 6 and s.amakers else None
        if not self.may(4 if maker is None else maker.cost):
            return self.note(s)
        of = name if maker is None else maker.call.format(self.value(s, 2))
        with self.repeated(3):
            body = self.inner(s, in_loop=True, ints=[*s.ints, item])
        lines = block(f"async for {item} in {of}:", body)
        return lines + block("else:", self.inner(s, 1)) if self.odds(3) else lines

    def feed(self, s: Scope) -> Lines:
        if not self.may(3):
            return self.note(s)
        item = self.name("i")
        if self.odds(3):
            inside = s.inner(ints=[*s.ints, item], own=[])
            told, test = self.value(inside, 2), self.value(inside, 2)
            return [f"log.append([{told} async for {item} in _Feed(log, 2) if {test}])"]
        with self.repeated(2):
            body = self.inner(s, in_loop=True, ints=[*s.ints, item])
        lines = block(f"async for {item} in _Feed(log, 2):", body)
        return lines + block("else:", self.inner(s, 1)) if self.odds(3) else lines

    # --- concurrency

    def gather(self, s: Scope) -> Lines:
        parts = [self.awaitable(s) for _ in range(1 + self.n(3))]
        if self.odds(2):
            parts.append("return_exceptions=True")
            got = self.name("r")
            lines = [f"{got} = await asyncio.gather({', '.join(parts)})"]
            lines.append(
                f"log.append([_why(x) if isinstance(x, BaseException) else x for x in {got}])"
            )
            return lines
        lines = [f"log.append(await asyncio.gather({', '.join(parts)}))"]
        return self.guarded(lines) if self.n(3) else lines

    def start(self, s: Scope) -> Lines:
        name = self.name("t")
        lines = [f"{name} = asyncio.create_task({self.coroutine(s)})"]
        s.tasks.append(name)
        return lines

    def watched(self, s: Scope) -> Lines:
        """Have something told when a task is done."""
        lines = [] if s.tasks else self.start(s)
        name = self.one(s.tasks)
        what = self.one(
            (
                "t.cancelled()",
                "t.cancelled() or _why(t.exception())",
                "asyncio.get_running_loop().time()",
            )
        )
        lines.append(f"{name}.add_done_callback(lambda t: log.append(({name!r}, {what})))")
        return lines

    def with_task(self, s: Scope) -> Lines:
        """Do something with a task."""
        if not s.tasks:
            return self.start(s)
        name = self.one(s.tasks)
        kind = self.n(8)
        if kind == 0:
            return self.guarded([f"log.append(await {name})"])
        if kind == 1:
            return [f"{name}.cancel({self.one(('', repr(self.name('why'))))})"]
        if kind == 2:
            return (
                self.guarded([f"log.append(await {name})"])
                if self.n(3)
                else [f"log.append(await {name})"]
            )
        if kind == 3:
            return self.watched(s)
        if kind == 4:
            return self.guarded([f"log.append(await asyncio.shield({name}))"])
        if kind == 5:
            return self.guarded([f"log.append(await asyncio.wait_for({name}, {self.one(TIMES)}))"])
        if kind == 6:
            return [f"{name}.cancel()", *self.guarded([f"log.append(await {name})"])]
        return self.guarded([f"log.append({name}.result())"])

    def task_group(self, s: Scope) -> Lines:
        group = self.name("tg")
        inside = s.inner(groups=[*s.groups, group], returns=s.returns)
        body = self.spawn(inside)
        for _ in range(1 + self.n(3)):
            body += self.spawn(inside) if self.n(2) else self.statement(inside)
        if self.odds(4):
            body += self.failure(s)
        lines = block(f"async with asyncio.TaskGroup() as {group}:", body)
        if not self.n(4):
            return lines
        if self.odds(4):
            return block("try:", lines) + self.handler(s, "*")
        return self.guarded(lines)

    def spawn(self, s: Scope) -> Lines:
        if not s.groups:
            return self.start(s)
        name = self.name("t")
        lines = [f"{name} = {self.one(s.groups)}.create_task({self.coroutine(s)})"]
        s.tasks.append(name)
        return lines

    def timeout(self, s: Scope) -> Lines:
        name = self.name("tm")
        inside = s.inner(timeouts=[*s.timeouts, name])
        body = self.body(inside, 3)
        head = f"async with asyncio.timeout({self.one((*TIMES, 'None'))}) as {name}:"
        if self.odds(4):
            body.append(f"{name}.reschedule(asyncio.get_running_loop().time() + {self.one(TIMES)})")
            body += self.body(inside, 2)
        lines = block(head, body)
        lines = self.guarded(lines) if self.n(4) else lines
        return [*lines, f"log.append({name}.expired())"] if self.odds(3) else lines

    def wait_for(self, s: Scope) -> Lines:
        lines = [
            f"log.append(await asyncio.wait_for({self.awaitable(s)}, {self.one((*TIMES, 'None'))}))"
        ]
        return self.guarded(lines) if self.n(4) else lines

    def wait(self, s: Scope) -> Lines:
        names = [self.name("t") for _ in range(1 + self.n(3))]
        lines = [f"{name} = asyncio.create_task({self.coroutine(s)})" for name in names]
        s.tasks += names
        options = ""
        if self.n(2):
            options += f", timeout={self.one(TIMES)}"
        if self.n(3):
            until = self.one(("FIRST_COMPLETED", "FIRST_EXCEPTION", "ALL_COMPLETED"))
            options += f", return_when=asyncio.{until}"
        given = ", ".join([*names, *([self.one(s.tasks)] if self.odds(3) else [])])
        done = self.name("r")
        lines.append(f"{done}, {done}p = await asyncio.wait([{given}]{options})")
        lines.append(f"log.append([t in {done} for t in ({', '.join(names)},)])")
        if self.odds(2):
            lines += block(
                f"for t in ({', '.join(names)},):", [f"if t in {done}p:", "    t.cancel()"]
            )
        return lines

    def as_completed(self, s: Scope) -> Lines:
        # In 3.11 and 3.12 it takes tasks that are done already in the order of their addresses.
        at_once = s.inner(is_async=False)
        parts = [self.coroutine(at_once) for _ in range(1 + self.n(3))]
        if sys.version_info < (3, 13) or self.n(2):
            parts = [f"asyncio.create_task({each})" for each in parts]
        options = f", timeout={self.one(TIMES)}" if self.odds(3) else ""
        item = self.name("r")
        body = (
            self.guarded([f"log.append(await {item})"])
            if self.n(3)
            else [f"log.append(await {item})"]
        )
        if self.odds(3):
            with self.repeated(2):
                body += self.inner(s, 1, in_loop=True)
        given = f"asyncio.as_completed([{', '.join(parts)}]{options})"
        if sys.version_info >= (3, 13) and self.odds(3):
            return block(f"async for {item} in {given}:", body)
        return block(f"for {item} in {given}:", body)

    def shielded(self, s: Scope) -> Lines:
        inner = f"asyncio.shield({self.awaitable(s)})"
        if self.n(2):
            inner = f"asyncio.wait_for({inner}, {self.one(TIMES)})"
        return self.guarded([f"log.append(await {inner})"])

    def sleep(self, s: Scope) -> Lines:
        if not self.may():
            return self.note(s)
        return [f"await asyncio.sleep({self.one(('0', *TIMES))})"]

    def wait_now(self, s: Scope) -> Lines:
        if not self.may():
            return self.note(s)
        return [f"await {self.cheap(s, 1)}"]

    def locked(self, s: Scope) -> Lines:
        if self.locks:
            return self.wait_now(s)
        kind = self.n(3)
        if kind == 0:
            self.locks = True
            body = self.inner(s)
            self.locks = False
            return block("async with lock:", body)
        if kind == 1:
            self.locks = True
            wait = self.one(("cond.wait()", "cond.wait_for(lambda: ev.is_set())"))
            body = self.inner(s, 2)
            body += (
                self.guarded([f"log.append(await {self.wrapped(wait)})"])
                if self.n(2)
                else ["cond.notify_all()"]
            )
            self.locks = False
            return block("async with cond:", body)
        return block("async with sem:", self.inner(s))

    def semaphore(self, s: Scope) -> Lines:
        body = self.inner(s)
        return block("async with sem:", body)

    def event(self, s: Scope) -> Lines:
        kind = self.n(4)
        if kind == 0:
            return ["ev.set()"]
        if kind == 1:
            return ["ev.clear()"]
        return self.guarded([f"log.append(await {self.wrapped('ev.wait()')})"])

    def queue(self, s: Scope) -> Lines:
        kind = self.n(6)
        if kind == 0:
            return self.guarded([f"q.put_nowait({self.value(s, 2)})"])
        if kind == 1:
            return self.guarded(["log.append(q.get_nowait())"])
        if kind == 2:
            return self.guarded([f"await {self.wrapped(f'q.put({self.value(s, 2)})')}"])
        if kind == 3:
            return self.guarded(["q.task_done()"])
        if kind == 4:
            return self.guarded([f"await {self.wrapped('q.join()')}"])
        return self.guarded([f"log.append(await {self.wrapped('q.get()')})"])

    def future(self, s: Scope) -> Lines:
        name = self.name("u")
        value = self.value(s, 2)
        lines = [f"{name} = asyncio.get_running_loop().create_future()"]
        settle = self.one(
            (
                f"{name}.set_result, {value}",
                f"{name}.set_exception, ValueError({value})",
                f"{name}.cancel",
            )
        )
        lines.append(f"asyncio.get_running_loop().call_later({self.one(TIMES)}, {settle})")
        s.tasks.append(name)
        self.may()
        return lines if self.odds(3) else lines + self.guarded([f"log.append(await {name})"])

    def cleaned(self, s: Scope) -> Lines:
        """Start a task that waits while it is cancelled, and cancel it."""
        name, task = self.name("f"), self.name("t")
        self.may(3)
        inside = self.function_scope(s, [])
        body = block("try:", [f"v = await {self.cheap(inside, 2)}", *self.body(inside, 1)])
        if self.odds(2):
            body += self.handler(inside)
        body += block(
            "finally:", [f"log.append(await {self.cheap(inside, 2)})", *self.body(inside, 1)]
        )
        lines = block(f"async def {name}(n):", ["v = n", *body, "return v"])
        lines.append(f"{task} = asyncio.create_task({name}({self.value(s, 2)}))")
        s.tasks.append(task)
        if self.n(3):
            lines.append(f"await asyncio.sleep({self.one(('0', *TIMES))})")
        lines.append(f"{task}.cancel()")
        if self.odds(3):
            lines += ["await asyncio.sleep(0)", f"{task}.cancel('again')"]
        return lines + self.guarded([f"log.append(await {task})"]) if self.n(3) else lines

    def context(self, s: Scope) -> Lines:
        return [f"_var.set({self.value(s, 1)})"]

    # --- the program

    def helper(self, number: int, before: list[Callee]) -> tuple[Lines, Callee]:
        """Write `_h<number>`, which calls helpers before it, and itself."""
        name = f"_h{number}"
        with self.function(10) as cost:
            scope = Scope(ints=["n", "v"], lists=["xs"], coroutines=list(before), own=["v"])
            body = self.body(scope, 4)
            if self.odds(3):
                body += ["if n > 0:", f"    v = await {name}(w, n - 1)"]
                self.spent *= 3
            body += [f"return {self.value(scope, 1)}"]
        head = [f"{WORLD} = w", "v = n", "xs = [n, 1, 2]", "d = {}"]
        callee = Callee(f"{name}(w, {{}} % 3)", cost(), self.locks_used(body))
        return block(f"async def {name}(w, n):", head + body), callee

    def program(self) -> str:
        """Write the text of a module with one program."""
        text: Lines = []
        helpers: list[Callee] = []
        for number in range(self.n(4)):
            lines, callee = self.helper(number, helpers)
            text += [*lines, "", ""]
            helpers.append(callee)
        self.most, self.statements = 60, 0
        scope = Scope(ints=["a", "b", "c"], lists=["xs"], coroutines=helpers, own=["a", "b", "c"])
        body = [f"w = {WORLD} = {MAKE_WORLD}", "a, b, c = 1, 2, 3", "xs = [0, 1, 2]", "d = {1: 2}"]
        for number in range(8):
            if number and not self.n(6):
                break
            lines = self.statement(scope)
            body += lines if self.n(4) else self.guarded(self.inner(scope))
        body.append("return [a, b, c, xs, list(d.items()), q.qsize()]")
        return PREAMBLE + "\n".join(["", *text, *block("async def program():", body), ""])


def _table(*parts: tuple[int, Callable[..., Any]]) -> list[Callable[..., Any]]:
    return [part for weight, part in parts for _ in range(weight)]


_INLINE = (
    (3, Grammar.arithmetic),
    (1, Grammar.remainder),
    (2, Grammar.compared),
    (2, Grammar.short),
    (1, Grammar.inverse),
    (2, Grammar.conditional),
    (2, Grammar.walrus),
    (2, Grammar.length),
    (2, Grammar.item),
    (2, Grammar.starred),
    (2, Grammar.comprehension),
    (1, Grammar.applied),
    (2, Grammar.called),
    (2, Grammar.advanced),
    (3, Grammar.state),
)
VALUES = _table(*_INLINE)
VALUES_ASYNC = _table(
    *_INLINE,
    (14, Grammar.awaited),
    (5, Grammar.awaited_call),
    (2, Grammar.awaited_next),
    (2, Grammar.awaited_gather),
)

_PLAIN = (
    (4, Grammar.assign),
    (3, Grammar.branch),
    (3, Grammar.loop_for),
    (2, Grammar.loop_while),
    (5, Grammar.attempt),
    (3, Grammar.escape),
    (1, Grammar.asserted),
    (1, Grammar.keep_lambda),
    (2, Grammar.matched),
    (2, Grammar.with_block),
    (1, Grammar.context),
    (3, Grammar.drive),
)
STATEMENTS = _table(*_PLAIN)
STATEMENTS_ASYNC = _table(
    *_PLAIN,
    (3, Grammar.define),
    (1, Grammar.attempt_group),
    (3, Grammar.async_with),
    (1, Grammar.generator),
    (1, Grammar.agenerator),
    (6, Grammar.drive_async),
    (4, Grammar.gather),
    (4, Grammar.start),
    (6, Grammar.with_task),
    (2, Grammar.watched),
    (5, Grammar.task_group),
    (4, Grammar.timeout),
    (3, Grammar.wait_for),
    (3, Grammar.wait),
    (2, Grammar.as_completed),
    (2, Grammar.shielded),
    (2, Grammar.sleep),
    (2, Grammar.wait_now),
    (2, Grammar.locked),
    (1, Grammar.semaphore),
    (2, Grammar.event),
    (3, Grammar.queue),
    (1, Grammar.future),
    (3, Grammar.cleaned),
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Give the text of a module with one program, `async def program()`."""
    return Grammar(lambda bound: draw(INTS[bound - 1])).program()


# --- what a set of programs covers

CONSTRUCTS = frozenset(
    {
        *[
            "AugAssign",
            "Subscript",
            "Starred",
            "NamedExpr",
            "If",
            "For",
            "While",
            "Break",
            "Continue",
            "Try",
            "TryStar",
        ],
        *[
            "ExceptHandler",
            "Raise",
            "Return",
            "Assert",
            "Nonlocal",
            "Lambda",
            "ListComp",
            "SetComp",
            "DictComp",
        ],
        *[
            "GeneratorExp",
            "IfExp",
            "BoolOp",
            "JoinedStr",
            "Match",
            "MatchSequence",
            "MatchMapping",
            "MatchClass",
            "MatchOr",
        ],
        *[
            "MatchStar",
            "With",
            "AsyncWith",
            "AsyncFor",
            "Yield",
            "YieldFrom",
            "FunctionDef",
            "AsyncFunctionDef",
            "Await",
        ],
        *(
            f"asyncio.{name}"
            for name in ["gather", "create_task", "TaskGroup", "timeout", "wait_for", "wait"]
        ),
        *(
            f"asyncio.{name}"
            for name in ["as_completed", "shield", "sleep", "Lock", "Semaphore", "Event", "Queue"]
        ),
        *[
            ".cancel",
            ".add_done_callback",
            "act",
            "slow",
            "boom",
            ".aclose",
            ".athrow",
            ".asend",
            ".send",
            ".throw",
            ".close",
        ],
        *[
            "for-else",
            "while-else",
            "try-else",
            "finally",
            "raise-from",
            "raise-bare",
            "star-args",
            "star-star-args",
        ],
        *[
            "await-in-comprehension",
            "await-in-finally",
            "await-in-handler",
            "await-in-test",
            "recursion",
        ],
        *["return-in-finally", "break-in-finally", "continue-in-finally", "elif"],
        *["sleep(0)", "return_exceptions", "all_tasks"],
    }
)
"""Everything of which a long enough run has to have seen one."""


def constructs(text: str) -> set[str]:
    """Say what there is in a program: kinds of nodes, names of asyncio, and some combinations."""
    found: set[str] = set()
    tree = ast.parse(text.removeprefix(PREAMBLE))
    for node in ast.walk(tree):
        found.add(type(node).__name__)
        told = _TELL.get(type(node))
        if told is not None:
            found.update(told(node))
    return found


def _inside(nodes: Any, kind: type[ast.AST]) -> bool:
    return any(isinstance(each, kind) for node in nodes for each in ast.walk(node))


def _tell_attribute(node: Any) -> Iterator[str]:
    yield f".{node.attr}"
    if isinstance(node.value, ast.Name) and node.value.id == "asyncio":
        yield f"asyncio.{node.attr}"
    if node.attr == "all_tasks":
        yield "all_tasks"


def _tell_call(node: Any) -> Iterator[str]:
    if isinstance(node.func, ast.Name):
        yield node.func.id
    if any(isinstance(each, ast.Starred) for each in node.args):
        yield "star-args"
    yield from ("star-star-args" if each.arg is None else each.arg for each in node.keywords)
    first = node.args[0] if node.args else None
    if getattr(node.func, "attr", "") == "sleep" and getattr(first, "value", None) == 0:
        yield "sleep(0)"


def _tell_try(node: Any) -> Iterator[str]:
    if node.orelse:
        yield "try-else"
    if node.finalbody:
        yield "finally"
        if _inside(node.finalbody, ast.Await):
            yield "await-in-finally"
        for kind, name in (
            (ast.Return, "return"),
            (ast.Break, "break"),
            (ast.Continue, "continue"),
        ):
            if _inside(node.finalbody, kind):
                yield f"{name}-in-finally"
    if _inside(node.handlers, ast.Await):
        yield "await-in-handler"


def _tell_raise(node: Any) -> Iterator[str]:
    if node.exc is None:
        yield "raise-bare"
    elif node.cause is not None:
        yield "raise-from"


def _tell_test(node: Any) -> Iterator[str]:
    if _inside([node.test], ast.Await):
        yield "await-in-test"
    if isinstance(node, ast.While) and node.orelse:
        yield "while-else"
    if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        yield "elif"


def _tell_comprehension(node: Any) -> Iterator[str]:
    if _inside([node], ast.Await):
        yield "await-in-comprehension"


def _tell_function(node: Any) -> Iterator[str]:
    last = [each for each in node.body if isinstance(each, ast.If)]
    if node.name.startswith("_h") and any(
        f"await {node.name}(" in ast.unparse(each) for each in last[-1:]
    ):
        yield "recursion"


_TELL: dict[type[ast.AST], Callable[[Any], Iterator[str]]] = {
    ast.Attribute: _tell_attribute,
    ast.Call: _tell_call,
    ast.Try: _tell_try,
    ast.Raise: _tell_raise,
    ast.While: _tell_test,
    ast.If: _tell_test,
    ast.For: lambda node: iter(["for-else"] if node.orelse else []),
    ast.ListComp: _tell_comprehension,
    ast.SetComp: _tell_comprehension,
    ast.DictComp: _tell_comprehension,
    ast.AsyncFunctionDef: _tell_function,
}
