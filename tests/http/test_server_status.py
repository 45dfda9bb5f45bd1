"""How the server is: for administrators of all clients."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.clients.test_lifecycle import admin, create_client, key_of

from touchbase.auth.authentication import WRITE
from touchbase.errors import Overloaded
from touchbase.sql.store import Store

STATUS = "/admin/v1/status"


@pytest.fixture
def guarded(store: Store, make_client: MakeClient) -> ApiClient:
    """The application that asks for API keys."""
    return make_client(store, auth="api-key")


async def test_get_status__reports_readiness_its_reason_and_store_warnings(guarded: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full() -> None:
        raise Overloaded("the disk is full")

    own = await admin(guarded)
    well = await guarded.get(STATUS, **own)
    store: Any = guarded.parts.store
    monkeypatch.setattr(store, "warnings", ["the role is a superuser"])
    monkeypatch.setattr(store, "check", full)
    ill = await guarded.get(STATUS, **own)

    assert (well.status, well.json()) == (
        200,
        {"ready": True, "reason": None, "warnings": [], "version": guarded.parts.version, "spool": None},
    )
    assert (ill.status, ill.json()["ready"], ill.json()["reason"]) == (200, False, "the disk is full")
    assert ill.json()["warnings"] == ["the role is a superuser"]


async def test_get_status__is_refused_without_an_admin_key_for_all_clients(guarded: ApiClient) -> None:
    await create_client(guarded, **await admin(guarded))

    reported = [
        await guarded.get(STATUS),
        await guarded.get(STATUS, **await key_of(guarded, "ours")),
        await guarded.get(STATUS, **await key_of(guarded, "ours", WRITE)),
    ]

    assert [(reply.status, reply.problem["code"]) for reply in reported] == [
        (401, "unauthorized"), (403, "forbidden"), (403, "insufficient_scope"),
    ]  # fmt: skip
