"""The graph against CPython: what a random program did must be a way through its graph.

Each program is run with actions that log their number and the values that they were given. Then:

* from each action to the next that ran, some way leads through the graph without passing another;
* each value that an action was given came along a data edge from the line that had written it.

Every value that a program writes is a number of its own, so a value names its writer.
"""

from __future__ import annotations

import ast
import asyncio
import random
import warnings
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from perdure.lang.graph import Graph, Node, validate
from perdure.lang.graph_build import graph_of
from tests.lang.test_graph import resolve

NAMES = ("a", "b", "c")
PROGRAMS = 400
RUNS = 6


class Enough(BaseException):  # not an Exception: no handler of a program may stop it
    """The program has done enough."""


class Writer:
    """Writes a random program, one simple statement on each line."""

    def __init__(self, seed: int, *, tasks: bool = False) -> None:
        self.random = random.Random(seed)
        self.tasks = tasks
        self.lines: list[str] = []
        self.serial = 0
        self.scopes: list[list[str]] = [list(NAMES)]

    def number(self) -> int:
        self.serial += 1
        return self.serial

    def program(self) -> str:
        heads = ", ".join(f"{name}={self.number()}" for name in NAMES)
        self.lines.append(f"async def program({heads}):")
        self.block(1, 0, in_loop=False)
        return "\n".join(self.lines)

    def name(self) -> str:
        return self.random.choice(self.scopes[-1])

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def act(self, *extra: str) -> str:
        given = [*extra, *(self.name() for _ in range(self.random.randint(0, 2)))]
        return f"act({', '.join([str(self.number()), *given])})"

    def value(self, depth: int = 0) -> str:
        """Write an expression that may await, in every position."""
        choice = self.random.randint(0, 9 if depth < 2 else 2)
        a, b, c = (lambda: self.value(depth + 1),) * 3
        match choice:
            case 0 | 1 | 2:
                return f"await {self.act()}"
            case 3:
                return f"({a()} if {b()} else {c()})"
            case 4:
                return f"({a()} {self.random.choice(['and', 'or'])} {b()} and {c()})"
            case 5:
                return f"({a()} < {b()} < {c()})"
            case 6:
                return f"keep({a()}, k={b()})"
            case 7:
                return f"[{a()}, *[{b()}], {{{c()}: {a()}}}]"
            case 8:
                return self.comprehension()
            case _:
                return f"(await act(await {self.act()}) + len(f'{{await {self.act()}}}'))"

    def comprehension(self) -> str:
        name = f"x{self.number()}"
        head = f"for {name} in some({self.number()})"
        self.scopes.append([*self.scopes[-1], name])
        test = self.random.choice(["", " if flip()", f" if await {self.act()}"])
        made = self.random.choice([f"await {self.act(name)}", f"({name}, await {self.act()})"])
        self.scopes.pop()
        return f"[{made} {head}{test}]"

    def test(self) -> str:
        if self.random.random() < 0.3:
            return self.value(1)
        return "flip()"

    def block(self, depth: int, level: int, *, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, level, in_loop=in_loop)

    def statement(self, depth: int, level: int, *, in_loop: bool) -> None:
        simple = [self.assign, self.assign, self.plain, self.await_, self.await_, self.walrus]
        compound = [self.if_, self.if_, self.while_, self.for_, self.try_, self.try_, self.with_]
        compound += [self.match_, self.plain_if]
        simple += [self.gather, self.task] * 2 * self.tasks
        compound += [self.group] * 4 * self.tasks
        self.random.choice(simple)(depth)
        if level < 3 and self.random.random() < 0.5 and len(self.lines) < 60:
            self.random.choice(compound)(depth, level + 1, in_loop)
        if self.random.random() < 0.15:
            self.jump(depth, in_loop=in_loop)

    def assign(self, depth: int) -> None:
        name = self.random.choice(NAMES)
        self.put(depth, f"{name} = {self.number()}")

    def plain(self, depth: int) -> None:
        self.put(depth, "hit()")

    def await_(self, depth: int) -> None:
        self.put(depth, f"{self.random.choice(NAMES)} = await {self.act()}")

    def walrus(self, depth: int) -> None:
        name = self.random.choice(NAMES)
        self.put(depth, f"keep({self.value()}, ({name} := await {self.act()}))")

    def gather(self, depth: int) -> None:
        one, two = self.random.sample(NAMES, 2)
        self.put(depth, f"{one}, {two} = await asyncio.gather({self.act()}, {self.act()})")

    def task(self, depth: int) -> None:
        self.put(depth, f"t{self.number()} = asyncio.create_task({self.act()})")

    def group(self, depth: int, level: int, in_loop: bool) -> None:
        self.put(depth, f"async with asyncio.TaskGroup() as g{level}:")
        for _ in range(self.random.randint(1, 2)):
            head = self.random.choice(["", "", f"u{self.number()} = "])
            self.put(depth + 1, f"{head}g{level}.create_task({self.act()})")
            if self.random.random() < 0.3:
                self.block(depth + 1, level, in_loop=in_loop)

    def jump(self, depth: int, *, in_loop: bool) -> None:
        jumps = ["return", f"return {self.value()}", "raise KeyError", "raise ValueError(1)"]
        jumps += ["break", "continue"] * 3 * in_loop
        self.put(depth, self.random.choice(jumps))

    def if_(self, depth: int, level: int, in_loop: bool) -> None:
        self.put(depth, f"if {self.test()}:")
        self.block(depth + 1, level, in_loop=in_loop)
        if self.random.random() < 0.4:
            self.put(depth, f"elif {self.test()}:")
            self.block(depth + 1, level, in_loop=in_loop)
        if self.random.random() < 0.4:
            self.put(depth, "else:")
            self.block(depth + 1, level, in_loop=in_loop)

    def plain_if(self, depth: int, _level: int, _in_loop: bool) -> None:
        self.put(depth, "if flip():")
        self.assign(depth + 1)
        if self.random.random() < 0.5:
            self.put(depth, "else:")
            self.plain(depth + 1)
            self.assign(depth + 1)

    def while_(self, depth: int, level: int, _in_loop: bool) -> None:
        self.put(depth, self.random.choice([f"while {self.test()}:", "while True:"]))
        self.put(depth + 1, "tick()")
        self.block(depth + 1, level, in_loop=True)
        self.maybe_else(depth, level, in_loop=_in_loop)

    def for_(self, depth: int, level: int, _in_loop: bool) -> None:
        word = self.random.choice(["for", "async for"])
        maker = "some" if word == "for" else "many"
        name = self.random.choice(NAMES)
        self.put(depth, f"{word} {name} in {maker}({self.number()}):")
        self.block(depth + 1, level, in_loop=True)
        self.maybe_else(depth, level, in_loop=_in_loop)

    def maybe_else(self, depth: int, level: int, *, in_loop: bool) -> None:
        if self.random.random() < 0.4:
            self.put(depth, "else:")
            self.block(depth + 1, level, in_loop=in_loop)

    def try_(self, depth: int, level: int, in_loop: bool) -> None:
        self.put(depth, "try:")
        self.block(depth + 1, level, in_loop=in_loop)
        last = self.random.random() < 0.5
        some = not last or self.random.random() < 0.5
        heads = [
            "except KeyError:",
            "except LookupError:",
            "except ValueError:",
            "except Exception:",
        ]
        star = ["except* KeyError:", "except* ValueError:"]
        starred = some and self.random.random() < 0.2
        for head in self.random.sample(star if starred else heads[:2] + heads[2:], 2 * some):
            self.put(depth, head)
            level_inside = 9 if starred else level  # no jumps out of an except*
            if starred:
                self.await_(depth + 1)
            else:
                self.block(depth + 1, level_inside, in_loop=in_loop)
        if some and self.random.random() < 0.4:
            self.maybe_else(depth, level, in_loop=in_loop)
        if last:
            self.put(depth, "finally:")
            self.block(depth + 1, level, in_loop=in_loop)

    def with_(self, depth: int, level: int, in_loop: bool) -> None:
        head = self.random.choice(
            [f"async with enter() as {self.random.choice(NAMES)}:", "with suppress(KeyError):"]
        )
        if "enter()" in head:
            head = head.replace("enter()", f"enter({self.number()})")
        self.put(depth, head)
        self.block(depth + 1, level, in_loop=in_loop)

    def match_(self, depth: int, level: int, in_loop: bool) -> None:
        self.put(depth, f"match pick({self.value()}):")
        for case in self.random.sample(["1", "[_]", "2 | 3", "_ if flip()"], 2):
            guard = (
                f" if {self.value(1)}" if "if" not in case and self.random.random() < 0.3 else ""
            )
            self.put(depth + 1, f"case {case}{guard}:")
            self.block(depth + 2, level, in_loop=in_loop)
        if self.random.random() < 0.5:
            self.put(depth + 1, "case _:")
            self.block(depth + 2, level, in_loop=in_loop)


class World:
    """What a program can name, driven by a seed. Logs what its actions were given."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.log: list[tuple[int, tuple[Any, ...]]] = []
        self.steps = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > 300:
            raise Enough

    def trouble(self) -> None:
        self.step()
        if self.random.random() < 0.1:
            raise self.random.choice([KeyError, ValueError, ArithmeticError])

    def flip(self) -> bool:
        self.step()
        return self.random.random() < 0.5

    async def act(self, number: Any, *given: Any) -> Any:
        self.log.append((number, given))
        self.trouble()
        token = Token(number)
        token.truth = self.flip()
        return token

    async def many(self, number: int) -> Any:
        while self.flip():
            yield number

    def some(self, number: int) -> Any:
        while self.flip():
            yield number

    def names(self) -> dict[str, Any]:
        class Suppress:
            def __init__(self, *classes: type[BaseException]) -> None:
                self.classes = classes

            def __enter__(self) -> None: ...

            def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
                return kind is not None and issubclass(kind, self.classes)

        class Enter:
            def __init__(self, number: int) -> None:
                self.number = number

            async def __aenter__(self) -> int:
                return self.number

            async def __aexit__(self, *_: object) -> None: ...

        return {
            "act": self.act,
            "asyncio": asyncio,
            "enter": Enter,
            "flip": self.flip,
            "hit": self.trouble,
            "keep": lambda *given, **_: given[0],
            "many": self.many,
            "pick": lambda _: self.random.choice([1, [0], 2, 5]),
            "some": self.some,
            "suppress": Suppress,
            "tick": self.step,
        }


class Token(int):
    """A number that is true or false as the seed has it."""

    truth = True

    def __bool__(self) -> bool:
        return self.truth

    def __lt__(self, other: object) -> bool:
        return self.truth


# What a program may end with: what `World.trouble` raises, or its own nonsense.
ENDS = (
    Enough,
    LookupError,
    ValueError,
    ArithmeticError,
    BaseExceptionGroup,
    TypeError,
    RuntimeError,
)


def run(source: str, seed: int) -> tuple[World, bool]:
    world = World(seed)
    scope = world.names()
    exec(compile(source, "program.py", "exec"), scope)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # coroutines that the program drops
            asyncio.run(quietly(scope["program"]))
    except ENDS:
        return world, False
    return world, True


async def quietly(program: Callable[[], Awaitable[object]]) -> None:
    """Look at the exceptions of all tasks, so that asyncio complains of none."""
    made: list[asyncio.Task[Any]] = []

    def make(loop: Any, coro: Any, **more: Any) -> Any:
        made.append(asyncio.Task(coro, loop=loop, **more))
        return made[-1]

    asyncio.get_running_loop().set_task_factory(make)
    try:
        await program()
    finally:
        for task in made:
            task.cancel()
        await asyncio.gather(*made, return_exceptions=True)


class Paths:
    """The graph with the jumps that an exception may make from wherever it is raised."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.by_id = {node.id: node for node in graph.nodes}
        self.next: dict[str, set[str]] = defaultdict(set)
        self.thrown: dict[str, dict[str, bool]] = defaultdict(
            dict
        )  # region -> target -> is finally
        for edge in graph.edges:
            if edge.kind == "flow":
                self.next[edge.source].add(edge.target)
                if edge.raises is not None:
                    last = self.by_id[edge.target].kind == "finally"
                    self.thrown[edge.source][edge.target] = last
        for node in graph.nodes:
            self.next[node.id] |= self.exceptional(node)
        self.actions = {
            int(call.args[0].value): node.id
            for node in graph.nodes
            if node.kind == "action"
            for call in [_call_of(node)]
            if isinstance(call.args[0], ast.Constant)
        }

    def exceptional(self, node: Node) -> set[str]:
        found: set[str] = set()
        arm, region = node.arm, node.region
        while region:
            for source, targets in self.thrown.items():
                inside = source == region
                found |= {
                    target
                    for target, last in targets.items()
                    if (inside and (last or not arm)) or (last and region in targets)
                }
            arm, region = self.by_id[region].arm, self.by_id[region].region
        return found

    def leads(self, source: str, goal: set[str]) -> bool:
        """Tell whether a way leads to the goal without passing an action that has a number."""
        seen, queue = {source}, [source]
        stops = set(self.actions.values())
        while queue:
            for target in self.next[queue.pop()]:
                if target in goal:
                    return True
                if target not in seen and target not in stops:
                    seen.add(target)
                    queue.append(target)
        return False


def _call_of(node: Node) -> ast.Call:
    text = node.source.partition("await ")[2]
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call), node
    return call


def written_at(source: str) -> dict[int, int]:
    """Give the line of each number: every number in a program writes, or is an action's own."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            found.setdefault(node.value, node.lineno)
    return found


def wrong_steps(paths: Paths, log: list[tuple[int, Any]], *, ended: bool) -> list[str]:
    here, wrong = "input_1", []
    outputs = {node.id for node in paths.graph.nodes if node.kind == "output"}
    for number, _ in log:
        if not isinstance(number, Token):
            there = paths.actions[number]
            if not paths.leads(here, {there}):
                wrong.append(f"{here} -> {there} (act {number}) was not foreseen")
            here = there
    if ended and not paths.leads(here, outputs):
        wrong.append(f"{here} -> the end was not foreseen")
    return wrong


def wrong_values(paths: Paths, lines: dict[int, int], log: list[tuple[int, Any]]) -> list[str]:
    data = {(e.target, e.source, e.variable) for e in paths.graph.edges if e.kind == "data"}
    wrong: list[str] = []
    for number, given in log:
        if isinstance(number, Token):
            continue
        node = paths.by_id[paths.actions[number]]
        for word, value in zip(_call_of(node).args[1:], given, strict=True):
            assert isinstance(word, ast.Name)
            line = lines[int(value)]
            known = any(
                target == node.id and variable == word.id
                for target, source, variable in data
                if paths.by_id[source].span.line <= line <= paths.by_id[source].span.end_line
            )
            if not known:
                wrong.append(f"{node.id}: {word.id} came from line {line}, by no data edge")
    return wrong


def drawn(source: str) -> Graph:
    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.AsyncFunctionDef)
    graph = graph_of(tree, name="program", file="program.py", resolve=resolve)
    assert validate(graph) == [], source
    return graph


@pytest.mark.parametrize("seed", range(PROGRAMS // 20))
def test_what_ran_is_a_way_through_the_graph(seed: int) -> None:
    steps = 0
    for program in range(seed * 20, seed * 20 + 20):
        source = Writer(program).program()
        paths, lines = Paths(drawn(source)), written_at(source)
        for world_seed in range(RUNS):
            world, ended = run(source, world_seed)
            steps += len(world.log)
            wrong = wrong_steps(paths, world.log, ended=ended)
            wrong += wrong_values(paths, lines, world.log)
            assert not wrong, "\n".join([f"program {program}", source, *wrong])
    assert steps > 200  # the programs do something


@pytest.mark.parametrize("seed", range(PROGRAMS // 20))
def test_what_tasks_were_given_came_along_a_data_edge(seed: int) -> None:
    steps = 0
    for program in range(seed * 20, seed * 20 + 20):
        source = Writer(program, tasks=True).program()
        paths, lines = Paths(drawn(source)), written_at(source)
        for world_seed in range(RUNS):
            world, _ = run(source, world_seed)
            steps += len(world.log)
            wrong = wrong_values(paths, lines, world.log)
            assert not wrong, "\n".join([f"program {program}", source, *wrong])
    assert steps > 200
