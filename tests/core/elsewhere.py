"""Another process: it runs workflows, or folds their logs again, and says what came of it.

`python -m tests.core.elsewhere` reads a list of jobs from its input, as JSON, and writes one
answer each. A job names a workflow as `module:name`; with a log, as lines of JSON, it is folded.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

Job = dict[str, Any]


def ask(jobs: list[Job], *paths: Path, cwd: Path = ROOT, **env: str) -> list[Any]:
    """Have the jobs done in a fresh process under another environment."""
    places = os.pathsep.join(map(str, [*paths, ROOT / "src", ROOT]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.core.elsewhere"],
        input=json.dumps(jobs),
        env={**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1", **env},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answer(job: Job) -> Any:
    """Do one job."""
    module, _, name = job["flow"].partition(":")
    flow = getattr(importlib.import_module(module), name)
    return folded(flow, job["log"]) if "log" in job else ran(flow, job.get("args", []))


def ran(flow: Any, args: list[Any]) -> Any:
    """Run a workflow to its end; actions are not made but answered with `null`."""
    from perdure.core.facts import encode_row
    from perdure.testing import returns, run_in_memory

    memory = run_in_memory(flow, *args, script={"act": lambda *_, **__: returns(None)})
    return summary(memory.run, [row.digest for row in memory.rows]) | {
        "log": [encode_row(row).decode() for row in memory.rows],
    }


def folded(flow: Any, log: list[str]) -> Any:
    """Fold a log; say what it came to, or where it diverged."""
    from perdure.core.facts import decode_row
    from perdure.core.refold import fold_again
    from perdure.core.run import Run
    from perdure.errors import Diverged, WrongFact
    from perdure.node.host import HOST

    run = Run(flow.program(), HOST, outlines=True)
    digests = []
    for line in log:
        row = decode_row(line.encode())
        try:
            digests.append(fold_again(run, row).row.digest)
        except Diverged as error:
            return {"diverged": row.seq, "text": str(error)}
        except WrongFact as error:
            return {"refused": row.seq, "text": str(error)}
    return summary(run, digests)


def summary(run: Any, digests: list[int]) -> Any:
    """Say all that has to be the same in every process."""
    outcome = run.outcome
    value = None if outcome is None else bytes(outcome.value).decode()
    return {
        "digests": digests,
        "status": run.status,
        "value": value,
        "statistics": run.statistics(),
        "program": run.program.hash,
    }


if __name__ == "__main__":
    real = sys.stdout
    sys.stdout = sys.stderr
    real.write(json.dumps([answer(job) for job in json.load(sys.stdin)]))
