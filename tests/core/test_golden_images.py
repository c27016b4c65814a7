"""Images of every release load, on the Python that wrote them; on another, nothing is guessed."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from perdure.core import bindings, image
from perdure.core.facts import decode_row
from perdure.core.refold import fold_again, refold
from perdure.errors import BadImage, BadProgram
from perdure.lang.rebuilding import rebuild
from perdure.node.host import HOST
from tests.core.elsewhere import ROOT

FILES = sorted((ROOT / "tests" / "golden" / "images").glob("*.json"))
KEY = bytes(range(32))
HERE = f"-py3.{sys.version_info[1]}"
OURS = [pytest.param(path, id=path.stem) for path in FILES if path.stem.endswith(HERE)]
OTHERS = [pytest.param(path, id=path.stem) for path in FILES if not path.stem.endswith(HERE)]


def _told(path: Path) -> Any:
    return json.loads(path.read_text())


def test_this_python_has_golden_images() -> None:
    assert [path for path in FILES if path.stem.endswith(HERE)]


@pytest.mark.parametrize("path", OURS)
def test_golden_images_go_on_to_the_same_end(path: Path) -> None:
    told = _told(path)
    program = rebuild(told["program"].encode(), bindings)
    rows = [decode_row(each.encode()) for each in told["rows"]]
    end = refold(program, rows, HOST)
    assert len(told["images"]) == len(rows) - 1
    for at, taken in enumerate(told["images"], 1):
        run = image.restore(program, base64.b64decode(taken), KEY, HOST)
        for row in rows[at:]:
            fold_again(run, row)
        assert run.outcome == end.outcome


@pytest.mark.parametrize("path", OTHERS)
def test_what_another_python_wrote_is_refused_visibly(path: Path) -> None:
    told = _told(path)
    with pytest.raises(BadProgram, match="Python"):
        rebuild(told["program"].encode(), bindings)
    own = next(each for each in FILES if each.stem.endswith(HERE))
    program = rebuild(_told(own)["program"].encode(), bindings)
    for taken in told["images"]:
        with pytest.raises(BadImage, match="is of Python 3"):
            image.restore(program, base64.b64decode(taken), KEY, HOST)
