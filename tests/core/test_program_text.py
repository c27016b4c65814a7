"""Every program of the corpus becomes text, and comes back from it as the same program."""

from __future__ import annotations

import re
import traceback

import pytest

from perdure.core import bindings
from perdure.core.refold import refold
from perdure.errors import NotStorable
from perdure.lang import source as sources
from perdure.lang.rebuilding import rebuild
from perdure.lang.telling import text_of
from perdure.node.host import HOST
from perdure.testing import run_in_memory
from tests.core import text_flows
from tests.differential import harness
from tests.differential.test_restored import SHARED

SOURCES = [pytest.param(source, id=source.name) for source in harness.sources()]


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the modules had other texts today: everything comes from the text of the program."""
    monkeypatch.setattr(sources, "_readable", lambda _: None)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("source", SOURCES)
def test_programs_come_back_from_their_text(source: harness.Source) -> None:
    for name in source.names:
        _, memory = harness.perdure(source, name)
        if memory is None:
            continue
        program = memory.run.program
        text = text_of(program)
        again = rebuild(text, bindings)
        assert (again.hash, again.changed) == (program.hash, ()), name
        assert text_of(again) == text, name
        if name not in SHARED:
            refold(again, memory.rows, HOST)


def test_functions_that_share_a_line_come_back_each_as_itself() -> None:
    program = text_flows.lambdas.program()
    again = rebuild(text_of(program), bindings)
    assert again.hash == program.hash


@pytest.mark.usefixtures("stored")
def test_tracebacks_of_a_program_of_before_show_its_own_lines() -> None:
    program = rebuild(text_of(text_flows.fails.program()), bindings)
    rows = run_in_memory(text_flows.fails).rows
    run = refold(program, rows, HOST)
    shown = "".join(traceback.format_exception(run.error))
    assert 'raise ValueError("here")' in shown
    assert "text_flows.py@" in shown


def test_what_can_be_neither_written_nor_named_is_told() -> None:
    with pytest.raises(NotStorable, match=re.escape("`tests.core.text_flows:HELD` is or holds a")):
        text_of(text_flows.unstorable.program())
