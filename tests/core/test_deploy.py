"""A deploy between an image and its restore: the run goes on as pinned, or stops visibly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.core import deploy_child
from tests.core.elsewhere import ROOT

SHOP = """
import re
from dataclasses import dataclass
from perdure import action, workflow
from pricing import double

RATE = 3
LIMITS = {"open": [1, 2]}
PATTERN = re.compile("a+")
MISSING = object()

@dataclass
class Cart:
    lines: list
    def total(self):
        return sum(self.lines)

@action(retry=2)
async def charge(amount): ...

@action
async def ship(line): ...

def fee(amount, extra=10):
    return amount * RATE + extra

async def both(cart):
    first = await charge(fee(cart.total()))
    second = await charge(double(first))
    return first, second

@workflow
async def sell(start):
    cart = Cart([start])
    got = await ship("before")
    cart.lines.append(got)
    paid = await both(cart)
    LIMITS["open"].append(RATE)
    return [cart.total(), paid, LIMITS["open"], bool(PATTERN.match("aa")), MISSING is not None]
"""

PRICING = """
def double(value):
    return value * 2
"""

PINNED = {
    "nothing": ("RATE = 3", "RATE = 3"),
    "a constant": ("RATE = 3", "RATE = 400"),
    "module data": ('"open": [1, 2]', '"open": [1, 2, 99]'),
    "a default": ("extra=10", "extra=500"),
    "a helper": ("amount * RATE + extra", "0"),
    "an inner helper": ("second = await charge(double(first))", "second = 0"),
    "the workflow": ('await ship("before")', 'await ship("otherwise")'),
    "a policy": ("retry=2", "retry=9"),
    "lines that moved": ("import re\n", "import re\n\n\n# a comment\n\n\n"),
    "a helper that is gone": ("def fee(amount, extra=10):", "def price(amount, extra=10):"),
    "a pattern": ('re.compile("a+")', 're.compile("b+")'),
}
"""What a deploy changes of what is pinned: the run does not notice."""


def ask(job: dict[str, Any], folder: Path, seed: str = "1") -> Any:
    places = os.pathsep.join(map(str, [folder, ROOT / "src", ROOT]))
    env = {**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", deploy_child.__name__],
        input=json.dumps({"module": "shop", "flow": "sell", **job}),
        env=env | {"PYTHONHASHSEED": seed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: Any) -> Any:
    """A run that waits in a helper, below the workflow, for its first payment."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "shop.py").write_text(SHOP)
    (folder / "pricing.py").write_text(PRICING)
    return ask({"do": "begin", "answers": 1, "args": [5]}, folder)


def deployed(folder: Path, old: str = "", new: str = "", *, pricing: str = PRICING) -> Path:
    assert old in SHOP
    (folder / "shop.py").write_text(SHOP.replace(old, new) if old else SHOP)
    (folder / "pricing.py").write_text(pricing)
    return folder


def go_on(begun: Any, folder: Path) -> tuple[Any, Any]:
    """What came of going on from the image, and from the facts."""
    done = ask({"do": "go_on", **begun}, folder, seed="2")
    return done["image"], done["facts"]


END = [6, {"$": "tuple", "v": [2, 3]}, [1, 2, 3], True, True]


@pytest.mark.parametrize("what", PINNED)
def test_what_is_pinned_goes_on_as_it_was(what: str, begun: Any, tmp_path: Path) -> None:
    for done in go_on(begun, deployed(tmp_path, *PINNED[what])):
        assert done.get("status") == "completed", done
        assert done["value"] == END
        assert done["calls"] == [["shop:charge", [[4]], 2]]
        assert done["changed"] == []


def test_a_module_that_changed_is_pinned_too(begun: Any, tmp_path: Path) -> None:
    folder = deployed(tmp_path, pricing="def double(value):\n    return 0\n")
    for done in go_on(begun, folder):
        assert done["value"] == END


def test_a_module_without_its_helper_is_pinned_too(begun: Any, tmp_path: Path) -> None:
    folder = deployed(tmp_path, "from pricing import double", "double = None", pricing="")
    for done in go_on(begun, folder):
        assert done["value"] == END


CLASS = ("return sum(self.lines)", "return sum(self.lines) + 0")


def test_a_class_that_changed_goes_on_from_an_image_only(begun: Any, tmp_path: Path) -> None:
    image, facts = go_on(begun, deployed(tmp_path, *CLASS))
    assert (image["changed"], image["value"]) == (["shop:Cart"], END)
    assert facts["error"] == "E311"
    assert "`shop:Cart`" in facts["text"]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("class Cart:", "class Basket:", "shop:Cart"),
        (
            "async def charge(amount): ...",
            "async def bill(amount): ...",
            "shop:charge",
        ),
        ("MISSING = object()", "", "shop:MISSING"),
    ],
    ids=["class", "action", "sentinel"],
)
def test_what_is_referred_to_and_gone_stops_the_run_visibly(
    old: str, new: str, named: str, begun: Any, tmp_path: Path
) -> None:
    folder = deployed(tmp_path)
    text = SHOP.replace(old, new)
    if "Basket" in new:
        text = text.replace("Cart([", "Basket([")
    text = text.replace(", MISSING is not None", ", True") if "MISSING" in old else text
    text = text.replace("await charge(", "await ship(") if "bill" in new else text
    (folder / "shop.py").write_text(text)
    for done in go_on(begun, folder):
        assert done["error"] in ("E105", "E107"), done
        assert named in done["text"]


def test_a_program_of_another_python_or_format_is_refused(begun: Any, tmp_path: Path) -> None:
    folder = deployed(tmp_path)
    told = json.loads(begun["text"])
    for key, value in (("python", "3.9"), ("perdure", 99)):
        text = json.dumps(told | {key: value})
        for done in go_on(begun | {"text": text}, folder):
            assert done["error"] == "E107"


@pytest.mark.parametrize("at", range(0, 4_000, 97))
def test_a_damaged_text_is_refused(at: int, begun: Any, tmp_path: Path) -> None:
    text = begun["text"]
    at %= len(text)
    changed = text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :]
    from perdure.core import bindings
    from perdure.errors import PerdureError
    from perdure.lang.rebuilding import rebuild

    with pytest.raises(PerdureError):
        rebuild(changed.encode(), bindings)
