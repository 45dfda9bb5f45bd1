"""How long property tests search: CI tries a fifth of the examples, the same in each run; `make test-all` all of them, at random."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FULL = os.environ.get("TOUCHBASE_TESTS") == "full"
FEWEST = 3

# On a busy machine examples are slow, which is no fault.
BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", BUSY, derandomize=True)
settings.register_profile("full", BUSY)
settings.load_profile("full" if FULL else "ci")


def examples(most: int) -> int:
    """Return the number of examples to try, of the number in `make test-all`."""
    return most if FULL else min(most, max(FEWEST, most // 5))
