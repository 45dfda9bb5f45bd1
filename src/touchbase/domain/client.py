"""Clients: the organisations that we keep records for, and what each of them has decided."""

from __future__ import annotations

from dataclasses import dataclass, field

ON_DUPLICATE = ("error", "return", "update")
KEEP_BODIES_DAYS = 90
"""How long the body of an applied call is kept, unless the client decides otherwise."""
MOST_DAYS = 36_500
FIELD_TYPES = ("text", "number", "boolean", "date", "select")


@dataclass(slots=True)
class StatusSet:
    """The statuses of one kind of record, in order, and which may follow which.

    `transitions` maps a status to those that may follow it; a status that is not a key there may be
    followed by any other.
    """

    statuses: list[str]
    transitions: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class FieldType:
    """A declared custom field: its type, and the choices of a select."""

    type: str
    options: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ClientSettings:
    """What a client has decided; without any decision everything is open and welcome."""

    on_duplicate: str = "error"
    contact_statuses: StatusSet | None = None
    company_statuses: StatusSet | None = None
    contact_fields: dict[str, FieldType] = field(default_factory=dict)
    company_fields: dict[str, FieldType] = field(default_factory=dict)
    create_unknown: bool = True
    """Whether an e-mail event for an unknown person creates the contact."""
    linkedin_reply_counts: bool = True
    """Whether a LinkedIn reply moves `last_reply_received`."""
    keep_bodies_days: int | None = KEEP_BODIES_DAYS
    """Days after which the body of an applied or ignored delivery is removed; None: never."""


@dataclass(slots=True)
class Client:
    """One client: `number` in our keys, `client_id` in addresses and headers."""

    number: int
    client_id: str
    created_us: int
    settings: ClientSettings
    has_erased: bool = False
    """Whether somebody of this client was erased, as far as was known when this was read."""
