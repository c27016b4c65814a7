"""What another process needs in order to import Perdure and these tests."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(*places: Path, **more: str) -> dict[str, str]:
    """Return the environment of a process that finds this tree, and further places."""
    path = os.pathsep.join(map(str, [ROOT / "src", ROOT, *places]))
    return os.environ | {"PYTHONPATH": path} | more
