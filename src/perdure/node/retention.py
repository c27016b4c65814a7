"""How long a store keeps the facts of runs that have ended: the policy of whoever owns them.

Little at a time, by an index of what has ended and was not looked at: nothing else is read.
"""

from __future__ import annotations

import asyncio

from perdure.errors import StoreError
from perdure.node.options import Options
from perdure.store.port import Store

BATCH = 100
"""How many runs are pruned in one write."""
BREATH_S = 0.1
"""How long others may write between two of these."""
REST_MIN_S, REST_MAX_S = 0.05, 60.0


async def retain(store: Store, options: Options, keep_s: float) -> None:
    """Prune what ended more than `keep_s` ago, as long as somebody owns the runs."""
    rest_s = min(max(keep_s / 10, REST_MIN_S), REST_MAX_S)
    while True:
        try:
            pruned = await store.prune(options.now_us() - round(keep_s * 1_000_000), BATCH)
        except StoreError as error:
            options.warn(f"runs that ended long ago cannot be pruned for now: {error}")
            pruned = 0
        await asyncio.sleep(BREATH_S if pruned == BATCH else rest_s)
