from perdure import workflow

LOG = []
RATES = {"eur": 1}
SEEN = {}


class Ledger:
    def add(self, x):
        LOG.append(x)

    def rate(self, key):
        return RATES[key]

    @property
    def seen(self):
        return SEEN


@workflow
async def flow():
    Ledger().add(1)
    SEEN["x"] = 1
    return LOG, RATES["eur"], SEEN, Ledger().seen, Ledger().rate("eur")
