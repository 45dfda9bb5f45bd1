"""`touchbase users`: people and their personal keys, on the store itself."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.cli.conftest import Run

from touchbase.auth.api_key import ApiKey
from touchbase.auth.sql import store_key
from touchbase.stores import open_store


def test_personal_keys__are_listed_and_revoked_by_the_operator_who_can_make_none(store: Run, tmp_path: Path) -> None:
    store("users", "add", "mira@example.com", "--role", "operator")
    user = json.loads(store("users", "list", "--json").output)[0]

    async def make() -> None:
        opened = await open_store(f"sqlite:///{tmp_path}/touchbase.db")
        await opened.write(store_key(ApiKey("0" * 12, b"x" * 32, ("records:read",), None, "laptop", 5, "me", user_id=user["id"])))
        await opened.close()

    asyncio.run(make())

    listed = store("users", "keys", "list", "mira@example.com").output
    assert ("laptop" in listed, "active" in listed, "records:read" in listed) == (True, True, True)
    assert store("users", "keys", "revoke", "0" * 12).output == f"key {'0' * 12} is revoked\n"
    assert json.loads(store("users", "keys", "list", "mira@example.com", "--json").output)[0]["state"] == "revoked"
    refused = store("users", "keys", "create", "--name", "x")
    assert (refused.exit_code, "only people have personal keys" in refused.output) == (1, True)
