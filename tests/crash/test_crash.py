"""The faults find nothing on a whole server, and find what is wrong with a broken one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crash.__main__ import main


def tested(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """The status and the rows of a run on SQLite."""
    status = main([*arguments, "--engine", "sqlite", "--out", str(folder), "--seed", "7", "--still", "2"])
    return status, json.loads((folder / "report.json").read_text())["rows"]


def test_a_server_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    status, (row,) = tested(tmp_path, "--only", "kill", "--rounds", "1")

    assert (status, row["complaints"], row["survived"]) == (0, [], True)
    assert row["acknowledged"] > 20


def test_a_server_that_answers_before_it_commits_is_found_out(tmp_path: Path) -> None:
    status, (row,) = tested(tmp_path, "--only", "kill", "--rounds", "3", "--broken", "no-flush")

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] > 0
