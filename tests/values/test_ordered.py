"""An ordered set is the builtin in everything but its order, which is that of insertion."""

from __future__ import annotations

import copy
import operator
import pickle
from abc import ABC
from collections.abc import MutableSet
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.ordered import OrderedFrozenSet, OrderedSet, plain

BOTH = [(OrderedSet, set), (OrderedFrozenSet, frozenset)]
both = pytest.mark.parametrize(("ordered", "builtin"), BOTH)

few = settings(max_examples=30)
"""Most laws here hold for many operators: few examples of each are many in all."""

OPERATORS = [operator.or_, operator.and_, operator.sub, operator.xor]
IN_PLACE = [operator.ior, operator.iand, operator.isub, operator.ixor]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
METHODS = ["union", "intersection", "difference", "symmetric_difference"]
QUESTIONS = ["issubset", "issuperset", "isdisjoint"]
CHANGES = [
    "update",
    "intersection_update",
    "difference_update",
    "symmetric_difference_update",
]

members = st.one_of(st.integers(-3, 3), st.sampled_from([1.0, True, "a", "b", None, (1,)]))
lists = st.lists(members, max_size=6)


def outcome(call: Any, *args: Any) -> Any:
    """Return what came of a call, in a form in which builtin and ordered sets compare."""
    try:
        result = call(*args)
    except Exception as error:  # noqa: BLE001 -- whatever the builtin raises
        return type(error), str(error)
    if isinstance(result, set | frozenset):
        return type(plain(result)), sorted(map(repr, result))
    return result


def consistent(value: Any) -> None:
    """Demand that the order and the set hold the very same members."""
    bare = set.__iter__ if isinstance(value, OrderedSet) else frozenset.__iter__
    assert sorted(map(id, bare(value))) == sorted(map(id, value)) or not value
    assert len(list(value)) == len(value)


@both
@few
@given(lists)
def test_it_iterates_in_order_of_insertion(ordered, builtin, items):
    value = ordered(items)
    assert list(value) == list(dict.fromkeys(items)) == [*value]
    assert value == builtin(items)
    consistent(value)


@both
@pytest.mark.parametrize("op", OPERATORS)
@few
@given(lists, lists)
def test_operators_agree_with_the_builtin_on_either_side(ordered, builtin, op, a, b):
    expected = outcome(op, builtin(a), builtin(b))
    for left, right in [
        (ordered(a), ordered(b)),
        (ordered(a), builtin(b)),
        (builtin(a), ordered(b)),
    ]:
        assert outcome(op, left, right) == expected
        result = op(left, right)
        assert type(result) is ordered
        consistent(result)
    assert op(ordered(a), ordered(b)) == op(builtin(a), builtin(b))


@pytest.mark.parametrize("op", OPERATORS)
def test_the_left_operand_decides_whether_the_result_is_frozen(op):
    assert type(op(OrderedSet([1]), OrderedFrozenSet([2]))) is OrderedSet
    assert type(op(OrderedFrozenSet([1]), OrderedSet([2]))) is OrderedFrozenSet


@both
@pytest.mark.parametrize("op", [*OPERATORS, *COMPARISONS, *IN_PLACE])
@pytest.mark.parametrize("other", [[1], "ab", None, {1: 2}])
def test_operators_refuse_what_is_no_set_as_the_builtin_does(ordered, builtin, op, other):
    assert outcome(op, ordered([1]), other) == outcome(op, builtin([1]), other)
    assert outcome(op, other, ordered([1])) == outcome(op, other, builtin([1]))


@both
@pytest.mark.parametrize("op", COMPARISONS)
@few
@given(lists, lists)
def test_comparisons_agree_with_the_builtin_on_either_side(ordered, builtin, op, a, b):
    expected = op(builtin(a), builtin(b))
    assert op(ordered(a), builtin(b)) == op(builtin(a), ordered(b)) == expected
    assert op(ordered(a), ordered(b)) == expected


@both
@pytest.mark.parametrize("name", [*METHODS, *QUESTIONS])
@few
@given(st.lists(lists, max_size=3))
def test_methods_agree_with_the_builtin_for_any_iterables(ordered, builtin, name, many):
    a, *others = many or [[]]
    for form in (list, iter, set, OrderedSet, dict.fromkeys):
        mine = outcome(getattr(ordered(a), name), *map(form, others))
        real = outcome(getattr(builtin(a), name), *map(form, others))
        if isinstance(real, tuple) and real[0] is TypeError:
            assert mine[0] is TypeError  # of another text: it counts `self` in
        else:
            assert mine == real


@pytest.mark.parametrize("op", IN_PLACE)
@few
@given(lists, lists)
def test_in_place_operators_change_the_same_object_as_the_builtin_does(op, a, b):
    for form in (set, OrderedSet, frozenset):
        value = same = OrderedSet(a)
        real = set(a)
        value = op(value, form(b))
        real = op(real, form(b))
        assert value is same
        assert sorted(map(repr, value)) == sorted(map(repr, real))
        consistent(value)


@pytest.mark.parametrize("name", CHANGES)
@few
@given(lists, lists)
def test_changing_methods_agree_with_the_builtin(name, a, b):
    for form in (list, iter, set, OrderedSet):
        value, real = OrderedSet(a), set(a)
        getattr(value, name)(form(b))
        getattr(real, name)(form(b))
        assert sorted(map(repr, value)) == sorted(map(repr, real))
        consistent(value)


@pytest.mark.parametrize("name", CHANGES)
def test_a_set_may_be_changed_by_itself(name):
    value, real = OrderedSet([3, 1]), {3, 1}
    getattr(value, name)(value)
    getattr(real, name)(real)
    assert value == real
    consistent(value)


@few
@given(lists, st.lists(st.tuples(st.sampled_from(["add", "remove", "discard"]), members)))
def test_any_series_of_changes_agrees_with_the_builtin(items, changes):
    value, real = OrderedSet(items), set(items)
    for name, item in changes:
        assert outcome(getattr(value, name), item) == outcome(getattr(real, name), item)
        assert value == real
        consistent(value)


def test_new_members_go_to_the_end_and_old_ones_keep_their_place():
    value = OrderedSet("cab")
    value.add("a")
    value |= {"d"}
    value.remove("c")
    value.add("c")
    assert list(value) == ["a", "b", "d", "c"]
    assert list(value | OrderedSet("xa")) == ["a", "b", "d", "c", "x"]
    assert list(value & OrderedSet("cba")) == ["a", "b", "c"]
    assert list(value - {"b"}) == ["a", "d", "c"]
    assert list(value ^ OrderedSet("xa")) == ["b", "d", "c", "x"]


def test_pop_takes_the_oldest_and_stays_fast_to_the_end():
    value = OrderedSet(range(30_000))
    assert [value.pop() for _ in range(30_000)] == list(range(30_000))
    assert outcome(value.pop) == outcome(set().pop)


def test_pop_after_pop_sees_what_was_added_meanwhile():
    value = OrderedSet(range(20))
    seen = []
    while value:
        item = value.pop()
        seen.append(item)
        if item < 100:
            value.add(item + 100)
    assert seen == [*range(20), *range(100, 120)]


@both
@pytest.mark.parametrize("items", [[], [1, 2], ["a"], [(1,), None]])
def test_the_text_is_that_of_the_builtin(ordered, builtin, items):
    expected = f"{{{repr(items)[1:-1]}}}" if items else f"{builtin.__name__}()"
    if items and builtin is frozenset:
        expected = f"frozenset({expected})"
    assert repr(ordered(items)) == str(ordered(items)) == expected


@both
def test_names_and_error_texts_are_those_of_the_builtin(ordered, builtin):
    assert type(ordered()).__name__ == builtin.__name__
    assert repr(ordered) == repr(builtin)
    for bad in (
        lambda kind: kind([[]]),
        lambda kind: kind(1),
        lambda kind: kind([], []),
        lambda kind: kind() + 1,
        lambda kind: kind()[0],
        lambda kind: kind().nothing,
        lambda kind: [] in kind([1]),
    ):
        assert outcome(bad, ordered) == outcome(bad, builtin)


@pytest.mark.parametrize("name", ["add", "remove", "discard"])
def test_an_unhashable_member_is_refused_as_by_the_builtin(name):
    assert outcome(getattr(OrderedSet(), name), []) == outcome(getattr(set(), name), [])


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("own", [[], [1, 2, 5]])
def test_an_unhashable_member_in_the_middle_leaves_what_the_builtin_leaves(name, own):
    value, real = OrderedSet(own), set(own)
    mine = outcome(getattr(value, name), [1, [], 2, 7])
    assert mine == outcome(getattr(real, name), [1, [], 2, 7])
    assert value == real
    consistent(value)


def test_a_set_finds_and_removes_a_frozen_member_by_its_unfrozen_twin():
    value = OrderedSet([frozenset({1}), frozenset({2})])
    assert {1} in value
    value.remove({1})
    value.discard(OrderedSet({2}))
    assert not value
    assert list(value) == []


def test_changing_a_set_while_iterating_over_it_is_an_error():
    value = OrderedSet([1, 2, 3])
    iterator = iter(value)
    value.discard(next(iterator))
    with pytest.raises(RuntimeError):
        next(iterator)


@both
@few
@given(lists)
def test_copies_and_pickles_keep_class_order_and_members(ordered, builtin, items):
    value = ordered(items)
    copies = [copy.copy(value), copy.deepcopy(value), value.copy()]
    copies += [pickle.loads(pickle.dumps(value, n)) for n in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in copies:
        assert type(other) is ordered
        assert list(other) == list(value)
        assert other == value
        if ordered is OrderedSet:
            assert other is not value
            other.add("fresh")
            assert "fresh" not in value


def test_the_classes_pickle_by_reference():
    for cls in (OrderedSet, OrderedFrozenSet):
        assert pickle.loads(pickle.dumps(cls)) is cls


@few
@given(lists)
def test_a_frozen_set_hashes_as_the_builtin(items):
    assert hash(OrderedFrozenSet(items)) == hash(frozenset(items))
    assert {frozenset(items): 1}[OrderedFrozenSet(items)] == 1


def test_a_set_has_no_hash():
    assert outcome(hash, OrderedSet()) == outcome(hash, set())


@both
def test_a_plain_set_passes_for_an_ordered_one(ordered, builtin):
    other = frozenset if builtin is set else set
    assert isinstance(builtin(), ordered)
    assert issubclass(builtin, ordered)
    assert isinstance(ordered(), builtin)
    assert not isinstance(other(), ordered)
    assert not isinstance([], ordered)
    match builtin([1]):
        case ordered() as found:
            assert found == {1}
        case _:
            pytest.fail("no match")
    match builtin([1]):
        case OrderedSet(found) | OrderedFrozenSet(found):
            assert found == {1}


def test_a_subclass_accepts_only_its_own_instances():
    class Tags(OrderedSet[str]):
        pass

    assert not isinstance({1}, Tags)
    assert not isinstance(OrderedSet(), Tags)
    assert not issubclass(set, Tags)
    assert isinstance(Tags(), Tags)
    assert isinstance(Tags(), OrderedSet)
    assert issubclass(OrderedSet, MutableSet)


def test_a_subclass_behaves_as_one_of_the_builtin():
    class Tags(OrderedSet[str]):
        def __init__(self, text: str, note: str = "") -> None:
            self.note = note
            self.update(text.split())

    class Abstract(OrderedSet[str], ABC):
        pass

    value = Tags("b a", note="x")
    assert list(value) == ["b", "a"]
    assert repr(value) == "Tags({'b', 'a'})"
    assert type(value | {"c"}) is OrderedSet
    assert type(value.copy()) is OrderedSet
    assert list(Abstract("ba")) == ["b", "a"]


class Noted(OrderedSet[str]):
    note = ""


class Kept(OrderedFrozenSet[str]):
    def __new__(cls, text: str = "") -> Any:
        return super().__new__(cls, text)


def test_a_subclass_keeps_its_attributes_in_copies():
    value = Noted("ba")
    value.note = "x"
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert (type(other), list(other), other.note) == (Noted, ["b", "a"], "x")
    assert list(Kept("ba")) == list(copy.copy(Kept("ba"))) == ["b", "a"]
    assert type(Kept("b") | {"a"}) is OrderedFrozenSet


@both
def test_a_parameter_is_allowed_in_annotations(ordered, builtin):
    assert ordered[int].__args__ == (int,)
    assert ordered[int]([1]) == {1}


def test_a_second_init_replaces_the_members():
    value = OrderedSet([1, 2])
    value.__init__([3])  # type: ignore[misc]
    assert list(value) == [3]


def test_a_frozen_set_of_a_frozen_set_is_itself():
    value = OrderedFrozenSet([1])
    assert OrderedFrozenSet(value) is value.copy() is copy.copy(value) is value


@both
def test_plain_gives_the_builtin_back(ordered, builtin):
    assert type(plain(ordered([1]))) is builtin
    assert plain(ordered([1])) == {1}
    assert plain("x") == "x"


def test_a_set_that_holds_itself_by_detour_has_a_text():
    class Holder:
        def __init__(self) -> None:
            self.inside = OrderedSet([self])

        def __repr__(self) -> str:
            return f"<{self.inside!r}>"

    assert "set(...)" in repr(Holder().inside)
