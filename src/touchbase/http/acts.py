"""Acts of the audit log as responses and endpoints show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from touchbase.audit import ACTIONS, AuditEvent
from touchbase.common.timestamps import to_text
from touchbase.http.actors import Actor, ActorNames
from touchbase.http.schemas import example, named_enum

_ACTION = named_enum("AuditAction", "What somebody did.", tuple(ACTIONS))
NAMED = ("user", "key")
"""Kinds of targets that have names."""


class AuditTarget(Struct):
    """Target of an act."""

    type: Annotated[str, Meta(description="Such as `user`, `key`, `endpoint`.")]
    id: Annotated[str, Meta(description="The id, or the name of a status or field.")]
    name: Annotated[str, Meta(description="Of a person or key, as it is now; blank: it is gone, or the target has none.")]


class AuditEventOut(Struct):
    """One act, without values: they stand in the histories of records."""

    id: str
    at: Annotated[str, Meta(description="When it was done.", extra_json_schema={"format": "date-time"})]
    actor: Annotated[Actor, Meta(description="Who did it.")]
    client_id: Annotated[str | None, Meta(description="null: it is about no single client, or the client is gone.")]
    action: Annotated[str, Meta(extra_json_schema=_ACTION, description="What was done.")]
    target: Annotated[AuditTarget | None, Meta(description="null: nothing single.")]
    request_id: Annotated[str | None, Meta(description="`X-Request-Id` of the request; null: the server did it by itself.")]
    address: Annotated[str, Meta(description="The network address of the caller; blank: this machine.")]
    change_id: Annotated[str | None, Meta(description="The change of many that it made, as in `GET /team/v1/changes`; null: none.")]


example(
    AuditEventOut,
    {
        "id": "1795-5f0c1e2a9b7d4480", "at": "2026-11-20T09:30:00Z",
        "actor": {"type": "user", "id": "u3f9a1c27b0d", "name": "Mira Sandoval", "via": "console"},
        "client_id": "acme", "action": "key.revoked", "target": {"type": "key", "id": "9b1c5f0e7a2d", "name": "n8n"},
        "request_id": "5f0c00000012", "address": "203.0.113.7", "change_id": None,
    },
)  # fmt: skip


async def acts_out(events: Sequence[AuditEvent], actors: ActorNames, clients: Mapping[int, str]) -> list[AuditEventOut]:
    """Return acts as shown, with the present names of people and keys; `clients`: ids of those that exist."""
    await actors.load([*(event.actor_id for event in events), *(event.target_id for event in events if event.target_type in NAMED)])
    return [
        AuditEventOut(
            f"{event.at_us}-{event.id}", to_text(event.at_us), actors.by(event.actor_id, event.via), clients.get(event.client or 0),
            event.action,
            None if event.target_id is None else AuditTarget(
                event.target_type or "", event.target_id, actors.name(event.target_id) if event.target_type in NAMED else ""
            ),
            event.request_id, event.address, event.change_id,
        )
        for event in events
    ]  # fmt: skip
