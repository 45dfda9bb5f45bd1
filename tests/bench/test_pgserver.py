"""The package of PostgreSQL's programs finds what it needs, whatever PATH the tests were started with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.pgserver import pgserver


@pytest.mark.parametrize(("user", "added"), [(0, ["/usr/sbin", "/sbin"]), (1000, [])])
def test_pgserver__adds_the_admin_paths_only_as_root(user: int, added: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: user)

    pgserver()

    assert os.environ["PATH"].split(os.pathsep) == [str(tmp_path), *added]
