"""Write the golden images of a release, by this Python: `python tools/golden_images.py 0.1.0`.

Each file holds a program as text, its facts, and the images after each of them. They are kept for
good: what a later release cannot restore any more, it must refuse by its version and refold.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from perdure.core import image  # noqa: E402 — the tree has to be found first
from perdure.core.facts import encode_row  # noqa: E402
from perdure.lang.telling import text_of  # noqa: E402
from perdure.testing.memory import MemoryRun, run_in_memory  # noqa: E402
from tests.core import golden_flows  # noqa: E402

FOLDER = ROOT / "tests" / "golden" / "images"
KEY = bytes(range(32))


def main() -> None:
    """Run the workflow, and write down what it was after every fact."""
    images: list[str] = []

    def watch(memory: MemoryRun) -> None:
        if memory.run.outcome is None:
            images.append(base64.b64encode(image.take(memory.run, KEY)).decode())

    memory = run_in_memory(golden_flows.standing, 3, watch=watch)
    told = {
        "program": text_of(memory.run.program).decode(),
        "rows": [encode_row(row).decode() for row in memory.rows],
        "images": images,
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    minor = ".".join(map(str, sys.version_info[:2]))
    path = FOLDER / f"{sys.argv[1]}-py{minor}.json"
    path.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{path.relative_to(ROOT)}: {len(images)} images")


if __name__ == "__main__":
    main()
