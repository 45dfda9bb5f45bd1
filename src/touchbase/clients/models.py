"""Clients: the organisations that we keep records for, and what each of them has decided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import Forbidden

ACTIVE = "active"
SUSPENDED = "suspended"
"""Its records are closed to everybody, its webhook calls are kept and not applied; until it is resumed."""
DELETING = "deleting"
"""Nothing of it is served any more, and its data is being removed."""
BY_ADMINISTRATOR = "administrator"
BY_CALL = "call"
"""Who made a client: somebody who administrates, or the first call that named it, in open mode."""
NOT_THERE = -1
"""Stands for the number of a client that nobody has made: nothing is kept under it."""
CLIENT_STATES = (ACTIVE, SUSPENDED, DELETING)
LAST_CALLS: Micros = 10 * SECOND
"""How long after the start of a deletion a call that was let in before may still write: the client's own row goes last, after that."""

ON_DUPLICATE = ("error", "return", "update")
KEEP_BODIES_DAYS = 90
"""How long the body of an applied call is kept, unless the client decides otherwise."""
MOST_DAYS = 36_500


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
class ClientLimits:
    """A client's own limits a second, in place of the server's; None: the server's, 0: none."""

    requests: int | None = None
    rows: int | None = None
    bytes: int | None = None
    webhooks: int | None = None
    webhook_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RequireVerification:
    """The channels on which calls that prove nothing are refused, whichever tool sends them."""

    email_campaign: bool = False
    crm: bool = False

    def on(self, channel: str) -> bool:
        """Whether it is required on this channel."""
        return self.crm if channel == "crm" else self.email_campaign


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
    limits: ClientLimits | None = None
    keep_bodies_days: int | None = KEEP_BODIES_DAYS
    """Days after which the body of an applied or ignored delivery is removed; None: never."""
    require_verification: RequireVerification = RequireVerification()
    """Where calls must prove who sends them; else a secret concerns the calls of its tool only."""


def keeping_limits(decided: ClientSettings, known: ClientLimits | None) -> ClientSettings:
    """Settings that the client itself decides, with the limits that it has; raises `Forbidden` if it wants others."""
    if decided.limits is not None and decided.limits != known:
        raise Forbidden("this key belongs to a client, which cannot change its own limits; leave them out")
    return replace(decided, limits=known)


@dataclass(slots=True)
class Deletion:
    """How far the removal of a client's data has come; `total` is None until the rows are counted."""

    started_us: Micros
    removed: int = 0
    total: int | None = None


@dataclass(slots=True)
class Client:
    """One client: `number` in our keys, `client_id` in addresses and headers, `name` for people."""

    number: int
    client_id: str
    created_us: int
    settings: ClientSettings
    name: str = ""
    state: str = ACTIVE
    deletion: Deletion | None = None
    has_erased: bool = False
    """Whether somebody of this client was erased, as far as was known when this was read."""
    made_by: str | None = None
    """BY_ADMINISTRATOR or BY_CALL; None for one that was made before this was stored."""
    until_us: Micros | None = field(default=None, compare=False)
    """Where it was found by a former `client_id`: until when that one is honoured."""


@dataclass(frozen=True, slots=True)
class FormerId:
    """A `client_id` that a client had, and until when it is honoured."""

    client_id: str
    until_us: Micros
