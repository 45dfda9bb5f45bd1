"""`touchbase copy`, as an operator uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from touchbase.encryption.keys import encode_key, new_key

SECRET = "a-secret-of-ours"
KEY = {"TOUCHBASE_ENCRYPTION_KEY": encode_key(new_key())}


@pytest.fixture
def filled(store: Run) -> Run:
    """A store with a client, a key and a connection with a secret."""
    store("clients", "add", "acme")
    store("keys", "create", "--client", "acme", "--name", "script")
    store("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", SECRET)
    return store


def test_copy__moves_a_store_to_postgresql_and_back(filled: Run, empty_postgres_url: str) -> None:
    there = filled("copy", "--from", "sqlite:///touchbase.db", "--to", empty_postgres_url, env=KEY)
    assert there.exit_code == 0, there.output
    assert "every table is equal to its source" in there.output

    back = filled("copy", "--from", empty_postgres_url, "--to", "sqlite:///back.db", "--json", env=KEY)
    assert back.exit_code == 0, back.output
    tables = {table["name"]: table["rows"] for table in json.loads(back.output)["tables"]}
    assert (tables["client"], tables["api_key"], tables["connection"]) == (1, 1, 1)

    env = {"TOUCHBASE_DATABASE": "sqlite:///back.db", **KEY}
    assert filled("keys", "list", "--json", env=env).output == filled("keys", "list", "--json").output
    assert filled("encryption-keys", "check", env=env).exit_code == 0
    assert filled("verify", env=env).exit_code == 0


def test_copy__of_secrets_requires_an_encryption_key(filled: Run, empty_postgres_url: str) -> None:
    refused = filled("copy", "--from", "sqlite:///touchbase.db", "--to", empty_postgres_url)
    assert refused.exit_code == 1
    assert "touchbase encryption-keys generate" in refused.output

    assert filled("copy", "--from", "sqlite:///touchbase.db", "--to", empty_postgres_url, env=KEY).exit_code == 0
    without_key = filled("clients", "list", env={"TOUCHBASE_DATABASE": empty_postgres_url})
    assert without_key.exit_code == 1
    assert "missing or wrong" in without_key.output


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("mysql://user:secret@h/x", "sqlite:///b.db", "--from names no store"),
        ("sqlite:///touchbase.db", "touchbase.db", "--to names no store"),
        ("sqlite:///missing.db", "sqlite:///b.db", "there is no store at sqlite:///missing.db"),
        ("sqlite:///touchbase.db", "sqlite:///touchbase.db", "name another target"),
    ],
)
def test_copy__rejects_invalid_addresses_and_says_what_to_give(store: Run, source: str, target: str, says: str) -> None:
    refused = store("copy", "--from", source, "--to", target)
    assert refused.exit_code != 0
    assert says in refused.output
    assert "secret" not in refused.output
    assert not Path("b.db").exists()
