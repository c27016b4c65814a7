"""What engines are crashed in: small stories that between them use everything that runs can do."""

from __future__ import annotations

from tests.crash.lives import Scenario


def runs(*calls, **how) -> Scenario:
    return Scenario(tuple((name, args) for name, *args in ((c[0], *c[1:]) for c in calls)), **how)


SCENARIOS: dict[str, Scenario] = {
    "one step": runs(("straight", "a")),
    "two steps": runs(("straight", "a", "b")),
    "five steps": runs(("straight", *"abcde")),
    "no step at all": runs(("straight",)),
    "two at once": runs(("fan", "a", "b")),
    "five at once": runs(("fan", *"abcde")),
    "slow and quick at once": runs(("fan", "a", "a" * 40, "aa")),
    "a nap": runs(("naps", 1, 0.2)),
    "naps": runs(("naps", 3, 0.2)),
    "a nap across a checkpoint": runs(("naps", 2, 3.0)),
    "long naps": runs(("naps", 2, 60.0)),
    "a word": runs(("asks", 1), words=1),
    "three words": runs(("asks", 3), words=3),
    "words at once": runs(("asks", 3), words=3, pause_s=0.0),
    "words across a checkpoint": runs(("asks", 2), words=2, pause_s=2.5),
    "a word and work": runs(("asks_and_works", 1), words=1),
    "words and work": runs(("asks_and_works", 3), words=3),
    "words while it works": runs(("asks_and_works", 3), words=3, pause_s=0.01),
    "a word in time": runs(("hurried",), words=1),
    "a word too late": runs(("hurried",), words=1, pause_s=4.0),
    "a child": runs(("parent", "p")),
    "children": runs(("parent", "p", "q", "r")),
    "a sleeping child": runs(("slow_parent", "s")),
    "sleeping children": runs(("slow_parent", "s", "t")),
    "children of children": runs(("grandparent", "g")),
    "a child that is left": runs(("abandons", "b")),
    "no failure": runs(("retries", "f", 0)),
    "one failure": runs(("retries", "f", 1)),
    "three failures": runs(("retries", "f", 3)),
    "a time-out that is kept": runs(("limited", "l")),
    "once only": runs(("single", "o")),
    "cancelled at once": runs(("tidies", "t"), cancel_after_s=0.0),
    "cancelled asleep": runs(("tidies", "t"), cancel_after_s=1.0),
    "cancelled at work": runs(("fan", "a" * 30, "b" * 30), cancel_after_s=0.2),
    "cancelled with a child": runs(("slow_parent", "s"), cancel_after_s=0.3),
    "not cancelled in time": runs(("straight", "a"), cancel_after_s=5.0),
    "two runs": runs(("straight", "a", "b"), ("naps", 2, 0.1)),
    "three runs that talk": runs(("asks", 2), ("asks_and_works", 2), ("hurried",), words=2),
    "many runs in one write": runs(*[("straight", "a") for _ in range(6)]),
    "runs that leave the memory": runs(
        ("naps", 2, 0.5), ("asks", 2), ("slow_parent", "s"), words=2, residents_max=1
    ),
    "words for runs that left": runs(("asks", 2), ("asks", 2), words=2, residents_max=1),
    "children of a parent that left": runs(
        ("slow_parent", "s"), ("grandparent", "g"), residents_max=1
    ),
    "a mixture": runs(
        ("parent", "p"), ("retries", "f", 2), ("single", "o"), ("limited", "l"), ("tidies", "t")
    ),
}
