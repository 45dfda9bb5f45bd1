"""Who may define custom fields: administrators of the client, and keys of services that write."""

from __future__ import annotations

from typing import Any

import pytest
from tests.auth.test_people import Office, grants, office, quick_passwords

from touchbase.auth.authentication import READ, WRITE

__all__ = ["office", "quick_passwords"]
FIELDS = "/public/v2/custom-fields/contacts"
ACTS: list[tuple[str, str, Any]] = [
    ("POST", FIELDS, {"name": "Tier"}),
    ("PATCH", f"{FIELDS}/Seats", {"name": "Chairs"}),
    ("PATCH", f"{FIELDS}/Seats", {"type": "number"}),
    ("PATCH", f"{FIELDS}/Seats?dry_run=true", {"type": "number"}),
    ("POST", f"{FIELDS}/Seats/merge", {"into": "Places"}),
    ("DELETE", f"{FIELDS}/Seats", None),
]


@pytest.fixture
async def of_others(office: Office) -> Office:
    """Fields that others have defined."""
    for name in ("Seats", "Places"):
        assert (await office("POST", FIELDS, {"name": name}, x_client_id="ours")).status == 201
    return office


async def test_operator__defines_no_field_and_is_told_who_does(of_others: Office) -> None:
    ben = await of_others.join("ben@a.example", grants=grants(ours="operator", theirs="admin"))
    key = await ben("POST", "/team/v1/keys", {"name": "laptop", "scopes": [READ, WRITE]})
    laptop = {"authorization": f"Bearer {key.json()['key']}"}

    for method, path, body in ACTS:
        for reply in (
            await ben(method, path, body, x_client_id="ours"),
            await of_others.call(method, path, body, **laptop, x_client_id="ours"),
        ):
            assert (reply.status, reply.problem["code"]) == (403, "forbidden"), (method, path, reply.body)
            assert "administrators of the client" in reply.problem["detail"]
    assert [field["name"] for field in (await ben("GET", FIELDS, x_client_id="ours")).json()["data"]] == ["Places", "Seats"]
    values = {"values": ["4"], "into": "5"}
    assert (await ben("POST", f"{FIELDS}/Seats/merge-values?dry_run=true", values, x_client_id="ours")).status == 200
    assert (await ben("POST", FIELDS, {"name": "Tier"}, x_client_id="theirs")).status == 201


@pytest.mark.parametrize(("method", "path", "body"), ACTS)
async def test_administrator_of_the_client__defines_fields(of_others: Office, method: str, path: str, body: Any) -> None:
    ada = await of_others.join("ada@a.example", grants=grants(ours="admin"))

    reply = await ada(method, path, body, x_client_id="ours")
    assert reply.status in (200, 201, 202, 204), reply.body


async def test_key_of_a_service__defines_fields_with_records_write(of_others: Office) -> None:
    writes, reads = await of_others.key_of("ours", WRITE), await of_others.key_of("ours", READ)

    for method, path, body in ACTS[:3]:
        assert (await of_others.call(method, path, body, **reads)).problem["code"] == "insufficient_scope"
    for method, path, body in ACTS:
        reply = await of_others.call(method, path, body, **writes)
        assert reply.status in (200, 201, 202, 204, 404), (method, path, reply.body)
