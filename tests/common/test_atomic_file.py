"""A file gets its name only when it is whole, and nothing stays of those who were killed before."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.conftest import names_in

from touchbase.common.atomic_file import ABANDONED_AFTER, part_of

KILLED = "b.db.0123456789abcdef.part"


def left(folder: Path, name: str, seconds_ago: float) -> None:
    (folder / name).write_text("people")
    at = time.time() - seconds_ago
    os.utime(folder / name, (at, at))


def test_part_of__is_private_and_removes_its_files_at_the_end(tmp_path: Path) -> None:
    with part_of(tmp_path / "b.db") as part:
        mode = part.stat().st_mode & 0o777
        Path(f"{part}-journal").write_text("")

    assert mode == 0o600
    assert names_in(tmp_path) == []


def test_part_of__leaves_a_renamed_file(tmp_path: Path) -> None:
    with part_of(tmp_path / "b.db") as part:
        part.write_text("whole")
        part.replace(tmp_path / "b.db")

    assert names_in(tmp_path) == ["b.db"]


def test_part_of__removes_abandoned_parts_and_leaves_recent_ones(tmp_path: Path) -> None:
    left(tmp_path, KILLED, ABANDONED_AFTER + 60)
    left(tmp_path, f"{KILLED}-journal", ABANDONED_AFTER + 60)
    left(tmp_path, "b.db.fedcba9876543210.part", ABANDONED_AFTER - 60)

    with part_of(tmp_path / "b.db"):
        pass

    assert names_in(tmp_path) == ["b.db.fedcba9876543210.part"]


@pytest.mark.parametrize("name", ["c.db.0123456789abcdef.part", "b.db", "b.db.part", f"{KILLED}.txt", f"x{KILLED}"])
def test_part_of__leaves_files_with_similar_names(tmp_path: Path, name: str) -> None:
    left(tmp_path, name, ABANDONED_AFTER * 100)

    with part_of(tmp_path / "b.db"):
        pass

    assert names_in(tmp_path) == [name]
