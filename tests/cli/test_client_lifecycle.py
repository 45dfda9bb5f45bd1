"""Clients and keys on the command line, from making to the end."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from touchbase.clients.models import Removal
from touchbase.clients.sql.clients import find_client
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation
from touchbase.stores import open_store


def listed(store: Run, *arguments: str) -> list[str]:
    return [item["client_id"] for item in json.loads(store("clients", "list", "--json", *arguments).output)]


def shown(store: Run, client_id: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(store("clients", "show", client_id, "--json").output)
    return document


def fill(client_id: str, many: int) -> None:
    """Put contacts into the store in the working directory."""

    async def work() -> None:
        opened = await open_store("sqlite:///touchbase.db")
        client = await opened.read(find_client(client_id))
        assert client is not None
        contacts = [Contact(client.number, 0, 1, 1, f"{n}@a.example", f"{n}@a.example") for n in range(many)]
        await asyncio.gather(*(opened.write(create_contact(Creation(contact))) for contact in contacts))
        await opened.close()

    asyncio.run(work())


def test_clients_add__generates_an_unguessable_id(store: Run) -> None:
    new_store = store("clients", "add", "--name", "Acme Ltd")

    match = re.fullmatch(r"([0-9a-f]{40})\n", new_store.stdout)
    assert match
    assert shown(store, match[1])["name"] == "Acme Ltd"


def test_clients_add__prints_the_id_and_whether_it_existed(store: Run) -> None:
    added, again = store("clients", "add", "acme"), store("clients", "add", "acme", "--name", "Acme")

    assert (added.stdout, added.stderr) == ("acme\n", "client acme is added\n")
    assert (again.stdout, again.stderr) == ("acme\n", "client acme exists and is not changed\n")
    assert shown(store, "acme")["name"] == ""


def test_clients_show__lists_former_ids_still_accepted(store: Run) -> None:
    store("clients", "add", "acme")
    ended = store("clients", "rotate-id", "acme", "--to", "second", "--keep-old", "0")
    store("clients", "rotate-id", "second", "--to", "third", "--keep-old", "1h")

    assert ended.stderr == "acme is honoured no longer\n"
    assert [former_id["client_id"] for former_id in shown(store, "third")["former_ids"]] == ["second"]


def test_clients_list__filters_by_state_and_name_in_pages(store: Run) -> None:
    for client_id, name in (("a", "North"), ("b", "South"), ("c", "North pole")):
        store("clients", "add", client_id, "--name", name)
    store("clients", "suspend", "b")

    page = store("clients", "list", "--limit", "2")

    assert listed(store) == ["a", "b", "c"]
    assert listed(store, "--name", "north") == ["a", "c"]
    assert listed(store, "--state", "suspended") == ["b"]
    assert listed(store, "--after", "b") == ["c"]
    assert page.stderr == "there are more: --after b\n"
    assert [line.split()[0] for line in page.stdout.splitlines()] == ["CLIENT", "a", "b"]


def test_client__is_renamed_suspended_and_resumed(store: Run) -> None:
    store("clients", "add", "acme")

    outputs = [store("clients", *words).output for words in (("rename", "acme", "Acme"), ("suspend", "acme"))]
    suspended = shown(store, "acme")
    store("clients", "resume", "acme")

    assert (suspended["name"], suspended["state"], shown(store, "acme")["state"]) == ("Acme", "suspended", "active")
    assert outputs[0] == "client acme is called 'Acme'\n"
    assert "its webhooks are stored" in outputs[1]


def test_clients_rotate_id__sets_a_new_id_and_accepts_the_old_one(store: Run) -> None:
    store("clients", "add", "acme")

    new_store = store("clients", "rotate-id", "acme", "--keep-old", "1h")
    again = store("clients", "rotate-id", "acme", "--to", "acme2", "--keep-old", "0")

    assert re.fullmatch(r"[0-9a-f]{40}\n", new_store.stdout)
    assert re.fullmatch(r"acme is honoured until 20\S+Z\n", new_store.stderr)
    assert again.stdout == "acme2\n"
    assert listed(store) == ["acme2"]
    assert shown(store, "acme")["client_id"] == "acme2"
    assert "there is no client" in store("clients", "show", new_store.stdout.strip()).output


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("rotate-id", "acme", "--keep-old", "soon"), 2, "no duration such as 7d, 24h, 30m or 0"),
        (("rotate-id", "acme", "--keep-old", "91d"), 2, "more than 90d"),
        (("rotate-id", "acme", "--to", "a b"), 2, "1 to 100 letters"),
        (("rotate-id", "acme", "--to", "acme"), 1, "is the client's id already"),
        (("rotate-id", "nobody"), 1, "there is no client 'nobody'"),
        (("rename", "acme", "x" * 201), 2, "at most 200 characters"),
        (("add", "a b"), 2, "1 to 100 letters"),
        (("add", "all"), 2, "stands for all clients"),
        (("suspend", "nobody"), 1, "there is no client 'nobody'"),
        (("delete", "nobody", "--yes"), 1, "there is no client 'nobody'"),
    ],
)
def test_clients__reports_an_invalid_operation_in_one_line(store: Run, arguments: tuple[str, ...], status: int, says: str) -> None:
    store("clients", "add", "acme")

    result = store("clients", *arguments)

    assert result.exit_code == status
    assert says in result.output.splitlines()[-1]
    assert listed(store) == ["acme"]


def test_clients_delete__shows_the_extent_and_requires_confirmation(store: Run) -> None:
    store("clients", "add", "acme", "--name", "Acme")
    fill("acme", 3)

    result = store("clients", "delete", "acme")

    assert result.exit_code == 2
    assert "client acme (Acme) and 16 rows" in result.output
    assert "--yes" in result.output
    assert shown(store, "acme")["state"] == "active"


def test_clients_delete__shows_its_progress(capsys: pytest.CaptureFixture[str]) -> None:
    from touchbase.cli.clients import RemovalProgress

    seconds = [0.0]
    progress = RemovalProgress(lambda: seconds[0])
    for seconds[0], removal in (
        (0.5, Removal(False, 500, 1200, (0, ()))), (1.0, Removal(False, 1000, None, (0, ()))), (1.5, Removal(False, 1200, 1200)),
        (2.0, Removal(False, 1200, 1200, wait_us=8_500_000)), (3.0, Removal(True, 1200, 1200)),
    ):  # fmt: skip
        progress.show(removal)

    assert capsys.readouterr().err.splitlines() == ["1000 of 1200 rows", "1200 of 1200 rows; 9 s until earlier requests have ended"]


def test_clients_delete__resumes_after_an_interruption(store: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from touchbase.clients import removal as clients

    monkeypatch.setattr("touchbase.clients.sql.removal.DELETION_DELAY", 0)
    store("clients", "add", "acme")
    fill("acme", 1_200)
    real = clients.removal_of

    async def stopped(*arguments, **more):
        async for removal in real(*arguments, **more):
            yield removal
            raise KeyboardInterrupt

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(clients, "removal_of", stopped)
        first = store("clients", "delete", "acme", "--yes")
    between = shown(store, "acme")
    refused = store("clients", "configure", "acme", "-", stdin="{}")
    verified, added = store("verify"), store("clients", "add", "acme")
    connected = store("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot")
    keyed = store("keys", "create", "--client", "acme", "--name", "late")
    second = store("clients", "delete", "acme", "--yes")

    assert first.exit_code == 130
    assert "continues it, or the same command" in first.output
    assert between["state"] == "deleting"
    assert between["deletion"] == {"started_time": between["deletion"]["started_time"], "removed_rows": 500, "total_rows": 4804}
    assert all("being deleted" in item.output and item.exit_code == 1 for item in (refused, added, connected))
    assert (keyed.exit_code, "there is no client 'acme'" in keyed.output) == (1, True)
    assert verified.exit_code == 0
    assert second.output == "client acme is gone, 4804 rows with it\n"


def test_keys__are_created_rotated_and_revoked(store: Run) -> None:
    store("clients", "add", "acme")

    text = store("keys", "create", "--name", "importer", "--client", "acme", "--env", "test", "--expires-in", "90d").output.strip()
    key_id = text.split("_")[2]
    before = json.loads(store("keys", "show", key_id, "--json").output)
    rotated = store("keys", "rotate", key_id, "--keep-old", "1h")
    successor = rotated.stdout.strip().split("_")[2]
    revoked = store("keys", "revoke", successor)
    after = {item["key_id"]: item for item in json.loads(store("keys", "list", "--json").output)}

    assert text.startswith("tb_test_")
    assert (before["client_id"], before["name"], before["state"], before["prefix"]) == ("acme", "importer", "active", f"tb_test_{key_id}")
    assert before["expires_time"] > before["created_time"]
    assert rotated.stdout.count("\n") == 1
    assert f"key {key_id} ends at" in rotated.stderr
    assert revoked.output == f"key {successor} is revoked\n"
    assert after[key_id]["replaced_by"] == successor
    assert after[successor]["state"] == "revoked"
    assert text.split("_")[3] not in store("keys", "list", "--json").output + store("keys", "list").output


def test_keys_list__filters_by_client_and_state_in_pages(store: Run) -> None:
    store("clients", "add", "acme")
    outputs = [
        store("keys", "create", "--name", name, *client).output.split("_")[2]
        for name, client in (("one", ()), ("two", ("--client", "acme")), ("three", ("--client", "acme")))
    ]
    store("keys", "revoke", outputs[1])

    def names(*arguments: str) -> list[str]:
        return [item["name"] for item in json.loads(store("keys", "list", "--json", *arguments).output)]

    page = store("keys", "list", "--limit", "2")
    assert names() == ["three", "two", "one"]
    assert names("--client", "acme") == ["three", "two"]
    assert names("--state", "revoked") == ["two"]
    assert names("--before", outputs[1]) == ["one"]
    assert page.stderr == f"there are more: --before {outputs[1]}\n"
    assert [line.split()[1] for line in page.stdout.splitlines()] == ["NAME", "three", "two"]


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("create", "--name", "x", "--env", "Prod"), 2, "--env: must be 1 to 16 small letters and digits"),
        (("create", "--name", "x", "--expires-in", "90"), 2, "no duration"),
        (("show", "0" * 12), 1, "there is no key"),
        (("rotate", "0" * 12), 1, "there is no key"),
        (("revoke", "0" * 12), 1, "there is no key"),
        (("list", "--client", "nobody"), 1, "there is no client"),
        (("list", "--before", "nonsense"), 1, "--before names nothing on this list"),
    ],
)
def test_keys__reports_an_invalid_operation_in_one_line(store: Run, arguments: tuple[str, ...], status: int, says: str) -> None:
    result = store("keys", *arguments)

    assert result.exit_code == status
    assert says in result.output.splitlines()[-1]
    assert json.loads(store("keys", "list", "--json").output) == []


def test_list_commands__create_no_store(run: Run, tmp_path: Path) -> None:
    run("keys", "list")
    run("clients", "list")

    assert list(tmp_path.iterdir()) == []
