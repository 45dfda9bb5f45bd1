"""Fault runs write to a disk, not to memory: what is not flushed there is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import DISK


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder on disk that PostgreSQL's own user can be let into where the tests run as root; pytest's folders are closed to it."""
    with tempfile.TemporaryDirectory(prefix="touchbase-crash-", dir=DISK, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
