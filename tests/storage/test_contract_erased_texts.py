"""What every engine promises about texts outside of records: an erasure strikes the person there, and leaves the others' texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conftest import ExecuteSql
from tests.storage.database_search import find_in_database
from tests.storage.test_contract_erasure import EMAIL, NOON, PROFILE, REF, House, house, sent

from touchbase.common.timestamps import DAY
from touchbase.erasure.sql.texts import TEXT_TABLES
from touchbase.jobs.models import CANCELLED, FAILED, PREVIEW, QUEUED, SUCCEEDED, UPLOADING, Job
from touchbase.jobs.sql import change_job, create_job, get_job

__all__ = ["house"]
TEXT = f"the receiver says {EMAIL.upper()} is unknown"
IN_JSON = json.dumps({"where": [{"email": EMAIL}], EMAIL: 1, "url": PROFILE.replace("/", "\\/"), "kept": "bob@example.com"})
ROWS: dict[str, dict[str, Any]] = {
    "job": {
        "id": 900, "kind": "contacts.export", "state": "succeeded", "created_us": 1, "updated_us": 1, "settings": IN_JSON,
        "position": IN_JSON, "progress": IN_JSON, "error": TEXT, "attempts": 0, "token": "", "lease_until_us": 0,
    },
    "import_mapping": {"record": "contact", "name": "leads", "mapping": IN_JSON, "updated_us": 1},
    "idempotency_key": {
        "key": f"create:{EMAIL}", "fingerprint": b"f", "created_us": 1, "expires_us": 2**50, "response": b'{"detail": "x"}',
    },
    "webhook_attempt": {
        "id": 900, "endpoint_id": 900, "sequence": 0, "type": "endpoint.test", "at": 1, "number": 1, "outcome": "refused", "status": 400,
        "latency_us": 1, "response": TEXT, "error": f"refused: {PROFILE}?x=1",
    },
    "webhook_endpoint": {
        "id": 900, "url": "https://r.example", "types": "[]", "fields": "[]", "filter": IN_JSON, "ordering": "none", "format": "standard",
        "rate": 0, "description": TEXT, "secrets": "[]", "state": "paused", "reason": TEXT, "state_us": 1, "created_us": 1,
        "updated_us": 1, "version": 1,
    },
    "refusal": {
        "received_us": 1, "id": 900, "client_id": "acme", "channel": "crm", "cause": "secret", "size": 1, "calls": 1,
        "headers": json.dumps({"from": TEXT, "x-name": "=?utf-8?q?canary.bird=40example.com?= canary.bird%40example.com"}),
    },
    "delivery": {
        "id": 9_000_000, "channel": "crm", "state": "failed", "received_us": 1, "attempts": 10, "repeats": 0, "error": TEXT,
        "next_attempt_us": 1, "size": 1, "key": b"k", "shape": f"updated {EMAIL}", "body_removed": "retention",
        "problems": json.dumps({"unknown_status": [TEXT]}),
    },
    "logged_event": {"sequence": 900, "type": "delivery.failed", "at": 1, "changed": "{}", "cause": IN_JSON, "data": IN_JSON},
    "message": {
        "id": 900, "direction": "sent", "channel": "email", "occurred_us": 1, "event_key": "k", "received_us": 1, "tool": "test",
        "subject": TEXT, "text": f"On Monday {EMAIL} wrote", "html": f"<a href='{PROFILE}'>x</a>", "custom": IN_JSON, "updated_us": 1,
        "has_body": 1, "deleted": 0, "thread_url": f"https://tool.example/?lead={EMAIL}", "reply_ref": IN_JSON,
    },
    "suppression": {
        "kind": "domain", "value": "b.example", "id": 900, "hashed": 0, "created_us": 1, "updated_us": 1, "removed_us": 0, "note": TEXT,
    },
    "suppression_cause": {
        "kind": "domain", "value": "b.example", "key": "k", "reason": "requested", "source": "api", "note": TEXT, "since_us": 1, "at_us": 1,
    },
    "answer": {
        "id": 900, "message_id": 900, "state": "failed", "tool": "test", "text": TEXT, "closes": 0, "confirmed": 0, "created_us": 1,
        "created_by": "{}", "due_us": 1, "attempts": 0, "reason": TEXT,
    },
    "note": {"id": 900, "event_key": "api:900", "author": "{}", "text": TEXT, "mentions": "[]", "created_us": 1, "updated_us": 1},
    "task": {"id": 900, "event_key": "api:901", "author": "{}", "text": TEXT, "due_us": 1, "created_us": 1, "updated_us": 1},
    "saved_view": {
        "id": 900, "kind": 1, "author": "", "is_shared": 1, "name": TEXT, "content": IN_JSON, "position": 1, "version": 1, "updated_us": 1,
    },
    "answer_draft": {"contact_id": 900, "user_id": "u900", "text": TEXT, "updated_us": 1},
    "fetch_state": {"tool": "hubspot", "next_us": 1, "failures": 1, "stopped": 0, "error": TEXT},
}  # fmt: skip
"""One row of each table of `TEXT_TABLES`, with the person in every text."""


@pytest.fixture
async def planted(house: House, execute_sql: ExecuteSql) -> House:
    rows = [{"table": table, "client": house.client, **row} for table, row in ROWS.items()]
    for values in (*rows, {"table": "saved_view", "client": 0, **ROWS["saved_view"]}):
        table = values.pop("table")
        await execute_sql(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", *values.values())
    return house


def test_rows__have_the_person_in_every_text_that_is_searched() -> None:
    bare = {
        f"{name}.{column}"
        for name, table in TEXT_TABLES.items()
        for column in table.texts
        if not any(part in str(ROWS[name][column]).lower() for part in ("canary.bird", "canary-slug"))
    }

    assert bare == {"idempotency_key.response"}  # there the key names the person


async def test_erasure__strikes_the_person_from_texts_of_every_table(planted: House, engine_url: str, execute_sql: ExecuteSql) -> None:
    await planted.tell(sent(EMAIL))
    refs = (REF, ("", "linkedin", "linkedin.com/in/canary-slug"))
    assert len(await find_in_database(engine_url, "canary.bird", "canary-slug")) > 20

    erasure = await planted.erase(refs=refs)

    assert erasure.done_us is not None
    assert await find_in_database(engine_url, "canary.bird", "canary-slug") == []
    [(settings,)] = await execute_sql("SELECT settings FROM job WHERE id = 900")
    assert json.loads(settings) == {"where": [{"email": "[erased]"}], "[erased]": 1, "url": "[erased]", "kept": "bob@example.com"}
    assert await execute_sql("SELECT response FROM webhook_attempt WHERE id = 900") == [("the receiver says [erased] is unknown",)]
    assert await execute_sql("SELECT count(*) FROM import_mapping") == [(0,)]


async def test_erasure__leaves_texts_that_name_other_people(planted: House, execute_sql: ExecuteSql) -> None:
    await planted.erase(refs=(("", "email", "other@example.com"),))

    assert await execute_sql("SELECT response FROM webhook_attempt WHERE id = 900") == [(TEXT,)]
    [(settings,)] = await execute_sql("SELECT settings FROM job WHERE id = 900")
    assert json.loads(settings) == json.loads(IN_JSON)
    assert await execute_sql("SELECT count(*) FROM idempotency_key") == [(1,)]


async def _job(house: House, state: str) -> Job:
    new_job = Job(house.client, 0, "contacts.import", UPLOADING, NOON, NOON, {"mapping": {}}, files_until_us=NOON + DAY)
    job = await house.store.write(create_job(new_job))
    preview = {"preview": {"header": ["E-mail", "Name"], "rows": [[EMAIL, "Canaria Vogelsang"]]}}
    return await house.store.write(change_job(job.client, job.id, (UPLOADING,), state, NOON, progress=preview, files_until_us=NOON + DAY))


@pytest.mark.parametrize("state", [PREVIEW, CANCELLED])
async def test_erasure__removes_the_preview_of_an_import_that_was_not_started(house: House, engine_url: str, state: str) -> None:
    job = await _job(house, state)

    erasure = await house.erase(refs=(REF,))

    left = await house.store.read(get_job(house.client, job.id))
    assert erasure.done_us is not None
    assert left is not None
    assert (left.state, left.progress) == (FAILED if state == PREVIEW else CANCELLED, {"files_removed": True})
    assert await find_in_database(engine_url, "canary.bird", "Vogelsang") == []


async def test_erasure__waits_for_an_import_at_work_and_is_done_after_it(house: House) -> None:
    job = await _job(house, QUEUED)

    erasure = await house.erase(refs=(REF,))
    assert (erasure.searched_us, erasure.waits_for) == (None, "an import or export of the client that is at work")

    await house.store.write(
        change_job(house.client, job.id, (QUEUED,), SUCCEEDED, NOON, error=f"row 7: {EMAIL}", files_until_us=NOON + DAY)
    )
    erasure = await house.eraser.search(erasure)
    left = await house.store.read(get_job(house.client, job.id))

    assert erasure.done_us is not None
    assert left is not None
    assert left.error == "row 7: [erased]"
