"""Types of clients. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from touchbase.client.models.shared import CustomFieldType, OnDuplicate


ClientState = Literal["active", "suspended", "deleting"]
"""Whether a client's records are open, closed, or being removed."""

LinkCompaniesByEmail = Literal["off", "existing", "create"]
"""Whether a mail domain gives a contact its company."""


class ClientChange(TypedDict):
    """A client's new name; null or empty: none."""

    name: str | None


class ClientDetail(TypedDict):
    """One client with its valid former ids."""

    client_id: str
    handle: str
    name: str
    state: ClientState
    created_time: str
    made_by: str | None
    deletion: DeletionOut | None
    stored_bytes: int
    settings: SettingsBody
    former_ids: list[FormerIdOut]


class ClientOut(TypedDict):
    """One client."""

    client_id: str
    handle: str
    name: str
    state: ClientState
    created_time: str
    made_by: str | None
    deletion: DeletionOut | None
    stored_bytes: int
    settings: SettingsBody


class ClientPage(TypedDict):
    """A page of clients by `client_id`; `next_cursor` is null on the last one."""

    data: list[ClientOut]
    next_cursor: str | None


class ClientRequest(TypedDict):
    """A client's new settings; read-only fields are ignored."""

    settings: SettingsBody


class DeletionOut(TypedDict):
    """Progress of the removal of a client's data."""

    started_time: str
    removed_rows: int
    total_rows: int | None


class FieldTypeBody(TypedDict):
    """A declared custom field: its type, and the choices of a select."""

    type: CustomFieldType
    options: NotRequired[list[str]]


class FormerIdOut(TypedDict):
    """A former id of a client, and until when it is valid."""

    client_id: str
    valid_until: str


class IdRotation(TypedDict):
    """A new id for a client."""

    client_id: NotRequired[str | None]
    keep_old_seconds: NotRequired[int]


class LimitsBody(TypedDict):
    """Limits of a client per second, in each server process; null: the server's limit, 0: no limit."""

    requests: NotRequired[int | None]
    rows: NotRequired[int | None]
    bytes: NotRequired[int | None]
    webhooks: NotRequired[int | None]
    webhook_bytes: NotRequired[int | None]


class NewClient(TypedDict):
    """A new client."""

    name: NotRequired[str]
    client_id: NotRequired[str | None]
    settings: NotRequired[SettingsBody]
    cell: NotRequired[str]


class RequireVerificationBody(TypedDict):
    """The channels on which webhooks without verification are rejected, for every tool."""

    email_campaign: NotRequired[bool]
    crm: NotRequired[bool]


class SettingsBody(TypedDict):
    """A client's settings."""

    on_duplicate: NotRequired[OnDuplicate]
    contact_statuses: NotRequired[StatusSetBody | None]
    company_statuses: NotRequired[StatusSetBody | None]
    contact_fields: NotRequired[dict[str, FieldTypeBody]]
    company_fields: NotRequired[dict[str, FieldTypeBody]]
    create_unknown: NotRequired[bool]
    linkedin_reply_counts: NotRequired[bool]
    limits: NotRequired[LimitsBody | None]
    keep_bodies_days: NotRequired[int | None]
    keep_deleted_days: NotRequired[int]
    max_stored_bytes: NotRequired[int | None]
    require_verification: NotRequired[RequireVerificationBody]
    link_companies_by_email: NotRequired[LinkCompaniesByEmail]
    suppress_on: NotRequired[SuppressOnBody]
    store_message_bodies: NotRequired[bool]


class StatusSetBody(TypedDict):
    """The statuses of one kind of record, in order; `transitions` maps a status to the statuses that may follow it."""

    statuses: list[str]
    transitions: NotRequired[dict[str, list[str]]]


class SuppressOnBody(TypedDict):
    """The events that put an e-mail address on the client's do-not-contact list."""

    unsubscribed: NotRequired[bool]
    complained: NotRequired[bool]
    hard_bounced: NotRequired[bool]
