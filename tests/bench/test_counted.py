"""What one request costs, in calls and statements, is what the committed table says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_an_operation_costs_at_most_its_counts() -> None:
    run = subprocess.run([sys.executable, "-m", "bench.counted"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr
