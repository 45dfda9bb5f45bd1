"""`touchbase doctor`: each finding, on both engines, and that it changes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest
from tests.cli.conftest import Run
from tests.conftest import ENCRYPTION_KEYS

import touchbase
from touchbase.auth.api_key import ApiKey
from touchbase.auth.sql import store_key
from touchbase.cli import doctor as command
from touchbase.clients.models import Client
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.connections.fetch_state import FetchResult
from touchbase.connections.models import NO_SETTINGS, Connection
from touchbase.connections.sql.connections import add_connection
from touchbase.connections.sql.fetching import claim_fetch, finish_fetch
from touchbase.doctor import clock_finding
from touchbase.encryption.keys import encode_key, new_key
from touchbase.inbox.sql.commands import store_delivery
from touchbase.presence import ServerFacts, note_presence
from touchbase.sql.migrations import packaged
from touchbase.sql.operation import Command
from touchbase.storage.sqlite.schema import migrate
from touchbase.stores import open_store

HOUR = 3_600 * SECOND
KEYS = {"TOUCHBASE_ENCRYPTION_KEY": ENCRYPTION_KEYS.current}
Findings = dict[str, list[tuple[str, str]]]
Make = Callable[[Client], list[Command[Any]]]


def now() -> Micros:
    return time.time_ns() // 1000


def fill(url: str, make: Make) -> None:
    """Carry out these commands in the store, which has the client acme."""

    async def work() -> None:
        store = await open_store(url, encryption_keys=ENCRYPTION_KEYS)
        try:
            client = await store.write(ensure_client("acme", 1))
            for first in make(client):
                await store.write(first)
        finally:
            await store.close()

    asyncio.run(work())


def execute(url: str, statement: str) -> None:
    """Run a statement beside the store."""

    async def work() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute("SELECT set_config('touchbase.clients', 'all', false)")
        await connection.execute(statement)
        await connection.close()

    if url.startswith("sqlite:"):
        with apsw.Connection(url.removeprefix("sqlite:///")) as connection:
            connection.execute(statement)
    else:
        asyncio.run(work())


def delivery(client: Client, received_us: Micros, tool: str | None = "hubspot") -> store_delivery:
    return store_delivery(client.number, "crm", os.urandom(16), b"{}", "", b"{}", received_us, tool)


def connected(client: Client, created_us: Micros, secrets: tuple[str, ...] = ()) -> add_connection:
    return add_connection(Connection(client.number, "crm", "hubspot", created_us, created_us, list(secrets), NO_SETTINGS, ""))


def key(at: Micros, client: int | None = None, expires_us: Micros | None = None) -> Command[None]:
    return store_key(ApiKey("a1b2c3d4e5f6", sha256(b"x").digest(), ("admin",), client, "export", at, expires_us=expires_us))


def look(run: Run, url: str, *options: str, **env: str) -> Findings:
    """The findings by check, each as its level and text; the exit status agrees with them."""
    result = run("doctor", "--database", url, "--json", *options, env={**KEYS, **env})
    answer = json.loads(result.stdout)
    findings: Findings = {}
    for finding in answer["findings"]:
        findings.setdefault(finding["check"], []).append((finding["level"], finding["detail"]))
        assert (finding["next"] is None) == (finding["level"] == "ok"), "what is no problem needs nothing, everything else says what to do"
    levels = [level for check in findings.values() for level, _ in check]
    assert answer["problems"] == levels.count("problem")
    assert (result.exit_code, answer["ok"]) == ((1, False) if "problem" in levels else (0, True))
    return findings


def test_doctor__finds_no_problem_in_a_healthy_store_and_changes_nothing(run: Run, engine_url: str) -> None:
    fill(engine_url, lambda client: [connected(client, 1, ("a-secret-of-ours",)), delivery(client, now()), key(now(), client.number)])
    file = Path(engine_url.removeprefix("sqlite:///"))
    before = file.read_bytes() if engine_url.startswith("sqlite:") else None
    url = engine_url if before is not None else f"{engine_url}&default_transaction_read_only=on"

    result = look(run, url, TOUCHBASE_AUTH="api-key")

    assert before is not None or run("clients", "add", "other", "--database", url).exit_code == 1, "this address allows no write"
    [(level, detail)] = result.pop("server")
    assert (level, "none has said" in detail, "in key mode" in detail) == ("note", True, True)
    assert {level for check in result.values() for level, _ in check} == {"ok"}
    assert {"settings", "store", "schema", "clock", "encryption", "keys", "connections", "inbox"} <= result.keys()
    assert result["connections"] == [("ok", "all 1 connections receive webhooks")]
    assert result["encryption"] == [("ok", "all 1 secrets can be decrypted")]
    assert before is None or file.read_bytes() == before


def test_doctor__prints_findings_with_advice_in_80_columns(run: Run, sqlite_url: str) -> None:
    fill(sqlite_url, lambda client: [])
    execute(sqlite_url, "INSERT INTO migration (name, digest) VALUES ('9999_later', 'x')")

    result = run("doctor", "--database", sqlite_url, env={"COLUMNS": "80"})

    lines = result.stdout.splitlines()
    assert (result.exit_code, lines[-1]) == (1, "1 problem, 0 notes")
    assert lines[0] == "ok      settings      valid, as in this shell"
    assert any(line.startswith("problem store") for line in lines)
    assert [line for line in lines if "-> " in line and "again" in line]
    assert "9999_later" in result.stdout
    assert [line for line in lines if len(line) > 80] == []


def test_doctor__names_every_unknown_setting_and_checks_the_rest(run: Run, sqlite_url: str) -> None:
    fill(sqlite_url, lambda client: [])

    result = look(run, sqlite_url, TOUCHBASE_PORTT="1", TOUCHBASE_DATABSE="x")

    assert result["settings"] == [
        ("problem", "TOUCHBASE_DATABSE is no setting: the nearest is TOUCHBASE_DATABASE"),
        ("problem", "TOUCHBASE_PORTT is no setting: the nearest is TOUCHBASE_PORT"),
    ]
    assert result["schema"] == [("ok", "up to date")]


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"TOUCHBASE_PORT": "eighty"}, "TOUCHBASE_PORT must be a whole number"),
        ({"TOUCHBASE_WORKERS": "2"}, "SQLite is served by one process"),
    ],
)
def test_doctor__reports_settings_that_prevent_a_start(run: Run, sqlite_url: str, env: dict[str, str], says: str) -> None:
    result = look(run, sqlite_url, **env)

    assert result.keys() == {"settings"}
    assert says in result["settings"][0][1]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:///none.db", "there is no store at sqlite:///none.db"),
        ("postgresql://user:swordfish@127.0.0.1:1/x", "cannot use PostgreSQL"),
        ("mysql://user:swordfish@db/x", "no storage engine is called 'mysql'"),
    ],
)
def test_doctor__reports_a_missing_store_and_creates_none(run: Run, url: str, says: str) -> None:
    result = look(run, url)

    assert [(level, says in detail) for level, detail in result["store"]] == [("problem", True)]
    assert "swordfish" not in str(result)
    assert list(Path().iterdir()) == []


def test_doctor__reports_pending_migrations_and_runs_none(run: Run, empty_postgres_url: str) -> None:
    connection = apsw.Connection("touchbase.db")
    last = packaged("sqlite")[-1].name
    migrate(connection.cursor(), packaged("sqlite")[:-1])
    connection.close()

    for url, waits in (("sqlite:///touchbase.db", f"1 migrations, from {last}"), (empty_postgres_url, "migrations, from 0018_schema")):
        first, second = look(run, url), look(run, url)

        assert [level for level, _ in first["schema"]] == ["problem"]
        assert waits in first["schema"][0][1]
        assert second["schema"] == first["schema"]


def test_doctor__reports_a_clock_behind_the_newest_delivery(run: Run, engine_url: str) -> None:
    fill(engine_url, lambda client: [delivery(client, now() + HOUR)])

    result = look(run, engine_url)

    assert [detail.partition(",")[0][:22] for level, detail in result["clock"] if level == "problem"] == ["this machine's clock i"]


def test_doctor__reports_a_database_clock_that_differs() -> None:
    fine, ahead, behind = (clock_finding(50 * SECOND + drift, 50 * SECOND) for drift in (SECOND, 9 * SECOND, -9 * SECOND))

    assert (fine.level, ahead.level, behind.level) == ("ok", "problem", "problem")
    assert ["9 seconds ahead of" in ahead.detail, "9 seconds behind" in behind.detail] == [True, True]


@pytest.mark.parametrize(("free", "level"), [(10**6, "problem"), (1024**3 + 1, "ok")])
def test_doctor__reports_a_full_disk(run: Run, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, free: int, level: str) -> None:
    fill(sqlite_url, lambda client: [])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(2 * free, free, free))  # type: ignore[attr-defined]

    assert [item for item, _ in look(run, sqlite_url)["disk"]] == [level]


def test_doctor__notes_less_free_space_than_the_store_uses(run: Run, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(sqlite_url, lambda client: [])
    monkeypatch.setattr(command, "MIN_FREE_BYTES", 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 5, 5))  # type: ignore[attr-defined]

    assert look(run, sqlite_url)["disk"][0][0] == "note"


def test_doctor__notes_an_old_copy_of_the_store(run: Run, sqlite_url: str) -> None:
    fill(sqlite_url, lambda client: [])
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    for name, age in (("before-0001-x", 40), ("before-0001-x.sha256", 40), ("before-0002-x", 1)):
        copy = file.with_name(f"{file.name}.{name}")
        copy.write_text("")
        os.utime(copy, (time.time() - age * 86_400,) * 2)

    result = look(run, sqlite_url)

    assert [(level, detail.split()[0]) for level, detail in result["backups"]] == [("note", "touchbase.db.before-0001-x")]


def test_doctor__names_webhooks_that_were_set_aside(run: Run, sqlite_url: str, tmp_path: Path) -> None:
    fill(sqlite_url, lambda client: [])
    folder = tmp_path / "spool"
    before = look(run, sqlite_url, TOUCHBASE_SPOOL=str(folder))
    (folder / "failed").mkdir(parents=True)
    (folder / "failed" / "1-a.spool.damaged").write_bytes(b"x")

    result = look(run, sqlite_url, TOUCHBASE_SPOOL=str(folder))

    assert (before["spool"][0][0], result["spool"][0][0]) == ("ok", "problem")
    assert result["spool"][0][1] == f"0 webhooks and 1 damaged files were set aside in {folder / 'failed'}"


def test_doctor__reports_secrets_that_fail_to_decrypt(run: Run, engine_url: str) -> None:
    fill(engine_url, lambda client: [connected(client, now(), ("a-secret-of-ours",))])

    result = look(run, engine_url, TOUCHBASE_ENCRYPTION_KEY=encode_key(new_key()))

    assert [level for level, _ in result["encryption"]] == ["problem"]
    assert [(level, "the connections of acme cannot be read" in detail) for level, detail in result["connections"]] == [("problem", True)]


def test_doctor__reports_secrets_in_clear(run: Run, engine_url: str) -> None:
    fill(engine_url, lambda client: [connected(client, now(), ("a-secret-of-ours",))])
    execute(engine_url, """UPDATE connection SET secrets = '["in-clear"]'""")

    assert look(run, engine_url)["encryption"] == [("problem", "1 secrets are stored in clear")]


def test_doctor__notes_a_missing_encryption_key_on_postgresql(run: Run, postgres_url: str) -> None:
    result = look(run, postgres_url, TOUCHBASE_ENCRYPTION_KEY="")

    assert [level for level, _ in result["encryption"]] == ["note", "ok"]


@pytest.mark.parametrize(
    ("make", "level", "says"),
    [
        (lambda client: [key(now(), expires_us=now() + DAY)], "problem", "key a1b2c3d4e5f6 (export) ends at "),
        (lambda client: [key(now() - 40 * DAY)], "note", "key a1b2c3d4e5f6 (export) was never used since "),
        (lambda client: [key(now())], "note", "1 clients have no separate key: acme"),
        (lambda client: [], "problem", "no key is active"),
        (lambda client: [key(1, expires_us=2)], "problem", "no key is active"),
    ],
)
def test_doctor__reports_expiring_unused_and_missing_keys(run: Run, engine_url: str, make: Make, level: str, says: str) -> None:
    fill(engine_url, make)

    result = look(run, engine_url, TOUCHBASE_AUTH="api-key")

    assert level in [item for item, detail in result["keys"] if detail.startswith(says)]


def test_doctor__needs_no_key_in_open_mode(run: Run, sqlite_url: str) -> None:
    fill(sqlite_url, lambda client: [])

    assert look(run, sqlite_url)["keys"] == [("ok", "no key is needed")]


@pytest.mark.parametrize(
    ("days", "received", "says"),
    [
        (9, None, "acme hubspot (crm): nothing was ever received, in 9 days"),
        (20, 8, "acme hubspot (crm): nothing was received for 8 days"),
        (3, None, None),
        (20, 3, None),
    ],
)
def test_doctor__reports_a_silent_connection(run: Run, engine_url: str, days: int, received: int | None, says: str | None) -> None:
    def make(client: Client) -> list[Command[Any]]:
        heard = [] if received is None else [delivery(client, now() - received * DAY)]
        return [connected(client, now() - days * DAY), *heard, delivery(client, now(), None)]

    fill(engine_url, make)

    result = look(run, engine_url)

    assert result["connections"] == ([("problem", says)] if says else [("ok", "all 1 connections receive webhooks")])


def test_silent_after_option__sets_how_long_a_connection_may_be_silent(run: Run, sqlite_url: str) -> None:
    fill(sqlite_url, lambda client: [connected(client, now() - 3 * DAY)])

    levels = [look(run, sqlite_url, "--silent-after", after)["connections"][0][0] for after in ("2d", "4d")]

    assert levels == ["problem", "ok"]


def test_doctor__accepts_the_silence_of_a_suspended_client(run: Run, sqlite_url: str) -> None:
    fill(sqlite_url, lambda client: [connected(client, 1)])
    run("clients", "suspend", "acme", "--database", sqlite_url)

    assert look(run, sqlite_url)["connections"] == [("ok", "no tool is connected")]


def test_doctor__reports_stopped_enrichment(run: Run, engine_url: str) -> None:
    fill(
        engine_url,
        lambda client: [
            connected(client, now()),
            claim_fetch(client.number, "hubspot", 5, 9, 1),
            finish_fetch(client.number, "hubspot", 9, FetchResult(9, 1, stopped=True, error="the token is refused", at=9)),
        ],
    )

    result = look(run, engine_url)

    assert result["connections"] == [("problem", "acme hubspot: fetching records has stopped: the token is refused")]


def test_doctor__notes_records_that_wait_for_an_access_token(run: Run, engine_url: str) -> None:
    fill(engine_url, lambda client: [connected(client, now())])
    execute(
        engine_url,
        "INSERT INTO fetch_queue (client, tool, object_type, object_id, rank, thin, requested_us, next_us, attempts) "
        "SELECT id, 'hubspot', 'contact', '7', 0, 1, 5, 5, 0 FROM client WHERE client_id = 'acme'",
    )

    connections = look(run, engine_url)["connections"]
    listed = run("connections", "list", "--database", engine_url, env=KEYS)

    assert connections == [("note", "acme hubspot: records wait (1), because its webhooks leave out their values")]
    assert "acme hubspot: records wait for an access token to fetch them with: 1" in listed.stderr


@pytest.mark.parametrize(
    ("state", "level", "says"),
    [
        ("failed", "problem", "1 deliveries failed"),
        ("unrecognised", "note", "1 deliveries are unrecognised: "),
        ("parked", "note", "1 deliveries are parked: "),
        ("received", "problem", "1 deliveries wait, the oldest since "),
        ("applied", "ok", "no delivery failed or waits too long"),
    ],
)
def test_doctor__reports_deliveries_by_state(run: Run, engine_url: str, state: str, level: str, says: str) -> None:
    fill(engine_url, lambda client: [delivery(client, now() - HOUR)])
    execute(engine_url, f"UPDATE delivery SET state = '{state}'")

    result = look(run, engine_url)

    assert [(item, detail.startswith(says)) for item, detail in result["inbox"]] == [(level, True)]


def test_doctor__says_of_a_running_server_what_it_says_of_itself(run: Run, engine_url: str) -> None:
    facts = ServerFacts(
        touchbase.__version__, "http://127.0.0.1:8010", open_mode=False, host="here", pid=7, started_us=1_700_000_000_000_000
    )
    fill(engine_url, lambda client: [note_presence("a", facts, now(), now() + HOUR), note_presence("b", facts, now(), now() + HOUR)])

    result = look(run, engine_url)

    [(level, detail)] = result["server"]
    assert level == "ok"
    assert "at http://127.0.0.1:8010 in key mode" in detail
    assert "process 7 on here since 2023-11-14T22:13:20Z" in detail
    assert result["keys"][0][0] == "problem", "the server needs a key, whatever this shell says"


def test_doctor__forgets_a_server_that_has_stopped_or_no_longer_renews_its_row(run: Run, engine_url: str) -> None:
    facts = ServerFacts("0.0.1", "http://127.0.0.1:8010", open_mode=True, host="here", pid=7, started_us=5)
    fill(engine_url, lambda client: [note_presence("a", facts, now(), now() - 1), note_presence("b", facts, now(), 0)])

    assert "none has said" in look(run, engine_url)["server"][0][1]


def test_doctor__notes_a_server_of_another_version(run: Run, sqlite_url: str) -> None:
    facts = ServerFacts("0.0.1", "http://127.0.0.1:8010", open_mode=True, host="here", pid=7, started_us=5)
    fill(sqlite_url, lambda client: [note_presence("a", facts, now(), now() + HOUR)])

    [(level, detail)] = look(run, sqlite_url)["server"]
    assert (level, detail.startswith("version 0.0.1 at")) == ("note", True)
