"""The client of a house, and jobs that do not wait for other processes, as there are none."""

from __future__ import annotations

import pytest
from tests.house import house

from touchbase.custom_fields import job

__all__ = ["house"]


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "SETTLING_SECONDS", 0.0)
