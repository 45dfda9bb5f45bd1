"""The command line, run in the test's process on a store of its own."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from touchbase.cli import cli

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tables be as wide as they are: parallel test runs set `COLUMNS`."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def own_logging() -> Iterator[None]:
    """Commands send log records to their own standard error; the test's way of logging comes back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_logging: None) -> Run:
    """Run a command in an empty folder; the store is a file there that does not exist yet."""
    monkeypatch.chdir(tmp_path)
    for name in ("TOUCHBASE_DATABASE", "TOUCHBASE_HOST", "TOUCHBASE_PORT"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(cli, arguments, input=stdin, env=env, catch_exceptions=False, prog_name="touchbase")

    return invoke


@pytest.fixture
def store(run: Run, tmp_path: Path, sqlite_template: Path) -> Run:
    """The same, with a store that is there."""
    shutil.copyfile(sqlite_template, tmp_path / "touchbase.db")
    return run


@pytest.fixture(scope="session")
def made_stores() -> dict[str, bytes]:
    """Stores that many tests begin with, by the name of the fixture that made it: making one takes 0.5 s."""
    return {}
