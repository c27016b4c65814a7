"""How Hypothesis searches: freely at a desk, repeatably at the gate.

`ci` derives its examples from each test alone, so that the gate's answer depends on the tree and
on nothing else; `desk` draws anew each time and keeps what failed. Neither has a deadline, for
the machine may be busy. `make test` on a desk chooses `desk`; with `CI` set, `ci` is chosen;
`HYPOTHESIS_PROFILE` overrides both. How many programs the differential suite generates is said
by `PERDURE_PROGRAMS`, which that suite reads itself.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

SLOW_MACHINES = [HealthCheck.too_slow]

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=SLOW_MACHINES,
)
settings.register_profile(
    "desk", deadline=None, print_blob=True, suppress_health_check=SLOW_MACHINES
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "desk")
)
