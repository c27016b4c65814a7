"""Graphs of single flows: tables are complete, evaluation order, gates, invariants, escaping."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from typing import Any, get_args

import msgspec
import pytest

from perdure.lang.graph import ARRIVALS, Edge, Graph, Kind, Node, to_data, validate
from perdure.lang.graph_build import Builder, Meaning, graph_of
from perdure.lang.graph_text import LOOKS, to_mermaid, to_text

ACTIONS = ("act", "boom", "slow", "charge", "ship", "approve", "notify", "price")
KNOWN = {
    "asyncio.sleep": "timer",
    "asyncio.gather": "gather",
    "asyncio.wait": "gather",
    "asyncio.as_completed": "gather",
    "asyncio.TaskGroup": "group",
    "asyncio.timeout": "timeout",
    "asyncio.wait_for": "timeout",
    "asyncio.create_task": "task",
    "race": "race",
    "first": "race",
    "signal": "signal",
    "perdure.record": "record",
    "bill": "child",
    "helper": "helper",
}


def resolve(func: ast.expr) -> Meaning | None:
    """Find meanings by name alone."""
    if isinstance(func, ast.Call) and ast.unparse(func).startswith("charge.options("):
        return Meaning("action", "charge", "retry 5, timeout 30s")
    text = ast.unparse(func)
    if text in ACTIONS:
        return Meaning("action", text)
    return Meaning(KNOWN[text], text) if text in KNOWN else None


def drawn(body: str, *, args: str = "a=0, b=0, c=0") -> Graph:
    """Draw a body; a graph that is not sound is no graph."""
    text = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    tree = ast.parse(f"async def flow({args}):\n{text}").body[0]
    assert isinstance(tree, ast.AsyncFunctionDef)
    graph = graph_of(tree, name="flow", file="flow.py", resolve=resolve)
    assert validate(graph) == []
    return graph


def kinds(graph: Graph) -> list[str]:
    return [node.kind for node in graph.nodes]


def labels(graph: Graph, kind: str) -> list[str]:
    return [node.label for node in graph.nodes if node.kind == kind]


def edges(graph: Graph, **wanted: Any) -> list[tuple[str, str]]:
    return [
        (edge.source, edge.target)
        for edge in graph.edges
        if all(getattr(edge, name) == value for name, value in wanted.items())
    ]


def only(graph: Graph, kind: str) -> Node:
    (node,) = [node for node in graph.nodes if node.kind == kind]
    return node


# --- tables ---------------------------------------------------------------------------

# What the language has; a new statement must be given a place here and in the builder.
STATEMENTS = (
    "AnnAssign Assert Assign AsyncFor AsyncFunctionDef AsyncWith AugAssign Break ClassDef Continue "
    "Delete Expr For FunctionDef Global If Import ImportFrom Match Nonlocal Pass Raise Return Try "
    "TryStar TypeAlias While With"
)


def test_the_table_of_statements_is_the_documented_list():
    named = {getattr(ast, name) for name in STATEMENTS.split() if hasattr(ast, name)}
    assert set(Builder.STATEMENTS) == named


def test_the_table_of_statements_covers_the_running_python():
    assert set(Builder.STATEMENTS) == set(ast.stmt.__subclasses__())


def test_every_kind_has_a_look_and_a_rule_of_arrival():
    assert set(LOOKS) == set(ARRIVALS) == set(get_args(Kind))


def test_looks_differ():
    assert len({look.glyph for look in LOOKS.values()}) == len(LOOKS)


# --- order of evaluation --------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "order"),
    [
        ("f(await act(1))[await act(2)] = await act(3)", [3, 1, 2]),
        ("x = y = f(await act(1), k=await act(2))", [1, 2]),
        ("f(k=await act(1), *await act(2))", [2, 1]),
        ("x[await act(1)] += await act(2)", [1, 2]),
        ("x = {await act(1): await act(2), await act(3): await act(4)}", [1, 2, 3, 4]),
        ("x = [await act(2) for x in await act(1)]", [1, 2]),
        ("x = {await act(2): await act(3) for x in await act(1)}", [1, 2, 3]),
        ("x = await act(2) if await act(1) else await act(3)", [1, 2, 3]),
        ("x: await_free = await act(1)", [1]),
        ("raise f(await act(1)) from await act(2)", [1, 2]),
        ("async with f(await act(1)) as x[await act(2)], g(await act(3)): pass", [1, 2, 3]),
        ("await asyncio.gather(act(2, await act(1)), act(3))", [1, 2, 3]),
        ("await asyncio.wait_for(act(3, await act(1)), await act(2))", [1, 2, 3]),
        ("@f(await act(1))\ndef g(x=await act(2), *, y=await act(3)): pass", [1, 2, 3]),
        ("class C(await act(1), k=await act(2)): pass", [1, 2]),
        ("await act(2, await act(1))", [1, 2]),
        ("assert await act(1), await act(2)", [1, 2]),
        ("for x in await act(1):\n  await act(2)\nelse:\n  await act(3)", [1, 2, 3]),
        ("print(f'{await act(1):{await act(2)}} {await act(3)}')", [1, 2, 3]),
        ("await (await act(1))", [1]),
    ],
)
def test_awaits_are_drawn_in_the_order_of_cpython(code, order):
    found = [int(re.findall(r"act\((\d)", label)[0]) for label in labels(drawn(code), "action")]
    assert found == order


# --- one node for what belongs together -----------------------------------------------


def test_plain_statements_merge_however_deep_they_are():
    graph = drawn("x = 1\nfor y in a:\n  if y: break\n  x += y\nwhile x: x -= 1\nreturn x")
    assert kinds(graph) == ["input", "inline", "output"]


@pytest.mark.parametrize("jump", ["return", "raise KeyError"])
def test_a_jump_out_keeps_its_branch_visible(jump):
    assert "branch" in kinds(drawn(f"if a:\n  {jump}\nb = 1"))


def test_an_endless_loop_is_never_merged_into_plain_code():
    graph = drawn("while True:\n  a += 1")
    assert kinds(graph) == ["input", "loop", "inline"]


def test_the_await_of_an_assignment_is_one_node_that_writes_the_target():
    graph = drawn("x, *y = await act(a)\nreturn y")
    assert kinds(graph) == ["input", "action", "output"]
    assert edges(graph, kind="data", variable="y") == [("action_1", "output_1")]


def test_policies_go_with_the_node():
    assert only(drawn("await charge.options(retry=5)(a)"), "action").policy.startswith("retry 5")


def test_ids_count_in_source_order():
    graph = drawn("x = await act(2) if a else await act(3)\nawait act(4)")
    assert [n.id for n in graph.nodes if n.kind == "action"] == ["action_1", "action_2", "action_3"]
    graph = drawn("x = [await act(9) for x in await act(1)]")  # the element stands first
    assert {n.id: n.label for n in graph.nodes}["action_2"] == "act(1)"


# --- gates ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "required"),
    [
        ("await asyncio.gather(act(1), act(2), act(3))", 3),
        ("await asyncio.gather(*[act(1), act(2)], act(3))", 3),
        ("await asyncio.gather(*[act(x) for x in a])", "N"),
        ("await asyncio.gather(act(1), *b)", "N"),
        ("await race(act(1), asyncio.sleep(2))", "1 of 2"),
        ("await race(*[act(x) for x in a])", "1 of N"),
        ("await first(2, act(1), act(2), act(3))", "2 of 3"),
        ("await asyncio.wait([act(1), act(2)])", 2),
        ("await asyncio.wait({act(1)}, return_when=asyncio.FIRST_COMPLETED)", "1 of 1"),
        ("async with asyncio.TaskGroup() as g:\n  g.create_task(act(1))", 1),
        (
            "async with asyncio.TaskGroup() as g:\n  g.create_task(act(1))\n  await act(2)",
            2,
        ),
        ("async with asyncio.TaskGroup() as g:\n  [g.create_task(act(x)) for x in a]", "N"),
        ("async with asyncio.TaskGroup() as g:\n  if a: g.create_task(act(1))", "N"),
    ],
)
def test_a_barrier_asks_for_as_many_as_there_are_branches(code, required):
    barrier = only(drawn(code), "barrier")
    assert barrier.required == required
    assert barrier.frontier


def test_alternatives_meet_in_a_join_that_asks_for_one():
    graph = drawn("if a: await act(1)\nelse: await act(2)\nawait act(3)")
    join = only(graph, "join")
    assert (join.required, join.frontier) == (1, False)
    assert {s for s, t in edges(graph) if t == join.id} == {"action_1", "action_2"}


# --- tasks ----------------------------------------------------------------------------


def test_a_started_task_hangs_off_the_flow_and_is_joined_by_its_variable():
    graph = drawn("t = asyncio.create_task(act(1))\nawait asyncio.sleep(1)\nreturn await t")
    started = only(graph, "action")
    assert started.mode == "started"
    assert edges(graph, guard="start") == [("input_1", started.id)]
    assert edges(graph, join=True) == [(started.id, "join_1")]
    assert ("input_1", "timer_1") in edges(graph, kind="flow")


def test_a_task_of_the_last_round_is_joined_by_a_back_edge():
    graph = drawn("t = asyncio.create_task(act(0))\nwhile a:\n  await t\n"
                  "  t = asyncio.create_task(act(1))")  # fmt: skip
    assert edges(graph, join=True, back=True) == [("action_2", "join_1")]
    assert edges(graph, join=True, back=False) == [("action_1", "join_1")]


def test_an_awaitable_that_was_kept_in_a_name_is_drawn_where_it_is_awaited():
    graph = drawn("x = act(1)\nb = 2\nreturn await x")
    assert only(graph, "action").span.line == 4
    assert only(graph, "action").label == "act(1)"


def test_a_known_awaitable_inside_of_an_unknown_call_is_seen():
    action = only(drawn("await asyncio.shield(act(1))"), "action")
    assert action.mode == "in asyncio.shield"


def test_unknown_awaits_are_calls_at_which_the_run_stops():
    assert only(drawn("await foreign(a)"), "call").frontier
    assert not only(drawn("await helper(a)"), "call").frontier


# --- jumps ----------------------------------------------------------------------------


def test_every_way_out_passes_the_finally_and_parts_again():
    graph = drawn(
        """
        for x in a:
            try:
                if x == 1: continue
                if x == 2: break
                if x == 3: return x
                if x == 4: raise KeyError
                await act(x)
            finally:
                await notify(x)
        """
    )
    ways = {edge.guard: edge for edge in graph.edges if edge.source == "action_2"}
    assert set(ways) == {
        "",
        "continue from line 4",
        "break from line 5",
        "return from line 6",
        "raise from line 7",
    }
    assert ways[""].back
    assert ways["continue from line 4"].back
    assert edges(graph, raises=()) == [("try_1", "finally_1")]


@pytest.mark.parametrize(
    ("raised", "reached"),
    [
        ("KeyError", {"handler_1"}),
        ("IndexError", {"handler_1"}),
        ("TypeError('x')", {"handler_2"}),
        ("KeyboardInterrupt", {"output"}),
        ("Refused(1)", {"handler_1", "handler_2"}),
        ("asyncio.CancelledError", {"handler_1", "output"}),
        ("b", {"handler_1", "handler_2", "output"}),
    ],
)
def test_a_raise_leads_to_the_handlers_that_may_take_it(raised, reached):
    graph = drawn(
        f"try:\n  raise {raised}\nexcept LookupError:\n  await act(1)\n"
        "except Exception:\n  await act(2)\n"
    )
    found = {target for source, target in edges(graph) if source == "inline_1"}
    assert {target if "handler" in target else "output" for target in found} == reached


def test_code_after_a_return_is_marked_dead_and_leads_nowhere_alive():
    graph = drawn("return a\nawait act(1)\nawait asyncio.gather(act(2), act(3))")
    by_id = {node.id: node for node in graph.nodes}
    assert [node.dead for node in graph.nodes if node.kind == "action"] == [True] * 3
    assert not [e for e in graph.edges if by_id[e.source].dead and not by_id[e.target].dead]


# --- data flow ------------------------------------------------------------------------


def uses(graph: Graph, target: str) -> set[tuple[str, str]]:
    return {(e.source, e.variable) for e in graph.edges if e.kind == "data" and e.target == target}


def test_all_writes_that_may_reach_are_drawn_and_no_others():
    graph = drawn(
        """
        if a:
            b = await act(1)
        else:
            c = await act(2)
        a = 1
        await act(a, b, c)
        """
    )
    assert uses(graph, "action_3") == {
        ("inline_1", "a"),
        ("action_1", "b"),
        ("input_1", "b"),
        ("action_2", "c"),
        ("input_1", "c"),
    }


def test_a_handler_sees_what_the_body_had_written_so_far():
    graph = drawn(
        """
        try:
            a = await act(1)
            a = await act(2)
        except KeyError:
            await act(a)
        """
    )
    assert {source for source, _ in uses(graph, "action_3")} == {"input_1", "action_1", "action_2"}


def test_a_loop_that_may_not_run_keeps_what_was_written_before():
    graph = drawn("for a in b:\n  await act(1)\nreturn a")
    assert uses(graph, "output_1") == {("input_1", "a"), ("loop_1", "a")}


def test_names_of_a_comprehension_are_its_own():
    graph = drawn("x = 1\ny = [await act(x) for x in a]\nreturn x")
    assert uses(graph, "action_1") == {("loop_1", "x")}
    assert uses(graph, "output_1") == {("inline_1", "x")}


def test_what_a_nested_function_reads_is_read_where_it_is_named():
    graph = drawn("def f(): return c\nc = await act(1)\nawait helper(f)")
    assert ("action_1", "c") in uses(graph, "call_1")


def test_a_change_in_place_is_a_write_that_overwrites_nothing():
    graph = drawn("x = await act(1)\nx.append(await act(2))\nx[0] = 1\nreturn x")
    assert {source for source, _ in uses(graph, "output_1")} == {"action_1", "inline_1"}


@pytest.mark.parametrize("more", ["", "    await act(2)\n"])
def test_what_was_written_before_a_group_is_known_behind_it(more):
    graph = drawn(
        "x = 1\nasync with asyncio.TaskGroup() as g:\n"
        f"    t = g.create_task(act(1))\n{more}return x, t"
    )
    assert uses(graph, "output_1") == {("inline_1", "x"), ("action_1", "t")}


# --- invariants -----------------------------------------------------------------------


def broken(graph: Graph, node: str = "", edge: int = -1, **changes: Any) -> list[str]:
    nodes = [msgspec.structs.replace(n, **changes) if n.id == node else n for n in graph.nodes]
    arrows = [
        msgspec.structs.replace(e, **changes) if number == edge else e
        for number, e in enumerate(graph.edges)
    ]
    return validate(Graph(name="f", file="f.py", nodes=tuple(nodes), edges=tuple(arrows)))


def with_edge(graph: Graph, source: str, target: str, **more: Any) -> list[str]:
    extra = Edge(source=source, target=target, **more)
    return validate(msgspec.structs.replace(graph, edges=(*graph.edges, extra)))


def test_what_is_not_sound_is_named():
    graph = drawn("while a:\n  await act(1)\nawait asyncio.gather(act(2), act(3))")
    back = next(number for number, edge in enumerate(graph.edges) if edge.back)
    entry = next(n for n, edge in enumerate(graph.edges) if edge.target == "parallel_1")
    assert broken(graph, "action_1", id="action_2")[0] == "action_2 names 2 nodes"
    assert with_edge(graph, "action_1", "nowhere") == ["action_1 -> nowhere: there is no nowhere"]
    assert broken(graph, "input_1", kind="inline")[0] == "there are 0 inputs instead of one"
    assert "leads into the input" in with_edge(graph, "action_1", "input_1")[0]
    assert "leads out of an output" in with_edge(graph, "output_1", "action_1")[0]
    assert broken(graph, "action_1", dead=True) == ["action_1 is reachable but dead"]
    assert "action_3 is unreachable and not dead" in broken(graph, edge=entry, target="action_2")
    assert broken(graph, "barrier_1", required=3) == [
        "barrier_1 (barrier, required 3) has 2 arrivals"
    ]
    assert broken(graph, edge=back, back=False)[-1].startswith("a cycle without a back edge")
    assert with_edge(graph, "action_1", "barrier_1", back=True) == [
        "action_1 -> barrier_1: a back edge that closes no cycle"
    ]


def test_a_graph_without_an_end_is_named():
    graph = drawn("await act(1)")
    found = broken(graph, "output_1", kind="inline")
    assert "no output can be reached, and nothing loops for ever" in found
    assert "output_1 leads nowhere" in found


# --- rendering ------------------------------------------------------------------------

HOSTILE = "\"'`|[]{}()<>#&;%\\ end \n\t\x1b[31m ünï → ✓ \u202e subgraph style x: #a;"


def hostile() -> Graph:
    graph = drawn("if a: await act(1)\nreturn b")
    nodes = tuple(msgspec.structs.replace(n, label=HOSTILE, policy=HOSTILE) for n in graph.nodes)
    arrows = tuple(msgspec.structs.replace(e, guard=HOSTILE, variable=HOSTILE) for e in graph.edges)
    return msgspec.structs.replace(graph, nodes=nodes, edges=arrows)


def test_no_label_can_break_a_diagram():
    arrow = r"\w+ (-->|-\.->|==>)(\|\"[^\"|]*\"\|)? \w+"
    node = r"\w+[\[\](){}/\\>]{1,2}\"[^\"`\[\]{}()|]*\"[\[\](){}/\\]{1,2}"
    for line in to_mermaid(hostile()).splitlines()[1:]:
        assert re.fullmatch(rf"    ({arrow}|{node}|class(Def)? .*)", line), line
        assert line.isprintable()


def test_no_label_can_break_the_terminal():
    assert all(line.isprintable() for line in to_text(hostile()).splitlines())


def test_data_edges_can_be_left_out_of_a_diagram():
    graph = drawn("x = await act(a)\nreturn x")
    assert "-.->" in to_mermaid(graph)
    assert "-.->" not in to_mermaid(graph, data=False)


def test_the_data_of_a_graph_is_json_and_comes_back():
    graph = drawn("try:\n  await act(a)\nexcept KeyError: pass")
    assert msgspec.convert(json.loads(json.dumps(to_data(graph))), Graph) == graph
