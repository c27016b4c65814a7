"""The reference names all that is public, and nothing that is not there."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import pytest

import perdure
from perdure import Options, Perdure, testing
from perdure.client import Handle

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
PLUMBING = {"leave", "changes", "store", "key"}


def public(cls):
    return [name for name in vars(cls) if not name.startswith("_") and name not in PLUMBING]


def methods(cls):
    return [name for name in public(cls) if inspect.isfunction(vars(cls)[name])]


@pytest.mark.parametrize("name", [*perdure.__all__, *testing.__all__])
def test_every_public_name_is_there(name):
    headings = [line for line in PAGE.splitlines() if line.startswith("#")]
    assert any(name in line.replace(",", " ").split() for line in headings) or f"`{name}" in PAGE


@pytest.mark.parametrize("name", [*methods(Perdure), *methods(Handle)])
def test_every_method_is_there(name):
    assert f"`await {name}(" in PAGE or f"`{name}(" in PAGE


@pytest.mark.parametrize("option", dataclasses.fields(Options), ids=lambda field: field.name)
def test_every_option_is_there(option):
    assert f"\n| `{option.name}` | " in PAGE
