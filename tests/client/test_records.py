"""Records through both clients, against a whole server."""

from __future__ import annotations

import logging

import pytest
from tests.client.conftest import Served

from touchbase_client import AsyncTouchbase, Duplicate, Invalid, NotFound, NotModified, PreconditionFailed, Touchbase


def test_contacts__are_created_read_changed_and_deleted(tb: Touchbase) -> None:
    created = tb.contacts.create({"email": "ann@example.com", "first_name": "Ann", "contact_status": "new"})
    changed = tb.contacts.update(
        created["id"], {"contact_status": "won", "contact_custom_fields_input": [{"field_name": "A", "field_value": "1"}]}
    )
    response = tb.contacts.get(created["id"], structure="FLAT")
    tb.contacts.delete(created["id"])

    assert (changed["contact_status"], changed["previous_status"]) == ("won", "new")
    assert response["contact_custom_fields"] == {"A": "1"}
    with pytest.raises(NotFound) as error:
        tb.contacts.get(created["id"])
    assert error.value.deleted_at is not None
    assert [item["id"] for item in tb.contacts.iterate_deleted()] == [created["id"]]


async def test_async_contacts__do_the_same(atb: AsyncTouchbase) -> None:
    created = await atb.contacts.create({"email": "ann@example.com", "contact_status": "new"})
    changed = await atb.contacts.update(created["id"], {"contact_status": "won"})

    assert changed["previous_status"] == "new"
    assert [item["id"] async for item in atb.contacts.iterate(limit=1)] == [created["id"]]
    with pytest.raises(NotFound):
        await atb.contacts.get(created["id"] + 1)


def test_dry_run__says_what_would_be_written_and_writes_nothing(tb: Touchbase) -> None:
    said = tb.contacts.create.dry_run({"email": "ann@example.com"})

    assert (said["dry_run"], said["status"], said["id"]) == (True, 201, None)
    assert tb.contacts.list()["data"] == []


def test_iterate__reads_every_page_of_lists_and_searches(tb: Touchbase) -> None:
    tb.contacts.batch({"commands": [{"op": "create", "body": {"email": f"{n}@example.com"}} for n in range(7)]})

    assert [item.get("email") for item in tb.contacts.iterate(limit=3)] == [f"{n}@example.com" for n in range(7)]
    assert len([*tb.contacts.iterate_search({"where": {"email[contains]": "example"}, "limit": 2})]) == 7
    assert [*tb.companies.iterate()] == []


def test_response__has_the_version_for_safe_changes(tb: Touchbase) -> None:
    created = tb.contacts.create({"email": "ann@example.com"})
    version = tb.contacts.get.response(created["id"]).etag
    assert version is not None

    with pytest.raises(NotModified):
        tb.contacts.get(created["id"], if_none_match=version)
    tb.contacts.update(created["id"], {"first_name": "Ann"}, if_match=version)
    with pytest.raises(PreconditionFailed):
        tb.contacts.update(created["id"], {"first_name": "Anna"}, if_match=version)


def test_problem__names_field_detail_request_and_the_next_step(tb: Touchbase) -> None:
    created = tb.contacts.create({"email": "ann@example.com"})

    with pytest.raises(Invalid) as invalid:
        tb.contacts.create({"email": "no address", "first_name": "x" * 300})
    with pytest.raises(Duplicate) as duplicate:
        tb.contacts.create({"email": "ann@example.com"})

    assert sorted(invalid.value.fields) == ["email", "first_name"]
    assert "/email" in str(invalid.value)
    assert invalid.value.request_id in str(invalid.value)
    assert duplicate.value.existing_id == created["id"]
    assert "on_duplicate" in str(duplicate.value)


def test_repr_errors_and_logs__never_show_the_key(served: Served, admin: Touchbase, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(NotFound) as error:
        admin.for_client("unknown").contacts.list()

    shown = [repr(admin), repr(admin._core), repr(admin.contacts.list), repr(error.value), str(error.value), caplog.text]
    assert [text for text in shown if served.key in text] == []
    with pytest.raises(ValueError, match="key") as wrong:
        Touchbase(served.url, f"{served.key}\nX: 1")
    assert served.key not in str(wrong.value)
