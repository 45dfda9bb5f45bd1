"""A reader of the feed that keeps its own copy of all records from what the events say changed, and never reads a record."""

from __future__ import annotations

from typing import Any

from tests.house import House

Copy = dict[tuple[str, int], dict[str, Any]]
"""Kind and id -> the fields with a value."""


def apply_event(copy: Copy, event: dict[str, Any]) -> None:
    """Apply one event; its values before must be those of the copy."""
    kind, what = event["type"].split(".")
    data = event["data"]
    if kind not in ("contact", "company"):
        return
    key = (kind, data["record_id"])
    if what in ("deleted", "erased"):
        copy.pop(key, None)
        return
    if what in ("created", "restored"):
        assert key not in copy, event
        copy[key] = {}
    for gone in data.get("merged", ()):
        del copy[kind, gone]
    fields = copy[key]
    for name, (before, after) in data["changed"].items():
        assert before == fields.get(name), (event, fields)
        assert before != after, event
        fields.pop(name, None)
        if after is not None:
            fields[name] = after


async def copied(house: House, copy: Copy | None = None, cursor: str = "evt_0", limit: int = 1_000) -> tuple[Copy, str]:
    """Read the feed after a cursor to its end; return the copy and the next cursor. Every sequence must come once, without a gap."""
    copy, observed = {} if copy is None else copy, int(cursor.removeprefix("evt_"))
    while True:
        reply = await house.request("GET", f"/public/v2/events?after=evt_{observed}&limit={limit}")
        assert reply.status == 200, reply.body
        page = reply.json()
        for event in page["data"]:
            observed += 1
            assert event["data"]["id"] == f"evt_{observed}"
            apply_event(copy, event)
        assert page["next_cursor"] == f"evt_{observed}"
        if not page["has_more"]:
            return copy, page["next_cursor"]


async def shown(house: House) -> Copy:
    """All records as the API shows them, in the form of the copy."""
    copy: Copy = {}
    for kind, many in (("contact", "contacts"), ("company", "companies")):
        for record in await house.listed(many):
            fields = {
                name: value
                for name, value in record.items()
                if value not in (None, "") and name not in ("id", "updated_time", f"{kind}_custom_fields")
            }
            fields |= {f"cf.{item['field_name']}": item["field_value"] for item in record[f"{kind}_custom_fields"]}
            copy[kind, record["id"]] = fields
    return copy
