"""Where an action waits until a test lets it go on; kept apart from the module that is deployed."""

from __future__ import annotations

import asyncio
from typing import ClassVar


class Gate:
    """One gate for all attempts."""

    here: ClassVar[Gate]

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.values: list[str] = []

    async def passed(self, value: str) -> str:
        """Wait until it is open."""
        self.values.append(value)
        self.entered.set()
        await self.open.wait()
        return value.upper()
