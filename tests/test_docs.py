"""Every block of code in the documentation runs, and so does every example.

The marks that a page may use are explained at the head of tests/tidy/snippets.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.tidy.docs import pages
from tests.tidy.pages import fences
from tests.tidy.snippets import agrees, commands, launch, module_text, run_page
from tests.tidy.tree import ROOT

SHOWN = [page.relative_to(ROOT).as_posix() for page in pages()]
RUNNABLE = [path for path in SHOWN if path == "README.md" or path.startswith("docs/")]
SLOW = re.compile(r"^# slow: \S", re.MULTILINE)
"""How an example says that it is too slow to be run here, with its reason."""


def _examples() -> list[str]:
    folder = ROOT / "examples"
    found = [*folder.glob("[!_]*.py"), *folder.glob("*/__main__.py")]
    return sorted(file.relative_to(ROOT).as_posix() for file in found)


@pytest.mark.parametrize("path", RUNNABLE)
def test_every_block_of_a_page_runs(path: str, tmp_path: Path) -> None:
    problems = run_page(path, (ROOT / path).read_text(encoding="utf-8"), tmp_path)
    if problems:
        pytest.fail("\n".join(["", *problems]), pytrace=False)


@pytest.mark.parametrize("path", _examples())
def test_every_example_runs(path: str, tmp_path: Path) -> None:
    file = ROOT / path
    if SLOW.search(file.read_text(encoding="utf-8")):
        pytest.skip("marked slow")
    target = file.parent if file.name == "__main__.py" else file
    done = launch([sys.executable, str(target)], tmp_path)
    assert done.returncode == 0, f"{path} ended with {done.returncode}\n{done.stdout}{done.stderr}"


# --- the runner itself ------------------------------------------------------------------

PAGE = """\
# A page

```python
x = 20
print("first")
```

<!-- output -->
```text
first
```

Words.

```python
def double() -> int:
    return x * 2


print(double())
```

<!-- output -->

```text
{answer}
```
"""


def test_blocks_of_a_page_share_their_names_and_outputs_are_compared(tmp_path: Path) -> None:
    assert run_page("page.md", PAGE.format(answer=40), tmp_path) == []
    problems = run_page("page.md", PAGE.format(answer=41), tmp_path)
    assert len(problems) == 1
    assert problems[0].startswith("page.md:26: the output differs")


def test_lines_of_the_module_are_lines_of_the_page() -> None:
    page = PAGE.format(answer=40)
    module = module_text([fence for fence in fences(page) if fence.language == "python"])
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith(("x =", "def ", "print", "    return")):
            assert module.splitlines()[number - 1] == line


def test_a_block_that_raises_is_named_by_its_line(tmp_path: Path) -> None:
    page = "```python\nx = 1\n```\n\ntext\n\n```python\n\n1 / 0\n```\n"
    (problem,) = run_page("page.md", page, tmp_path)
    assert problem.startswith("page.md:8: this block ended with code 1")
    assert "line 9" in problem
    assert "ZeroDivisionError" in problem


def test_a_block_marked_no_run_is_only_compiled(tmp_path: Path) -> None:
    mark = "<!-- no-run: needs a server -->\n"
    assert run_page("page.md", mark + "```python\nawait (1 / 0)\n```\n", tmp_path) == []
    (problem,) = run_page("page.md", mark + "```python\n\n1 +\n```\n", tmp_path)
    assert problem.startswith("page.md:4: is not Python")


def test_a_block_is_not_left_out_without_a_reason(tmp_path: Path) -> None:
    (problem,) = run_page("page.md", "<!-- no-run -->\n```python\n1\n```\n", tmp_path)
    assert "say why" in problem


def test_a_mark_speaks_only_about_the_block_below_it(tmp_path: Path) -> None:
    page = "<!-- no-run: odd -->\nWords between.\n\n```python\n1 / 0\n```\n"
    assert len(run_page("page.md", page, tmp_path)) == 1


FILE_THEN_CONSOLE = """\
<!-- file: tools/hello.py -->
```python
import sys
print("hello", *sys.argv[1:])
```

<!-- output -->
```console
$ python tools/hello.py \\
    big world  # greets
hello big ...
$ make nothing
nothing happens
```

<!-- file: tools/hello.py -->
```python
raise SystemExit(3)
```

<!-- exit: {code} -->
```console
$ python tools/hello.py
```
"""


def test_files_are_there_for_the_commands_that_follow_them(tmp_path: Path) -> None:
    assert run_page("page.md", FILE_THEN_CONSOLE.format(code=3), tmp_path) == []
    (problem,) = run_page("page.md", FILE_THEN_CONSOLE.format(code=4), tmp_path)
    assert problem.startswith("page.md:23: ended with code 3 instead of 4")


def test_a_command_that_needs_a_shell_is_refused(tmp_path: Path) -> None:
    (problem,) = run_page("page.md", "```console\n$ python -V | cat\n```\n", tmp_path)
    assert "needs a shell" in problem


def test_what_stands_below_a_command_is_its_output() -> None:
    (block,) = fences("```console\n$ perdure list\na\nb\n$ perdure show x\n```\n")
    assert [(found.words, found.expected, found.line) for found in commands(block)] == [
        (["perdure", "list"], "a\nb\n", 2),
        (["perdure", "show", "x"], "", 5),
    ]


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("a\nb\n", "a\nb", True),
        ("a  \nb\n\n", "a\nb\n", True),
        ("took 3 ms\n", "took ... ms\n", True),
        ("a\n1\n2\nz\n", "a\n...\nz\n", True),
        ("a\nz\n", "a\n...\nz\n", True),
        ("a\nb\n", "a\n", False),
        ("a.b\n", "axb\n", False),
        ("", "a\n", False),
    ],
)
def test_output_agrees_up_to_dots(printed: str, expected: str, same: bool) -> None:
    assert agrees(printed, expected) is same
