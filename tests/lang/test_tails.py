"""What cannot be put on disk is told before it runs, in the words of `reference/restorable.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.lang.diagnostics import NOTE
from tests.lang import tail_flows
from tests.tidy.pages import table_under

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "restorable.md"
SAID = [row[1] for row in table_under(PAGE.read_text(), "Constructs")]


@pytest.mark.parametrize("said", SAID)
def test_each_construct_of_the_page_is_what_the_check_says(said: str) -> None:
    flow = tail_flows.FLOWS[said]
    notes = [each for each in flow.diagnose() if each.severity == NOTE]
    assert [each.code for each in notes] == ["L301"]
    assert notes[0].message.endswith(said), notes[0].message


def test_the_page_has_every_construct_that_has_no_template() -> None:
    assert sorted(tail_flows.FLOWS) == sorted(SAID)
    assert tail_flows.restorable.diagnose() == []
