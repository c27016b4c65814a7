"""`perdure check module…`: everything that is wrong with the workflows of modules, at once."""

from __future__ import annotations

import argparse
import json

import msgspec

from perdure.cli.naming import load_module, shown, workflows_of
from perdure.cli.stores import takes_json
from perdure.cli.terminal import wants_colour
from perdure.errors import NotAWorkflow
from perdure.lang.diagnostics import ERROR, NOTE, Diagnostic, render_all
from perdure.workflows import collecting


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("modules", metavar="MODULE", nargs="+", help="such as orders, or orders.py")
    takes_json(parser)
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")


def command(options: argparse.Namespace) -> int:
    """Print the diagnostics; 1 if there are errors."""
    found: list[Diagnostic] = []
    checked: list[tuple[str, bool]] = []
    for name in options.modules:
        _check(name, found, checked)
    found = sorted(set(found))
    if options.json:
        rows = [{"severity": each.severity, **msgspec.structs.asdict(each)} for each in found]
        print(json.dumps(rows, indent=2))
    elif found:
        print(render_all(found, colour=wants_colour()))
    else:
        print(f"{len(checked)} workflow{'s' * (len(checked) != 1)} checked, nothing to say")
    if not options.json:
        _tell_restorable(checked)
    strictly = [each for each in found if each.severity != NOTE]
    wrong = strictly if options.strict else [each for each in found if each.severity == ERROR]
    return 1 if wrong else 0


def _tell_restorable(checked: list[tuple[str, bool]]) -> None:
    """Say of each workflow that could be started whether it can always be put on disk."""
    for name, is_restorable in checked:
        print(f"{name} is {'restorable' if is_restorable else 'restorable but where noted'}")


def _check(name: str, found: list[Diagnostic], checked: list[tuple[str, bool]]) -> None:
    with collecting():
        module = load_module(name)
    flows = workflows_of(module)
    if not flows:
        raise NotAWorkflow(
            f"module `{name}` defines no workflow", remedy="decorate one with @workflow"
        )
    for flow in flows:
        said = flow.diagnose()
        if all(each.severity != ERROR for each in said):
            checked.append((flow.name, all(each.severity != NOTE for each in said)))
        found += [msgspec.structs.replace(each, file=shown(each.file)) for each in said]
