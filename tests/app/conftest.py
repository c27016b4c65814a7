from __future__ import annotations

import asyncio

import pytest

from tests.app import flows


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
