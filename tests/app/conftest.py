from __future__ import annotations

import asyncio

import pytest

from tests.app import flows
from tests.app.kit import Place


@pytest.fixture
def world(monkeypatch):
    world = flows.World()
    monkeypatch.setattr(flows.World, "here", world, raising=False)
    return world


@pytest.fixture
def hold(world):
    """Have an action wait until it is let go."""

    def hold(name):
        world.held[name] = asyncio.Event()
        return world.held[name]

    return hold


@pytest.fixture(params=["memory", "sqlite"])
def place(request, tmp_path, monkeypatch):
    return Place(request.param, tmp_path, monkeypatch)


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A place on a disk, where only that means something."""
    return Place("sqlite", tmp_path, monkeypatch)
