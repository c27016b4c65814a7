"""A waiting run goes on with other code, or says which function cannot and why, untouched."""

from __future__ import annotations

import pytest

from perdure.core import image
from perdure.errors import NotUpgraded, PerdureError
from perdure.lang.diff import diff
from perdure.lang.diff_text import text
from perdure.lang.telling import text_of
from tests.core.deploy_child import KEY
from tests.core.moving_kit import HEAD, begun, deployed_over, moved, shop


@pytest.fixture
def made(tmp_path):
    with shop(tmp_path) as it:
        yield it


FLOW = """
RATE = 3
SEEN = ["first"]

async def both(name):
    one = await act(name)
    two = await act(one.lower() + "!")
    return one, two, RATE

@workflow
async def flow():
    SEEN.append("begun")
    got = await act("start")
    both_of = await both("inner")
    return [got, *both_of, SEEN]
"""
IN_HELPER = 1
"""So many answers, and the run waits in the helper for its first call."""

MOVED = {
    "a statement after it": (
        ("    two = await", '    await act("new")\n    two = await'),
        (["START", "INNER", "INNER!", 3, ["first", "begun"]], ["start", "inner", "new", "inner!"]),
    ),
    "a statement before it": (
        ("    one = await", '    print("hello")\n    await act("before")\n    one = await'),
        (["START", "INNER", "INNER!", 3, ["first", "begun"]], ["start", "inner", "inner!"]),
    ),
    "a constant": (
        ("RATE = 3", "RATE = 400"),
        (["START", "INNER", "INNER!", 400, ["first", "begun"]], ["start", "inner", "inner!"]),
    ),
    "data that the run has changed": (
        ('SEEN = ["first"]', 'SEEN = ["other"]'),
        (["START", "INNER", "INNER!", 3, ["first", "begun"]], ["start", "inner", "inner!"]),
    ),
    "a new variable, given a value before it is used": (
        ("    return one, two, RATE", "    more = 7\n    return one, two, RATE + more"),
        (["START", "INNER", "INNER!", 10, ["first", "begun"]], ["start", "inner", "inner!"]),
    ),
    "what is done with the result": (
        ("    one = await act(name)", "    one = await act(name)\n    one = one + '?'"),
        (["START", "INNER?", "INNER?!", 3, ["first", "begun"]], ["start", "inner", "inner?!"]),
    ),
    "a variable that an inner function uses now": (
        (
            "    return one, two",
            "    def told():\n        return name, one\n    return *told(), two",
        ),
        (
            ["START", "inner", "INNER", "INNER!", 3, ["first", "begun"]],
            ["start", "inner", "inner!"],
        ),
    ),
    "a renamed helper": (
        ("both(", "pair("),
        (["START", "INNER", "INNER!", 3, ["first", "begun"]], ["start", "inner", "inner!"]),
    ),
    "renamed variables": (
        (
            'one = await act(name)\n    two = await act(one.lower() + "!")\n    return one, two',
            'a = await act(name)\n    b = await act(a.lower() + "!")\n    return a, b',
        ),
        (["START", "INNER", "INNER!", 3, ["first", "begun"]], ["start", "inner", "inner!"]),
    ),
    "a parameter that is not used from there on": (
        ("async def both(name):", "async def both(name, more=1):"),
        (["START", "INNER", "INNER!", 3, ["first", "begun"]], ["start", "inner", "inner!"]),
    ),
}


@pytest.mark.parametrize("what", MOVED)
def test_a_run_below_an_edited_helper_goes_on_as_the_new_code_says(made, what):
    (old, new), ends = MOVED[what]
    assert old in FLOW
    assert deployed_over(made, FLOW, FLOW.replace(old, new), IN_HELPER).ended() == ends


def test_a_variable_that_no_inner_function_uses_any_more_keeps_its_value(made):
    (old, new), _ = MOVED["a variable that an inner function uses now"]
    before = FLOW.replace(old, new)
    result, _ = deployed_over(made, before, FLOW, IN_HELPER + 1).ended()
    assert result == ["START", "INNER", "INNER!", 3, ["first", "begun"]]


def test_the_difference_is_told_function_by_function(made):
    old = FLOW.replace("RATE = 3", "RATE = 3\n\ndef unused():\n    return 1\n")
    after = FLOW.replace("    one = await", "    extra = 5\n    one = await")
    after = after.replace('await both("inner")', 'await both("outer")')
    after += "\ndef added():\n    return 2\n"
    told = text(diff(made.deploy(old), made.deploy(after)))
    both, flow = line_of(old, "async def both"), line_of(old, "async def flow")
    why = "`both_of = await both('inner')` is not in the new code, or not in this place of it"
    assert told.splitlines() == [
        f"{made.name}:both  line {both} → {both - 4}",
        "  variable extra is new",
        f"  {both + 1:>5}  await act(name)  → {both - 2}",
        f"  {both + 2:>5}  await act(one.lower() + '!')  → {both - 1}",
        f"{made.name}:flow  line {flow} → {flow - 3}",
        f"  {flow + 2:>5}  await act('start')  → {flow - 1}",
        f"  {flow + 3:>5}  await both('inner')  ✗ {why}",
        f"{made.name}:unused  line {line_of(old, 'def unused')} is gone",
        f"{made.name}:added  line {line_of(after, 'def added')} is new",
    ]
    assert text(diff(made.deploy(old), made.deploy(old))) == "no function is different"


REFUSED = {
    "a changed call": (
        ("one = await act(name)", "one = await act(name, 2)"),
        ("both", "one = await", "`one = await act(name)` is not in the new code"),
    ),
    "a removed await": (
        ("one = await act(name)", 'one = "x"'),
        ("both", "one = await", "`one = await act(name)` is not in the new code"),
    ),
    "a block around it": (
        ("    one = await act(name)", "    if RATE:\n        one = await act(name)"),
        ("both", "one = await", "is not in the new code, or not in this place of it"),
    ),
    "a helper that is not called any more": (
        ('both_of = await both("inner")', 'both_of = [await act("x"), both]'),
        ("flow", "both_of = await", "`both_of = await both('inner')` is not in the new code"),
    ),
    "a variable that was given a value before": (
        (
            "    one = await act(name)\n",
            "    extra = 5\n    one = await act(name)\n    print(extra)\n",
        ),
        ("both", "one = await", "the new code uses `extra` at line "),
    ),
    "a new parameter that is used": (
        ("async def both(name):\n    one =", "async def both(name, extra=1):\n    one ="),
        ("both", "one = await", "the new code uses `extra` at line "),
    ),
}


def line_of(text, part):
    lines = (HEAD + text).splitlines()
    return next(number for number, line in enumerate(lines, 1) if part in line)


@pytest.mark.parametrize("what", REFUSED)
def test_a_run_that_has_no_place_in_the_new_code_is_refused_and_untouched(made, what):
    (old, new), (function, stands, why) = REFUSED[what]
    assert old in FLOW
    after = FLOW.replace(old, new)
    if "parameter" in what:
        after = after.replace("one, two, RATE", "one, two, extra")
    program = made.deploy(FLOW)
    driven = begun(program, IN_HELPER)
    told, before = text_of(program), image.take(driven.run, KEY)
    new_program = made.deploy(after)
    with pytest.raises(NotUpgraded) as refused:
        moved(driven, new_program, elsewhere=told)
    assert f"`{function}` at {made.name}.py" in str(refused.value)
    assert f":{line_of(FLOW, stands)}: " in str(refused.value)
    assert why in str(refused.value)
    assert image.take(driven.run, KEY) == before
    assert driven.ended()[0][:3] == ["START", "INNER", "INNER!"]


# --- what stands around an await


LOOP = """
@workflow
async def flow():
    done = []
    for name in ["a", "b", "c"]:
        done.append(1)
        got = await act(name)
        done.append(got)
    return done
"""


def test_a_loop_goes_on_where_it_was_with_the_new_body(made):
    after = LOOP.replace("done.append(got)", "done.append(got * 2)")
    assert deployed_over(made, LOOP, after, 1).ended() == (
        [1, "A", 1, "BB", 1, "CC"],
        ["a", "b", "c"],
    )


def test_a_loop_over_something_else_is_another_loop(made):
    after = LOOP.replace('["a", "b", "c"]', '["a", "x"]')
    with pytest.raises(NotUpgraded, match=r"`for name in \['a', 'b', 'c'\]` around it has become"):
        deployed_over(made, LOOP, after, 1)


WHILE = """
@workflow
async def flow():
    count = 0
    while count < 3:
        if count != 99:
            await act(str(count))
        count += 1
    return count
"""


def test_a_condition_is_asked_anew(made):
    after = WHILE.replace("count < 3", "count < 5").replace("count != 99", "count < 4")
    assert deployed_over(made, WHILE, after, 1).ended() == (5, ["0", "1", "2", "3"])


NESTED = """
class Box:
    def __init__(self):
        self.log = []
    async def __aenter__(self):
        self.log.append("in")
        return self
    async def __aexit__(self, *_):
        await act("leaving")
        self.log.append("out")
    async def twice(self, name):
        one = await act(name)
        two = await act(name)
        self.log.append(one + two)

@workflow
async def flow():
    out = []
    async with Box() as box:
        try:
            for key in {"x": 1, "y": 2}:
                names = [await act(key + str(n)) for n in range(2)]
                out.append(names)
                await box.twice(key)
        finally:
            await act("at last")
    return out, box.log
"""


@pytest.mark.parametrize("answers", range(10))
def test_every_await_of_nested_blocks_is_found_again(made, answers):
    after = NESTED.replace("    out = []\n", "    print('new')\n    out = []\n    other = 1\n")
    after = after.replace("out.append(names)", "out.append(names)\n                print(key)")
    after = after.replace("        two = await", "        three = 3\n        two = await")
    plain = begun(made.deploy(NESTED)).ended()
    assert deployed_over(made, NESTED, after, answers).ended() == plain


def test_a_run_goes_on_in_a_method_of_a_class_that_was_changed(made):
    after = NESTED.replace("self.log.append(one + two)", "self.log.append(one + two + '!')")
    result, _ = deployed_over(made, NESTED, after, 3).ended()
    assert result[1] == ["in", "XX!", "YY!", "out"]


TASKS = """
import functools

KEEP = {"list": [1], "name": "kept"}
WORD = "hello"

def make(step):
    total = 0
    def add(by=step):
        nonlocal total
        total += by
        return total
    return add

async def one(name, add):
    got = await act(name)
    return got, add()

@workflow
async def flow():
    word = WORD
    held = KEEP["list"]
    held.append(2)
    add = make(10)
    part = functools.partial(make, 3)
    tasks = [asyncio.create_task(one(name, add)) for name in ("a", "b")]
    more = asyncio.gather(one("c", add), one("d", part()))
    told = await signal("go", str)
    same = KEEP["list"] is held
    return [word, WORD, held, same, add(), await more, [await t for t in tasks], told]
"""


def test_tasks_closures_and_what_a_run_shares_with_its_module_go_along(made):
    after = TASKS.replace("total += by", "total += by * 2").replace('"hello"', '"bye"')
    after = after.replace('"kept"', '"other"').replace("got = await", "x = 1\n    got = await")
    driven = deployed_over(made, TASKS, after, 1)
    driven.answer()
    driven.answer()
    driven.answer()
    driven.signal("go", "now")
    result, asked = driven.ended()
    assert asked == ["a", "b", "c", "d"]
    word, new_word, held, same, total, more, tasks, told = result
    assert (word, new_word, held, same, told) == ("hello", "bye", [1, 2], True, "now")
    assert [more, tasks, total] == [
        [("C", 50), ("D", 6)],
        [("A", 10), ("B", 30)],
        70,
    ]


def test_a_function_that_the_run_holds_is_refused_when_it_cannot_be_called_as_before(made):
    after = TASKS.replace("def add(by=step):", "def add(by=step, more=0):")
    with pytest.raises(NotUpgraded, match=r"`make.<locals>.add` at .*its parameters"):
        deployed_over(made, TASKS, after, 1)
    after = TASKS.replace("total += by", "total += by + step").replace("by=step", "by=0")
    with pytest.raises(NotUpgraded, match=r"`make.<locals>.add`, which the run holds, uses `step`"):
        deployed_over(made, TASKS, after, 1)


def test_what_the_run_changed_and_the_new_code_lacks_is_refused(made):
    after = TASKS.replace('KEEP = {"list": [1]', 'KEEP = {"items": [1]')
    after = after.replace('held = KEEP["list"]', "held = []").replace('KEEP["list"] is held', "1")
    with pytest.raises(NotUpgraded, match=r"the run changed something of its modules.*\[1, 2\]"):
        deployed_over(made, TASKS, after, 1)


TAIL = """
import csv

@workflow
async def flow():
    lines = csv.reader(["a,b"])
    got = await act("x")
    return got, list(lines)
"""


def test_a_run_that_cannot_be_put_on_disk_says_so(made):
    driven = begun(made.deploy(TAIL))
    with pytest.raises(PerdureError, match="E308"):
        moved(driven, made.deploy(TAIL.replace("got =", "x = 1\n    got =")))
    assert driven.ended()[0] == ("X", [["a", "b"]])


GENERATOR = """
@workflow
async def flow():
    start = 5
    numbers = (start + n for n in range(4) if n != 1)
    first = next(numbers)
    got = await act("x")
    return got, first, list(numbers)
"""


def test_a_generator_goes_along(made):
    after = GENERATOR.replace("got =", "other = (1 for _ in [2])\n    got =")
    after = after.replace("return got", "return 'new', got")
    assert deployed_over(made, GENERATOR, after).ended()[0] == ("new", "X", 5, [7, 8])


def test_a_generator_that_is_written_otherwise_is_another_one(made):
    with pytest.raises(NotUpgraded, match="there is no such function in the new code"):
        deployed_over(made, GENERATOR, GENERATOR.replace("n != 1", "n != 2"))


NEVER_BEGUN = """
async def later(name, more="more"):
    return await act(name), await act(more)

@workflow
async def flow():
    call = later("x")
    await act("first")
    return await call
"""


def test_a_call_that_has_not_begun_is_made_on_the_new_code(made):
    after = NEVER_BEGUN.replace("await act(name),", "1,")
    assert deployed_over(made, NEVER_BEGUN, after).ended() == ((1, "MORE"), ["first", "more"])


def test_a_call_that_has_not_begun_and_cannot_be_made_any_more_is_refused(made):
    after = NEVER_BEGUN.replace("def later(name,", "def later(name, kind,")
    after = after.replace('later("x")', 'later("x", 1)')
    with pytest.raises(NotUpgraded, match=r"`later` at .*the run holds a call of it"):
        deployed_over(made, NEVER_BEGUN, after)
