"""Figures of cells: whose processor time counts, and what follows for many cells."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from bench.cells_scale import busiest, busiest_in_turn
from bench.noise import family_seconds

WORK = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the kernel does not say")
def test_family_seconds__count_processes_that_have_ended() -> None:
    before = family_seconds(os.getpid())

    subprocess.run([sys.executable, "-c", WORK], check=True)

    assert family_seconds(os.getpid()) - before >= 0.28


@pytest.mark.parametrize(("cells", "by_load", "in_turn"), [(1, 1.0, 1.0), (3, 0.333, 0.398), (10, 0.134, 0.201), (100, 0.134, 0.137)])
def test_busiest__is_an_even_part_until_one_client_is_more(cells: int, by_load: float, in_turn: float) -> None:
    assert round(busiest(1_000, cells), 3) == by_load
    assert round(busiest_in_turn(1_000, cells), 3) == in_turn
