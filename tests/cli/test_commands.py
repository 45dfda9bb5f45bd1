"""Commands that need no server: preview, clients, keys, inbox, worker, migrate, openapi."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from tests.cli.conftest import Run
from tests.storage.old_store import KEY, make_old_sqlite

from touchbase import __version__
from touchbase.clients.sql.clients import ensure_client
from touchbase.history.dedupe_keys import body_key
from touchbase.inbox.sql.commands import store_delivery
from touchbase.stores import open_store

SENT = b'{"event_type":"email_sent","lead_email":"contact@example.com","timestamp":"2026-11-20T09:30:00Z"}'
NONSENSE = b"nothing that a tool would send"
ENCRYPTED = {"TOUCHBASE_ENCRYPTION_KEY": KEY}


def keep(*bodies: bytes, client_id: str = "acme", channel: str = "email_campaign") -> list[int]:
    """Put these calls into the inbox of the store in the working directory."""

    async def work() -> list[int]:
        store = await open_store("sqlite:///touchbase.db")
        client = await store.write(ensure_client(client_id, 1))
        commands = [store_delivery(client.number, channel, body_key(channel, "", "", body), b"{}", "", body, 2) for body in bodies]
        stored = [await store.write(command) for command in commands]
        await store.close()
        return [command.id for command in stored]

    return asyncio.run(work())


def test_version_option__prints_the_version(run: Run) -> None:
    assert run("--version").output == f"touchbase {__version__}\n"


def test_preview__translates_a_webhook_without_storing_it(run: Run, tmp_path: Path) -> None:
    result = run("preview", "--channel", "email_campaign", "-", stdin=SENT)

    translated = json.loads(result.output)
    assert result.exit_code == 0
    assert translated["tool"] == "instantly"
    assert [(event["event"], event["email"]) for event in translated["events"]] == [("email_sent", "contact@example.com")]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("translate", "preview"),
        ("erase", "persons erase"),
        ("export-person", "persons export"),
        ("reapply-erasures", "persons reapply-erasures"),
        ("inbox refused", "refusals list"),
        ("cells", "databases"),
    ],
)
def test_renamed_command__works_under_its_old_name_and_is_hidden(run: Run, old: str, new: str) -> None:
    helps = [run(*words.split(), "--help").output.partition("\n\n")[2] for words in (old, new)]
    wrong = run(*old.split(), "--no-such-option")

    assert helps[0] == helps[1] != ""
    assert (wrong.exit_code, "No such option" in wrong.output) == (2, True)
    assert f"  {old} " not in run("--help").output


def test_preview__reads_a_webhook_from_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "call.json").write_bytes(SENT)

    result = run("preview", "--channel", "email_campaign", "--tool", "instantly", "call.json")

    assert json.loads(result.output)["tool"] == "instantly"
    assert run("preview", "--tool", "instantly", "call.json").output == result.output


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--channel", "crm", "-"], 1, "neither JSON nor form fields"),
        (["--channel", "crm", "--tool", "nosuchtool", "-"], 2, "no crm tool is called 'nosuchtool': `touchbase tools` lists them"),
        (["--channel", "crm", "--tool", "hubspot", "-"], 1, "this webhook is not from it"),
        (["--channel", "crm", "--tool", "instantly", "-"], 2, "no crm tool is called 'instantly'"),
        (["--channel", "crm", "missing.json"], 1, "cannot read missing.json: No such file"),
        (["--channel", "post", "-"], 2, "email_campaign"),
        (["--channel", "crm", "-H", "nocolon", "-"], 2, "NAME: VALUE"),
        (["-"], 2, "give --channel email_campaign or crm, or --tool"),
        (["--tool", "generic", "-"], 2, "generic is on both channels: give --channel email_campaign or crm"),
        (["--tool", "nosuchtool", "-"], 2, "no tool is called 'nosuchtool': `touchbase tools` lists them"),
        (["--tool", "hubspot", "-"], 1, "this webhook is not from it"),
    ],
)
def test_preview__reports_errors_without_a_traceback(run: Run, arguments: list[str], status: int, says: str) -> None:
    result = run("preview", *arguments, stdin=NONSENSE)

    assert result.exit_code == status
    assert says in result.output
    assert "Traceback" not in result.output


def test_migrate__creates_a_store_and_then_has_nothing_to_do(run: Run) -> None:
    first, second = run("migrate"), run("migrate")

    assert first.output.splitlines()[0] == "ran 0018_schema"
    assert second.output == "sqlite:///touchbase.db is up to date\n"


@pytest.mark.parametrize("words", [("clients", "list"), ("inbox", "list"), ("verify",), ("clients", "add", "acme")])
def test_outdated_store__is_rejected_until_migrated(run: Run, words: tuple[str, ...]) -> None:
    make_old_sqlite(Path("touchbase.db"))

    refused = run(*words, env=ENCRYPTED)
    migrated = run("migrate", env=ENCRYPTED)

    assert (refused.exit_code, refused.output.count("run touchbase migrate")) == (1, 1)
    (copy,) = Path().glob("touchbase.db.before-*[0-9]Z")
    assert migrated.output.splitlines()[0] == "ran 0019_privacy"
    assert copy.name in migrated.output
    assert run(*words, env=ENCRYPTED).exit_code == 0


def test_migrate__makes_no_copy_with_no_migration_copy(run: Run) -> None:
    make_old_sqlite(Path("touchbase.db"))

    assert run("migrate", "--no-migration-copy", env=ENCRYPTED).exit_code == 0
    assert list(Path().glob("*.before-*")) == []


@pytest.mark.parametrize("words", [("tools",), ("migrate",), ("clients", "list"), ("worker", "--once"), ("serve", "--port", "0")])
def test_unknown_setting__stops_every_command(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words, env={"TOUCHBASE_DATABSE": "sqlite:///x.db"})

    assert result.exit_code == 2
    assert "TOUCHBASE_DATABSE is no setting: the nearest is TOUCHBASE_DATABASE" in result.output
    assert list(Path().iterdir()) == []


def test_clients_configure__replaces_the_settings_from_standard_input(store: Run) -> None:
    store("clients", "add", "acme")

    result = store("clients", "configure", "acme", "-", stdin='{"on_duplicate": "update"}')
    shown = json.loads(store("clients", "show", "acme", "--json").output)

    assert result.exit_code == 0
    assert shown["settings"]["on_duplicate"] == "update"
    assert shown["settings"]["create_unknown"] is True


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ('{"on_duplicate": "explode"}', "/on_duplicate must be one of error, return, update"),
        ('{"on_duplicate": "explode", "limits": 5}', "/limits must be an object, not an integer"),
        ('{"contact_statuses": {"statuses": ["a\\u0000b"]}}', "NUL"),
        ('{"a": 1}}', "line 1 column 9"),
        ("5", "the settings must be an object, not an integer"),
        ('{"on_duplicat": "error"}', "on_duplicat"),
        ('{"contact_statuses": {"statuses": ["new", "new"]}}', "given twice"),
        ("{", "no valid client settings"),
        (b'{"\xff": 1}', "no valid client settings"),
    ],
)
def test_clients_configure__rejects_invalid_settings(store: Run, value: str | bytes, says: str) -> None:
    store("clients", "add", "acme")

    result = store("clients", "configure", "acme", "-", stdin=value)

    assert result.exit_code == 1
    assert says in result.output
    assert json.loads(store("clients", "show", "acme", "--json").output)["settings"]["on_duplicate"] == "error"


def test_keys_create__prints_the_key_once_for_an_existing_client(store: Run) -> None:
    store("clients", "add", "acme")

    new_store = store("keys", "create", "--name", "nightly export", "--client", "acme", "--scope", "records:read")
    refused = store("keys", "create", "--name", "nightly export", "--client", "nobody")

    assert new_store.output.startswith("tb_live_")
    assert new_store.output.count("\n") == 1
    assert refused.exit_code == 1
    assert "there is no client 'nobody'" in refused.output


def test_inbox_list__is_newest_first_and_filtered(store: Run) -> None:
    first, second = keep(SENT, NONSENSE)
    keep(SENT, client_id="other", channel="crm")

    everything = json.loads(store("inbox", "list", "--json").output)
    of_acme = json.loads(store("inbox", "list", "--client", "acme", "--json").output)
    of_crm = json.loads(store("inbox", "list", "--channel", "crm", "--json").output)

    assert len(everything) == 3
    assert [item["id"] for item in of_acme] == [second, first]
    assert [item["client_id"] for item in of_crm] == ["other"]


def test_inbox_list__prints_a_table(store: Run) -> None:
    keep(SENT)

    lines = store("inbox", "list").output.splitlines()

    titles = ["ID", "RECEIVED", "CLIENT", "TOOL", "STATE", "EVENT", "PERSON", "CHANNEL", "PROVED", "TRIES", "REPEATS", "WHY"]
    assert lines[0].split() == titles
    assert "acme" in lines[1]
    assert "received" in lines[1]


def test_worker_once__applies_waiting_deliveries_and_reports_them(store: Run) -> None:
    applied, unrecognised = keep(SENT, NONSENSE)

    report = json.loads(store("worker", "--once", "--json").output)
    states = {item["id"]: item["state"] for item in json.loads(store("inbox", "list", "--json").output)}

    assert report == {"taken": 2, "ended": {"applied": 1, "unrecognised": 1}, "records_created": 1, "calls_to_tools": 0}
    assert states == {applied: "applied", unrecognised: "unrecognised"}


def test_worker_once__continues_past_a_client_with_undecryptable_secrets(store: Run) -> None:
    store("clients", "add", "acme")
    store("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", "a-secret-of-ours")
    with apsw.Connection("touchbase.db") as connection:
        connection.execute("UPDATE connection SET secrets = 'sealed:1:0123456789ab:AAAA'")
    keep(SENT)
    keep(SENT, client_id="other")

    result = store("worker", "--once", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["ended"] == {"applied": 1}
    assert "the inbox of 1 clients could not be processed" in result.stderr


def test_inbox_show__prints_the_body_and_its_events(store: Run) -> None:
    (delivery,) = keep(SENT)
    store("worker", "--once")

    detail = json.loads(store("inbox", "show", str(delivery), "--json").output)
    text = store("inbox", "show", str(delivery)).output

    assert detail["body"] == {"encoding": "utf-8", "content": SENT.decode()}
    assert [(event["event"], event["record"]) for event in detail["events"]] == [("email_sent", "contact")]
    assert SENT.decode() in text


def test_inbox_replay__puts_the_selected_deliveries_back(store: Run) -> None:
    applied, unrecognised = keep(SENT, NONSENSE)
    store("worker", "--once")

    dry = store("inbox", "replay", "--state", "unrecognised", "--dry-run")
    untouched = json.loads(store("inbox", "list", "--state", "received", "--json").output)
    by_filter = store("inbox", "replay", "--state", "unrecognised")
    by_id = store("inbox", "replay", str(applied))
    waiting = json.loads(store("inbox", "list", "--state", "received", "--json").output)

    assert dry.output.splitlines()[-2:] == [
        "1 delivery would be applied again: 1 unrecognised -> unrecognised",
        "0 records would be made, 0 would change",
    ]
    assert untouched == []
    assert (by_filter.exit_code, by_id.exit_code) == (0, 0)
    assert [item["id"] for item in waiting] == [unrecognised, applied]


@pytest.mark.parametrize("arguments", [[], ["1", "--state", "failed"]])
def test_inbox_replay__requires_either_ids_or_filters(store: Run, arguments: list[str]) -> None:
    result = store("inbox", "replay", *arguments)

    assert result.exit_code == 2
    assert "either ids or filters" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["inbox", "list"],
        ["worker", "--once"],
        ["migrate"],
        ["backup", "b.db"],
        ["restore", "b.db"],
        ["encryption-keys", "rotate"],
        ["verify"],
    ],
)
def test_database_option__with_an_unknown_engine_is_a_usage_error(store: Run, arguments: list[str]) -> None:
    result = store(*arguments, env={"TOUCHBASE_DATABASE": "mysql://user:secret@db/x"})

    assert result.exit_code == 2
    assert "--database (TOUCHBASE_DATABASE) names no store: no storage engine is called 'mysql'" in result.output.splitlines()[-1]
    assert "secret" not in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["inbox", "show", "99"], "there is no delivery with id 99"),
        (["inbox", "replay", "99"], "there is no delivery with id 99"),
        (["inbox", "list", "--client", "nobody"], "there is no client 'nobody'"),
        (["clients", "show", "nobody"], "there is no client 'nobody'"),
        (["inbox", "list", "--database", "sqlite:///none.db"], "there is no store at sqlite:///none.db"),
        (["worker", "--once", "--database", "sqlite:///none.db"], "there is no store at sqlite:///none.db"),
        (["inbox", "list", "--database", "postgresql://user:secret@127.0.0.1:1/x"], "cannot connect to PostgreSQL"),
    ],
)
def test_missing_object__is_reported_in_one_line(store: Run, arguments: list[str], says: str) -> None:
    result = store(*arguments)

    assert result.exit_code == 1
    assert says in result.output
    assert result.output.count("\n") == 1
    assert "secret" not in result.output


def test_inbox_list__creates_no_store(run: Run, tmp_path: Path) -> None:
    run("inbox", "list")

    assert list(tmp_path.iterdir()) == []


def test_openapi__prints_the_interface_description(run: Run) -> None:
    document = json.loads(run("openapi").output)

    assert document["openapi"].startswith("3.1")
    assert "/public/v2/contacts" in document["paths"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion__prints_a_script_for_each_shell(run: Run, shell: str) -> None:
    result = run("completion", shell)

    assert "_TOUCHBASE_COMPLETE" in result.output


def test_completion__completes_a_subcommand(run: Run) -> None:
    words = run(env={"_TOUCHBASE_COMPLETE": "bash_complete", "COMP_WORDS": "touchbase inbox re", "COMP_CWORD": "2"}).output

    assert words == "plain,replay\n"


def test_tools__lists_every_tool_with_its_signs_and_events(run: Run) -> None:
    listed = json.loads(run("tools", "--json").output)
    table = run("tools").output.splitlines()

    [hubspot] = [item for item in listed if (item["tool"], item["channel"]) == ("hubspot", "crm")]
    assert {"subscriptionType", "x-hubspot-signature"} <= set(hubspot["recognised"])
    assert "`contact.creation`" in hubspot["understood"][0]["theirs"]
    assert len(table) == len(listed) + 1
    of = {(tool["tool"], tool["channel"]): tool for tool in listed}
    assert "running program" in of["woocommerce", "crm"]["seen"]
    assert of["smartlead", "email_campaign"]["api_tested_against_our_server"] == ["load", "blocklist", "answer"]
    assert of["hubspot", "crm"]["api_tested_against_our_server"] == ["fetch"]
    assert all(tool["seen"] for tool in listed)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["create", "--name", " "], 2, "--name: must not be blank"),
        (["create", "--name", "x" * 201], 2, "--name: must have at most 200 characters"),
        (["create", "--name", "\udcff"], 1, "is not UTF-8"),
        (["create", "--name", "x", "--expires-in", "0"], 2, "must be in the future"),
        (["show", "x"], 1, "there is no such key; an id is 12 hexadecimal digits"),
        (["show", "0123456789ab"], 1, "there is no key '0123456789ab': `touchbase keys list`"),
        (["rotate", "x"], 1, "`touchbase keys list`"),
        (["revoke", "x"], 1, "`touchbase keys list`"),
        (["list", "--before", "x"], 1, "--before names nothing on this list"),
    ],
)
def test_keys__reports_an_invalid_name_or_unknown_key(store: Run, arguments: list[str], status: int, says: str) -> None:
    result = store("keys", *arguments)

    assert result.exit_code == status
    assert says in result.output
    assert json.loads(store("keys", "list", "--json").output) == []


def test_preview__reads_a_compressed_body_and_rejects_an_oversized_list(run: Run) -> None:
    packed = run("preview", "--channel", "email_campaign", "-H", "content-encoding: gzip", "-", stdin=gzip.compress(SENT))
    bulk = run("preview", "--channel", "crm", "-", stdin=b"[" + b"{}," * 200_000 + b"{}]")

    assert [event["email"] for event in json.loads(packed.output)["events"]] == ["contact@example.com"]
    assert bulk.exit_code == 1
    assert "more than" in bulk.output


def test_encryption_keys_replace_lost__has_nothing_to_do_without_lost_secrets(store: Run) -> None:
    assert store("encryption-keys", "replace-lost", "--yes").output == "no secret is lost: there is nothing to replace\n"


def test_invalid_argument__is_reported_in_one_sentence(store: Run) -> None:
    result = store("clients", "show", "\udcff")

    assert result.exit_code == 1
    assert result.output.startswith("Error: clients failed: ")


def test_closed_pipe__ends_a_command_successfully() -> None:
    program = [sys.executable, "-m", "touchbase", "tools", "--json"]
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(program, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("group", ["inbox", "clients", "keys", "encryption-keys", "persons"])
def test_group_help__lists_commands_in_whole_sentences(run: Run, group: str) -> None:
    assert "..." not in run(group, "--help").output.partition("Commands:")[2]


def test_help__shows_no_default_for_an_option_without_one(run: Run) -> None:
    assert "default: ]" not in run("serve", "--help").output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["connection", "list"], "Did you mean connections?"),
        (["keys", "crate"], "'create'"),
        (["xyz"], "No such command 'xyz'.\n"),
        (["import", "revyops"], "integrations/revyops"),
    ],
)
def test_misspelt_command__suggests_the_nearest(run: Run, words: list[str], says: str) -> None:
    result = run(*words)

    assert result.exit_code == 2
    assert says in result.output


def test_completion__works_despite_an_unknown_setting(run: Run) -> None:
    env = {"_TOUCHBASE_COMPLETE": "bash_complete", "COMP_WORDS": "touchbase keys cre", "COMP_CWORD": "2", "TOUCHBASE_DATABSE": "x"}

    assert run(env=env).output == "plain,create\n"
