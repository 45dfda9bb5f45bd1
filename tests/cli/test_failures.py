"""Commands that fail: one line, exit status 1, and for an unexpected error a private file with the trace; never a secret."""

from __future__ import annotations

import errno
import re
import stat
import sys
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import asyncpg
import click
import pytest
from docs.build import listed_commands
from tests.cli.conftest import Run

from touchbase.auth.service import make_key

KEY = make_key().text
ADDRESS = "postgresql://someone:hidden@db.internal/touchbase"
TRACE = re.compile(r"the trace is in (\S+touchbase-\d{8}T\d{6}Z-\d+(?:-\d+)?\.txt): ")
COMMANDS = [
    (name.removeprefix("touchbase ").split(), command) for name, command in listed_commands() if not isinstance(command, click.Group)
]


@pytest.fixture
def traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for traces."""
    folder = tmp_path / "traces"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def fails(error: BaseException) -> Any:
    """A function that raises this error, whatever it is called with."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


def test_any_command_that_fails_unexpectedly__ends_with_one_line_and_a_trace(
    run: Run, traces: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    assert len(COMMANDS) > 80
    for words, command in COMMANDS:
        with subtests.test(" ".join(words)), monkeypatch.context() as broken:
            broken.setattr(command, "params", [])
            broken.setattr(command, "callback", fails(RuntimeError(f"cannot use {KEY}\nat {ADDRESS}")))

            result = run(*words)

            assert (result.exit_code, result.stderr.count("\n"), result.stdout) == (1, 1, "")
            assert result.stderr.startswith(f"Error: {words[0]} failed unexpectedly: RuntimeError: cannot use tb_live_{KEY[8:20]}_*** at")
            trace = TRACE.search(result.stderr)
            assert trace, result.stderr
            file = Path(trace[1])
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            text = file.read_text(encoding="utf-8")
            assert "Traceback" in text
            assert KEY[21:] not in result.stderr + text
            assert "hidden" not in result.stderr + text


@pytest.mark.parametrize("arguments", [["inbox", "list"], ["keys", "list"], ["clients", "add", "acme"], ["migrate"]])
def test_store_that_fails_unexpectedly__ends_with_one_line(
    store: Run, traces: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("touchbase.stores.open_store", fails(ZeroDivisionError("no such number")))

    result = store(*arguments)

    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(
        f"Error: {arguments[0]} failed unexpectedly: ZeroDivisionError: no such number; the trace is in "
    )
    assert len(list(traces.iterdir())) == 1


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (asyncpg.InvalidPasswordError('password authentication failed for user "ann"'), 'failed for user "ann"; check role and password'),
        (asyncpg.InvalidAuthorizationSpecificationError('role "ann" does not exist'), 'role "ann" does not exist; check role and password'),
        (asyncpg.InvalidCatalogNameError('database "x" does not exist'), 'database "x" does not exist; create the database'),
        (asyncpg.InsufficientPrivilegeError("permission denied for schema public"), "use a role that owns the database"),
        (asyncpg.DiskFullError("could not extend file"), "free some space on the server's disk"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "refused; check the address, and that the server runs"),
        (PermissionError(errno.EACCES, "Permission denied", "touchbase.db"), "'touchbase.db'; check the owner and mode"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device; free some space on this disk"),
        (ModuleNotFoundError("No module named 'apsw'", name="apsw"), "the package apsw is not installed; install what this version needs"),
        (MemoryError(), "the memory is used up"),
    ],
)  # fmt: skip
def test_known_error__has_a_sentence_with_the_next_step(
    run: Run, traces: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    monkeypatch.setattr("touchbase.stores.open_store", fails(error))

    result = run("migrate")

    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert says in result.stderr
    assert list(traces.iterdir()) == []


def test_command_that_ctrl_c_stops__ends_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.stores.open_store", fails(KeyboardInterrupt()))

    result = run("migrate")

    assert (result.exit_code, result.stderr) == (130, "stopped\n")


def test_trace_that_cannot_be_written__is_said_with_the_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.stores.open_store", fails(ZeroDivisionError("no such number")))
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")

    result = run("migrate")

    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "ZeroDivisionError: no such number; its trace could not be written" in result.stderr


def test_trace__has_no_value_of_a_secret_setting_or_option(run: Run, traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = ["canary-of-a-setting", "canary-of-an-option", "canary-behind-equals"]
    monkeypatch.setenv("TOUCHBASE_KEY", values[0])
    monkeypatch.setattr(sys, "argv", ["touchbase", "migrate", "--access-token", values[1], f"--secret={values[2]}"])
    monkeypatch.setattr("touchbase.stores.open_store", fails(RuntimeError(f"{values}; token=abc; password: 'x y'")))

    result = run("migrate")

    [file] = traces.iterdir()
    assert "canary" not in result.stderr + file.read_text()
    assert "token=*** password: ***; the trace" in result.stderr


@pytest.mark.parametrize("arguments", [["show"], ["revoke"], ["rotate"], ["list", "--before"]])
def test_key_text_in_place_of_its_id__is_never_printed(store: Run, arguments: list[str]) -> None:
    for text in (KEY, f"{KEY}x", KEY[:60], f" {KEY}", KEY[10:]):
        result = store("keys", *arguments, text)

        assert result.exit_code == 1
        assert not re.search(KEY[25:35], result.output)


def test_key_text_as_any_word__is_not_printed_back(store: Run) -> None:
    for arguments in ([KEY], ["keys", KEY], ["inbox", "list", KEY], ["inbox", "list", f"--{KEY}"], ["inbox", "list", "--client", KEY]):
        result = store(*arguments)

        assert result.exit_code in (1, 2)
        assert KEY[25:35] not in result.output


def test_keys_revoke__takes_the_text_of_the_key_too(store: Run) -> None:
    text = store("keys", "create", "--name", "lost").stdout.strip()

    result = store("keys", "revoke", text)

    assert result.output == f"key {text[-86:-74]} is revoked\n"


def test_copy__to_a_postgresql_without_the_role_says_so_in_one_line(store: Run, traces: Path, empty_postgres_url: str) -> None:
    target = re.sub(r"//[^@/]*@", "//no_such_role:hidden@", empty_postgres_url)

    result = store("copy", "--from", "sqlite:///touchbase.db", "--to", target)

    assert result.exit_code == 1
    assert re.fullmatch(r'Error: cannot connect to PostgreSQL: .*role "no_such_role".*; (create the role|check role).*\n', result.stderr)
    assert "hidden" not in result.output
    assert list(traces.iterdir()) == []


def test_copy__to_a_postgresql_without_the_database_says_so_in_one_line(store: Run, traces: Path, empty_postgres_url: str) -> None:
    target = urlsplit(empty_postgres_url)._replace(path="/no_such_database").geturl()

    result = store("copy", "--from", "sqlite:///touchbase.db", "--to", target)

    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert 'database "no_such_database" does not exist; create the database' in result.stderr
