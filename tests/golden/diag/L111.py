import json
from collections import Counter

from perdure import workflow


class Settings:
    loaded = []
    rates = {"eur": 1}
    limit = 3


def raise_limit():
    Settings.limit += 1


@workflow
async def flow():
    Settings.loaded.append(1)
    Settings.rates["usd"] = 2
    json.indent = 4
    raise_limit()
    Counter.update(Counter(), "fine: a method, called by its class")
    return Settings.limit
