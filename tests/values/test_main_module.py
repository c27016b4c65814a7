"""A class of the started script goes by the name under which others can import it."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from perdure import value_types
from tests.values.process import environment

SCRIPT = """
import dataclasses, enum, sys
from perdure.values import decode, encode, encode_error, decode_error

@dataclasses.dataclass
class Order:
    a: int

class Failed(Exception):
    pass

if __name__ == "__main__":
    mode = sys.argv[1]
    if mode == "write":
        sys.stdout.write(encode([Order(1), Failed("x")]).decode())
    elif mode == "read":
        order, failed = decode(sys.stdin.read())
        assert type(order) is Order and type(failed) is Failed, (order, failed)
    elif mode == "spawn":
        import multiprocessing as mp
        with mp.get_context("spawn").Pool(1) as pool:
            text, same = pool.apply(child, (encode(Order(1)),))
        assert same
        assert decode(text) == Order(2)

def child(text):
    order = decode(text)
    return encode(Order(order.a + 1)), type(order) is Order
"""
SCRIPT = (
    SCRIPT.replace(SCRIPT[SCRIPT.index("if __name__") : SCRIPT.index("def child")], "")
    + SCRIPT[SCRIPT.index("if __name__") : SCRIPT.index("def child")]
)


def run(args: list[str], cwd: Path, text: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *args],
        env=environment(cwd),
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_name_of_the_started_script_is_that_of_its_file_or_of_its_module():
    class Order:
        pass

    Order.__module__, Order.__qualname__ = "__main__", "Order"
    for file, spec, name in [
        ("/x/shop.py", None, "shop"),
        ("/x/shop.py", ModuleSpec("pkg.shop", None), "pkg.shop"),
        ("/x/shop.py", ModuleSpec("__main__", None), "shop"),
        ("/x/bin/shop", None, "__main__"),
        (None, None, "__main__"),
    ]:
        main: Any = ModuleType("__main__")
        main.__file__, main.__spec__, main.Order = file, spec, Order
        with patch.dict(sys.modules, {"__main__": main}):
            assert value_types.reference(Order) == f"{name}:Order"
            assert value_types.find(f"{name}:Order") is Order
    with patch.dict(sys.modules):
        del sys.modules["__main__"]
        assert value_types.find("shop:Order") is None


def test_a_command_does_not_hide_the_package_of_its_name():
    main = ModuleType("__main__")
    main.__file__ = "/x/bin/perdure"
    with patch.dict(sys.modules, {"__main__": main}):
        assert value_types.live_module("perdure") is sys.modules["perdure"]


@pytest.fixture
def home(tmp_path: Path) -> Any:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "shop.py").write_text(SCRIPT)
    (tmp_path / "shop.py").write_text(SCRIPT)
    (tmp_path / "other.py").write_text(
        "import sys, importlib\n"
        "from perdure.values import decode, encode\n"
        "shop = importlib.import_module(sys.argv[2])\n"
        "if sys.argv[1] == 'read':\n"
        "    order, failed = decode(sys.stdin.read())\n"
        "    assert type(order) is shop.Order and type(failed) is shop.Failed\n"
        "else:\n"
        "    sys.stdout.write(encode([shop.Order(1), shop.Failed('x')]).decode())\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("start", "module"), [(["shop.py"], "shop"), (["-m", "pkg.shop"], "pkg.shop")]
)
def test_a_script_and_a_process_that_imports_it_read_each_other(home, start, module):
    text = run([*start, "write"], home)
    assert f'"of":"{module}:Order"' in text
    run([*start, "read"], home, text)
    run(["other.py", "read", module], home, text)
    run([*start, "read"], home, run(["other.py", "write", module], home))


def test_a_spawned_process_reads_and_writes_the_classes_of_its_script(home):
    run(["shop.py", "spawn"], home)


def test_a_class_without_a_file_keeps_the_name_of_the_main_module(home):
    code = (
        "import dataclasses\n"
        "from perdure.values import decode, encode\n"
        "Order = dataclasses.make_dataclass('Order', ['a'], namespace={'__module__': '__main__'})\n"
        "assert decode(encode(Order(1))) == Order(1)\n"
        "print(encode(Order(1)).decode())"
    )
    assert '"of":"__main__:Order"' in run(["-c", code], home)
