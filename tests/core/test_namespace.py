"""Every run has a namespace of its own: as the module was when it was linked."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.errors import NotHere
from perdure.testing import run_in_memory
from tests.core import helpers, other_helpers
from tests.core import namespace_flows as flows

WORDS = ["pear", "apple", "fig", "plum", "kiwi", "lime", "date", "grape"]


def comes_to(flow: Any, *args: Any, result: Any) -> None:
    """The run gives `result`, the next run in this process gives it too, and so does the log."""
    first, second = run_in_memory(flow, *args), run_in_memory(flow, *args)
    assert first.result() == result
    assert second.result() == result
    assert first.refold().result() == result


def test_containers_of_the_module_are_fresh_in_every_run() -> None:
    seven = [[7], {"7": 7}, ["7"], [7], {"x": 1}, {"g": [7]}, {"7": 7}, [7], 2]
    comes_to(flows.fills_everything, 7, result=seven)


def test_no_run_changes_the_module() -> None:
    run_in_memory(flows.fills_everything, 7)
    kept = [flows.SEEN, flows.BY_NAME, flows.NAMES, flows.QUEUE, flows.COUNTS, flows.GROUPS]
    assert not any([*kept, flows.ORDERED, flows.BUFFER])


def test_mutable_defaults_are_fresh_in_every_run_and_kept_within_it() -> None:
    comes_to(flows.mutable_defaults, 1, result=[[1, 2], {"1": 1, "2": 2}])


def test_caches_are_of_one_run() -> None:
    comes_to(flows.caches, result=[True, [1, 5, 6, 5], 3])


def test_what_was_shared_is_shared() -> None:
    comes_to(flows.shared_identity, result=[True] * 6)


def test_sentinels_are_themselves() -> None:
    comes_to(flows.sentinels, result=[True] * 4)


def test_a_module_seen_through_its_name_is_of_the_run_too() -> None:
    comes_to(flows.through_a_module, result=[["a", "b", "c"], 20, 20, True])
    assert helpers.CALLS == []


def test_closures_share_their_cells_within_a_run_only() -> None:
    tagged = [(9, 4), (9, 5)]
    comes_to(flows.closures, result=[2, 3, 1, tagged, "_tagged", [0]])


def test_context_managers_of_the_user_run_in_the_run() -> None:
    comes_to(flows.contexts, result=[1, 3, -1])


def test_partials_are_of_the_run() -> None:
    twice = {"5": 5}
    comes_to(flows.partials, result=[[[5], twice], [[5, 5], twice], 7])


def test_instances_of_the_module_are_copied_with_their_methods() -> None:
    comes_to(flows.instances, result=[1, 2, 2, 1, True, True])


LIBRARY = [flows.library_space, flows.library_chain, flows.library_list, flows.library_array]


@pytest.mark.parametrize("flow", LIBRARY, ids=lambda flow: flow.__name__)
def test_what_a_library_class_holds_is_fresh_in_every_run(flow: Any) -> None:
    comes_to(flow, result=1)


def test_functions_may_call_each_other_in_a_ring() -> None:
    comes_to(flows.recursion, 50, result=50)


def test_a_module_imported_inside_of_a_function_is_of_the_run_too() -> None:
    comes_to(flows.imports_inside, result=[["inside", "x"], ["inside", "x", "y"]])
    assert helpers.CALLS == []


def test_a_package_imported_inside_of_a_function_is_of_the_run_with_its_modules() -> None:
    comes_to(flows.packages_imported_inside, result=[["inside", "x"], ["inside", "x"], True])
    assert helpers.CALLS == []


def test_what_is_asked_of_a_module_by_name_is_of_the_run() -> None:
    calls = [["x"], ["x", "y"]]
    comes_to(flows.attributes_by_name, "note", result=[*calls, False, True, True, True, True])
    assert helpers.CALLS == []


def test_a_module_that_is_imported_by_name_is_of_the_run() -> None:
    comes_to(flows.modules_by_name, "tests.core.helpers", result=[["x"], ["x", "y"]])
    assert helpers.CALLS == []


NOT_NAMED = [
    (flows.asks_for_what_was_not_named, "half", "`tests.core.other_helpers.half` was not named"),
    (flows.imports_what_was_not_named, "tests.core.flows", "`tests.core.flows` was not imported"),
]


@pytest.mark.parametrize(("flow", "name", "told"), NOT_NAMED)
def test_what_a_program_has_not_captured_is_refused(flow: Any, name: str, told: str) -> None:
    with pytest.raises(NotHere, match=told):
        run_in_memory(flow, name).result()


def test_context_variables_are_of_the_run_and_its_tasks() -> None:
    token = flows.TENANT.set("of the test")
    comes_to(flows.knows_its_tenant, "ada", result=["nobody", "ada"])
    assert flows.TENANT.get() == "of the test"
    flows.TENANT.reset(token)


@pytest.mark.xfail(strict=True, reason="a copied class would be another class, to `isinstance` too")
def test_what_a_class_holds_is_fresh_in_every_run(monkeypatch: Any) -> None:
    monkeypatch.setattr(flows.Settings, "loaded", [])
    comes_to(flows.keeps_in_a_class, "a", result=["a"])


def test_names_are_what_they_are_in_the_module() -> None:
    here = "tests.core.namespace_flows"
    comes_to(flows.says_where_it_is, result=[here, here, here, "counter"])


# --- sets

ORDERS = {
    "literal": WORDS,
    "comprehension": WORDS,
    "call": WORDS,
    "of a set": WORDS,
    "unpacked": WORDS,
    "added last": ["fig"],
    "frozen": WORDS,
    "union": WORDS,
    "difference": [word for word in WORDS if word != "plum"],
    "intersection": ["pear", "lime", "date"],
    "popped": ["pear", "b"],
    "loop": ["z", "y", "x", "w", "v", "u"],
    "constant": ["pear"],
    "isinstance": [True, True],
}


@pytest.fixture(scope="module")
def orders() -> Any:
    return run_in_memory(flows.set_orders).result()


@pytest.mark.parametrize("how", ORDERS)
def test_sets_keep_the_order_in_which_they_were_filled(how: str, orders: Any) -> None:
    assert orders[how] == ORDERS[how]


@pytest.mark.xfail(strict=True, reason="an operator of a dict view makes a set in C, unseen")
def test_sets_made_by_the_views_of_a_dict_keep_their_order() -> None:
    assert run_in_memory(flows.set_of_keys).result() == WORDS


# --- what is replaced in a module


def test_replacing_a_helper_makes_another_program(monkeypatch: Any) -> None:
    before = flows.prices.program()
    monkeypatch.setattr(flows, "price", other_helpers.half)
    assert flows.prices.program().hash != before.hash
    assert run_in_memory(flows.prices).result() == 5


def test_undoing_the_replacement_gives_the_program_back(monkeypatch: Any) -> None:
    before = flows.prices.program().hash
    with monkeypatch.context() as patch:
        patch.setattr(flows, "price", other_helpers.half)
        flows.prices.program()
    assert flows.prices.program().hash == before


def test_replacing_what_a_helper_reaches_makes_another_program(monkeypatch: Any) -> None:
    before = flows.prices.program().hash
    monkeypatch.setattr(helpers, "RATE", 3)
    assert flows.prices.program().hash != before
    assert run_in_memory(flows.prices).result() == 30


def test_replacing_a_helper_seen_through_its_module_makes_another_program(monkeypatch: Any) -> None:
    before = flows.prices_through_the_module.program().hash
    monkeypatch.setattr(helpers, "price", other_helpers.half)
    assert flows.prices_through_the_module.program().hash != before
    assert run_in_memory(flows.prices_through_the_module).result() == 5


def test_the_same_module_gives_the_same_program() -> None:
    first = flows.closures.program()
    assert flows.closures.program() is first
