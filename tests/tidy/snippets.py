"""Run what a page of documentation shows, in the order in which a reader meets it.

All ```python blocks of a page are one module, written so that its lines have the numbers that
they have in the page, and run where the last of them stands. Marks above a block say otherwise:

* `<!-- no-run: reason -->`  the block is only compiled, or, in a console, left alone;
* `<!-- file: name.py -->`   the block is written as that file, for what follows to use;
* `<!-- output -->`          on a ```text block: what the ```python block above it prints;
                             on a ```console block: what stands below its commands is compared;
* `<!-- exit: 1 -->`         the last command of a ```console block ends with this code.

In a ```console block the lines `$ perdure …` and `$ python …` are run and others are left alone.
In expected output `...` stands for any text in a line and, alone, for any lines.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.tidy.pages import Fence, fences
from tests.tidy.tree import ROOT

RUN_SECONDS_MAX = 60
END_OF_BLOCK = "\x1e"
TELL_THE_END = f"import sys as _s; _s.stdout.write({END_OF_BLOCK!r}); _s.stdout.flush()"
SHELL_WORDS = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<"})


@dataclass
class Page:
    """One page that is being run: where it stands, where its files go, what went wrong so far."""

    path: str
    blocks: list[Fence]
    folder: Path
    problems: list[str] = field(default_factory=list[str])

    def complain(self, line: int, what: str) -> None:
        """Note a problem at a line of the page."""
        self.problems.append(f"{self.path}:{line}: {what}")


@dataclass(frozen=True)
class Command:
    """One command of a console block: its words, what it should print, and its line."""

    words: list[str]
    expected: str
    line: int


def environment() -> dict[str, str]:
    """What a snippet sees: this tree first, UTF-8, and a terminal without colours."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    fixed = {"NO_COLOR": "1", "COLUMNS": "100", "PYTHONUTF8": "1"}
    return os.environ | fixed | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def launch(
    words: Sequence[str], folder: Path, *, merged: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; one that takes too long ends with code 124."""
    try:
        return subprocess.run(
            words,
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            text=True,
            timeout=RUN_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        printed: object = late.stdout or ""
        shown = printed.decode(errors="replace") if isinstance(printed, bytes) else str(printed)
        note = f"still running after {RUN_SECONDS_MAX} s"
        return subprocess.CompletedProcess(list(words), 124, shown, note)


def run_page(path: str, text: str, folder: Path) -> list[str]:
    """Run a page in a folder of its own, and say everything that went wrong."""
    page = Page(path, fences(text), folder)
    run_in_module = [block for block in page.blocks if _belongs_to_module(block)]
    for block in page.blocks:
        if "no-run" in block.marks and not block.marks["no-run"]:
            page.complain(block.line, "say why: `<!-- no-run: reason -->`")
        if block.language == "python":
            _compile(page, block)
        if "file" in block.marks:
            file = folder / block.marks["file"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "console" and "no-run" not in block.marks:
            _run_console(page, block)
        elif run_in_module and block is run_in_module[-1] and not page.problems:
            _run_module(page, run_in_module)
    return page.problems


def _belongs_to_module(block: Fence) -> bool:
    return block.language == "python" and not {"no-run", "file"} & block.marks.keys()


def _compile(page: Page, block: Fence) -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if "no-run" in block.marks else 0
    try:
        compile(block.text, page.path, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as error:
        line = block.line + (error.lineno or 1) - 1
        page.complain(line, f"is not Python: {error.msg}")


# --- blocks that are one module ---------------------------------------------------------


def module_text(blocks: Sequence[Fence]) -> str:
    """The blocks as one module, every line at the number that it has in the page."""
    last = blocks[-1]
    lines = [""] * (last.line + last.lines)
    for block in blocks:
        first = block.line - 1
        lines[first : first + block.lines] = block.text.splitlines()
        lines[first + block.lines] = TELL_THE_END
    return "\n".join(lines) + "\n"


def _run_module(page: Page, blocks: Sequence[Fence]) -> None:
    file = page.folder / f"page_{re.sub(r'[^a-z0-9]+', '_', Path(page.path).stem.lower())}.py"
    file.write_text(module_text(blocks), encoding="utf-8")
    done = launch([sys.executable, file.name], page.folder)
    printed = done.stdout.split(END_OF_BLOCK)
    if done.returncode:
        culprit = blocks[min(len(printed), len(blocks)) - 1]
        what = f"this block ended with code {done.returncode}; lines below are those of the page"
        page.complain(culprit.line, f"{what}\n{printed[-1]}{done.stderr}")
        return
    for block, output in zip(blocks, printed, strict=False):
        expected = _output_below(page, block)
        if expected is not None and not agrees(output, expected.text):
            page.complain(expected.line, difference(output, expected.text))


def _output_below(page: Page, block: Fence) -> Fence | None:
    follower = page.blocks[page.blocks.index(block) + 1 :][:1]
    if follower and follower[0].language == "text" and "output" in follower[0].marks:
        return follower[0]
    return None


# --- consoles ---------------------------------------------------------------------------


def commands(block: Fence) -> list[Command]:
    """The commands of a console block, each with the lines that stand below it."""
    found: list[Command] = []
    lines = block.text.splitlines()
    number = 0
    while number < len(lines):
        start, line = number, lines[number]
        number += 1
        if line.startswith("$ "):
            while line.endswith("\\") and number < len(lines):
                line = line[:-1] + lines[number]
                number += 1
            words = shlex.split(line[2:], comments=True)
            found.append(Command(words, "", block.line + start))
        elif found:
            last = found[-1]
            found[-1] = Command(last.words, last.expected + line + "\n", last.line)
    return found


def _program(name: str) -> list[str]:
    if name == "python":
        return [sys.executable]
    script = Path(sys.executable).with_name("perdure")
    return [str(script)] if script.exists() else [sys.executable, "-m", "perdure"]


def _run_console(page: Page, block: Fence) -> None:
    ours = [found for found in commands(block) if found.words[:1] in (["perdure"], ["python"])]
    for command in ours:
        if SHELL_WORDS & set(command.words):
            page.complain(command.line, "needs a shell: split it, or mark it no-run")
            return
        done = launch([*_program(command.words[0]), *command.words[1:]], page.folder, merged=True)
        code = int(block.marks.get("exit", 0)) if command is ours[-1] else 0
        if done.returncode != code:
            what = f"ended with code {done.returncode} instead of {code}"
            page.complain(command.line, f"{what}\n{done.stdout}{done.stderr or ''}")
            return
        if "output" in block.marks and not agrees(done.stdout, command.expected):
            page.complain(command.line, difference(done.stdout, command.expected))


# --- output -----------------------------------------------------------------------------


def agrees(printed: str, expected: str) -> bool:
    """Whether what was printed is what a page expects, blanks at line ends aside."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else r".*?".join(map(re.escape, line.split("..."))) + r"\n"
        for line in _stripped(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _stripped(printed))) is not None


def _stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def difference(printed: str, expected: str) -> str:
    """Both sides, for a message."""
    return f"the output differs\n--- the page says\n{expected}\n--- it printed\n{printed}"
