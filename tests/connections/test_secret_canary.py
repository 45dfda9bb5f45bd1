"""The canary: a client's secret goes in, works, and comes out nowhere: answers, refusals, logs, kept calls, the database."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.conftest import ExecuteSql, bytes_in

from touchbase.adapters.registry import load_adapters
from touchbase.sql.store import Store

CANARY = "canary-5c7e1f-do-not-show"
HERE = "/admin/v1/clients/acme/connections"
HOOK = "/public/crm-webhook/acme"


@pytest.fixture
async def call(store: Store, make_client: MakeClient) -> ApiClient:
    client = make_client(store, senders=load_adapters())
    await client.settings("acme")
    return client


async def test_secret__appears_in_no_response_log_delivery_or_database(
    call: ApiClient,
    engine_url: str,
    execute_sql: ExecuteSql,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    ours = {"channel": "crm", "tool": "hubspot", "secrets": [CANARY]}
    replies = [
        await call.post(HERE, ours),
        await call.post(HERE, ours),
        await call.post(HERE, {**ours, "secrets": [CANARY, CANARY]}),
        await call.post(HERE, {**ours, "secrets": [CANARY, 7]}),
        await call.post(HERE, {**ours, "secrets": [f" {CANARY}"]}),
        await call.post(HERE, {**ours, "secrets": [CANARY * 1_000]}),
        await call.post(HERE, raw=f'{{"secrets": ["{CANARY}"'.encode(), content_type="application/json"),
        await call.get(HERE),
        await call.get(f"{HERE}/crm/hubspot"),
        await call.patch(f"{HERE}/crm/hubspot", {"secrets": [CANARY, "another-one"]}),
        await call.patch(f"{HERE}/crm/hubspot", {"secrets": CANARY}),
        await call.post(f"{HOOK}?token={CANARY}", {"some": "call"}),
        await call.post(HOOK, {"said": CANARY}, x_token=CANARY),
        await call.post(HOOK, {"said": "nothing"}),
        await call.get("/admin/v1/deliveries"),
        await call.get("/admin/v1/deliveries/1"),
    ]

    statuses = [reply.status for reply in replies]
    shown = b"".join(reply.body + repr(reply.headers).encode() for reply in replies)
    text = caplog.text + "".join(capfd.readouterr()) + repr([record.args for record in caplog.records])
    assert statuses == [201, 409, 422, 422, 422, 422, 400, 200, 200, 200, 422, 200, 200, 401, 200, 200]
    assert CANARY.encode() not in shown
    assert CANARY not in text
    assert CANARY.encode() not in await _everything_kept(engine_url, execute_sql, tmp_path)


async def _everything_kept(engine_url: str, execute_sql: ExecuteSql, folder: Path) -> bytes:
    if engine_url.startswith("sqlite"):
        return bytes_in(folder)
    tables = await execute_sql("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
    rows = [await execute_sql(f"SELECT * FROM {table}") for (table,) in tables]
    assert any(b"call" in repr(row).encode() for row in rows)
    return repr(rows).encode()


async def test_undecryptable_secret__refuses_all_webhooks_with_503(
    call: ApiClient, execute_sql: ExecuteSql, caplog: pytest.LogCaptureFixture
) -> None:
    await call.post(HERE, {"channel": "crm", "tool": "hubspot", "secrets": [CANARY]})
    await execute_sql("UPDATE connection SET secrets = 'sealed:1:0123456789ab:AAAA'")
    call.clock.move(2)

    unproven, proven = await call.post(HOOK, {"some": "call"}), await call.post(f"{HOOK}?token={CANARY}", {"some": "call"})

    assert [(first.status, first.problem["code"]) for first in (unproven, proven)] == [(503, "overloaded")] * 2
    assert (await call.get("/admin/v1/deliveries")).json()["data"] == []
    assert "encrypted with the key 0123456789ab, which is missing" in caplog.text


async def test_missing_encryption_key__refuses_secrets_and_names_the_setting(postgres_url: str, make_client: MakeClient) -> None:
    from touchbase.stores import open_store

    store = await open_store(postgres_url)
    call = make_client(store, senders=load_adapters())
    await call.settings("acme")
    refused = await call.post(HERE, {"channel": "crm", "tool": "hubspot", "secrets": [CANARY]})
    taken = await call.post(HERE, {"channel": "crm", "tool": "hubspot"})
    await store.close()

    assert (refused.status, taken.status) == (422, 201)
    assert [(error["pointer"], error["code"]) for error in refused.problem["errors"]] == [("/secrets", "no_encryption_key")]
    assert "TOUCHBASE_ENCRYPTION_KEY" in refused.problem["detail"]
