"""The members of bodies in the OpenAPI document, each with a description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from touchbase.http.member_meanings import COMMON, LIKE, ONLY

Json = dict[str, Any]

FORMS = ("RFC 3339, UTC.", "White space around it is removed; blank means unset.")
"""Descriptions of the form of a value; what the member means stands before it."""


def add_meanings(schemas: Json) -> None:
    """Give every member a description."""
    for name, member, schema in members(schemas):
        own = _own(schema)
        if own and own not in FORMS:
            schema["description"] = own
        elif text := f"{_meaning(schemas, name, member).removesuffix(own).strip()} {own}".strip():
            schema["description"] = text


def members(schemas: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield the members of all types: the type's name, the member's and its schema."""
    for name, schema in schemas.items():
        for member, described in schema.get("properties", {}).items():
            yield name, member, described


def _own(schema: Json) -> str:
    """Return a member's description; that of the value's type for a member that may be null."""
    found = schema.get("description") or next((each["description"] for each in schema.get("anyOf", ()) if "description" in each), "")
    return str(found)


def _meaning(schemas: Json, name: str, member: str) -> str:
    for each in (name, *LIKE.get(name, ())):
        own = _own(schemas[each]["properties"].get(member, {}))
        if text := ONLY.get(f"{each}.{member}") or (own if own not in FORMS else ""):
            return text
    return COMMON.get(member, "")
