"""Which workloads there are, and all that were asked for, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from perdure.bench import lives, workloads
from perdure.bench.figures import Figure, Tell
from perdure.serving import spare_the_collector

WORKLOADS: dict[str, Callable[..., Awaitable[list[Figure]]]] = {
    "many": workloads.many,
    "fanout": workloads.fanout,
    "seq": workloads.seq,
    "latency": workloads.latency,
    "children": workloads.children,
    "recover": lives.recover,
    "restart": lives.restart,
    "sleepers": lives.sleepers,
    "idle": workloads.idle,
}


def run(
    names: Iterable[str], tell: Tell, show: Callable[[Figure], None], *, quick: bool
) -> list[Figure]:
    """Measure the workloads of these names, all if there are none."""
    spare_the_collector()  # as `perdure worker` does
    found: list[Figure] = []
    for name in names or WORKLOADS:

        def told(text: str, name: str = name) -> None:
            tell(f"{name}: {text}")

        figures = asyncio.run(_one(name, told, quick=quick))
        for figure in figures:
            show(figure)
        found += figures
    return found


async def _one(name: str, tell: Tell, *, quick: bool) -> list[Figure]:
    return await WORKLOADS[name](tell, quick=quick)
