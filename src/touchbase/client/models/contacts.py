"""Types of contacts. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from touchbase.client.models.contact_records import ContactChange, ContactOfClient, ContactResponse
from touchbase.client.models.records import (
    BatchOperation, BatchProblem, CustomFieldOut, DuplicateReason, FieldChangeOut, FieldPreview, ImportMode, MappingBody, MatchError,
    MergedFieldOut,
)
from touchbase.client.models.shared import Channel, DeliveryState, MessageOut, OnDuplicate, RawBody, SuppressionOut


ContactMatchBy = Literal["email", "linkedin_url", "external_id"]
"""The member that identifies a contact."""


class ClientContactMatch(TypedDict):
    """A client that has the contact."""

    client_id: str
    id: int
    contact_status: str | None
    last_campaign_email_sent: str | None
    last_reply_received: str | None


class ContactBatch(TypedDict):
    """Commands, carried out in their order in one transaction."""

    commands: list[ContactBatchCommand]
    atomic: NotRequired[bool]


class ContactBatchCommand(TypedDict):
    """One command of a batch."""

    op: BatchOperation
    body: NotRequired[ContactChange]
    id: NotRequired[int]
    match: NotRequired[ContactMatchBy]
    on_duplicate: NotRequired[OnDuplicate]


class ContactBatchResponse(TypedDict):
    """The results, in the order of the commands."""

    results: list[ContactBatchResult]
    succeeded: int
    failed: int
    records_left_out: NotRequired[int]


class ContactBatchResult(TypedDict):
    """The result of one command."""

    status: int
    id: NotRequired[int]
    record: NotRequired[ContactResponse]
    changed: NotRequired[list[FieldPreview]]
    ignored: NotRequired[list[str]]
    problem: NotRequired[BatchProblem]


class ContactClientMatches(TypedDict):
    """One entry for each item, in the order of the items."""

    data: list[ContactClients]


class ContactClients(TypedDict):
    """The clients that have one item, by their ids; none if the list is empty."""

    clients: list[ClientContactMatch]
    error: NotRequired[MatchError]


class ContactMatch(TypedDict):
    """What is known about one item; `id` is null if there is no such contact."""

    id: int | None
    contact_status: str | None
    last_campaign_email_sent: str | None
    last_reply_received: str | None
    suppressed: str | None
    error: NotRequired[MatchError]


class ContactMatchItem(TypedDict):
    """A person: an e-mail address, a LinkedIn address, your own id, or several of them."""

    email: NotRequired[str | None]
    linkedin_url: NotRequired[str | None]
    external_id: NotRequired[str | None]


class ContactMatchRequest(TypedDict):
    """The people to look up."""

    items: list[ContactMatchItem]


class ContactMatches(TypedDict):
    """One entry for each item, in the order of the items."""

    data: list[ContactMatch]


class ContactMerge(TypedDict):
    """A merge of contacts: the contact as it is now, or would be."""

    contact: ContactResponse
    merge_id: int | None
    merged: list[int]
    undo_until: str | None
    fields: list[MergedFieldOut]


class ContactPage(TypedDict):
    """A page of contacts; `next_cursor` is null on the last one."""

    data: list[ContactResponse]
    next_cursor: str | None


class ContactPair(TypedDict):
    """Two contacts that may be one person, the lower id first."""

    score: float
    reasons: list[DuplicateReason]
    contacts: list[ContactResponse]


class ContactPairPage(TypedDict):
    """A page of pairs; it may be empty while `next_cursor`, null on the last page, is not."""

    data: list[ContactPair]
    next_cursor: str | None


class ContactsOfClients(TypedDict):
    """A page of the contacts of all clients; it may be shorter than `limit`, and `next_cursor` is null on the last one."""

    data: list[ContactOfClient]
    next_cursor: str | None


class DeletedContact(TypedDict):
    """A deleted contact, as it was."""

    id: int
    updated_time: str
    first_name: str
    last_name: str
    origin: str
    first_campaign_email_sent: str | None
    last_campaign_email_sent: str | None
    last_reply_received: str | None
    previous_status: str | None
    status_changed_at: str | None
    contact_custom_fields: list[CustomFieldOut] | dict[str, str | int | float | bool | None]
    email: NotRequired[str]
    linkedin_url: NotRequired[str]
    company_id: NotRequired[int]
    contact_status: NotRequired[str]
    external_id: NotRequired[str]
    deleted_at: str
    gone_at: str


class DeletedContactPage(TypedDict):
    """A page of deleted contacts; `next_cursor` is null on the last one."""

    data: list[DeletedContact]
    next_cursor: str | None


class ErasureOut(TypedDict):
    """What an erasure has removed: number of rows by kind, and of delivery bodies."""

    erasure_id: int
    removed: dict[str, int]
    inbox_searched: bool


class ErasurePage(TypedDict):
    """A page of erasures, newest first."""

    data: list[ErasureRequestOut]
    next_cursor: str | None


class ErasureRequestOut(TypedDict):
    """One erasure; the person is not named, because nothing of the person is stored."""

    id: int
    asked_time: str
    searched_time: str | None
    done_time: str | None
    removed: dict[str, int]
    searched_share: float


class ExportedDelivery(TypedDict):
    """A delivery about the person, as received; without its content if it names other people too (`shared`)."""

    id: int
    channel: Channel
    tool: str | None
    state: DeliveryState
    received_at: str
    shared: bool
    headers: dict[str, str] | None
    query: str | None
    body: RawBody | None


class ExportedEvent(TypedDict):
    """One event of the person's history with all that is stored of it."""

    event: str
    occurred_at: str
    received_at: str
    channel: str
    tool: str
    campaign: str | None
    campaign_id: str | None
    status: str | None
    delivery_id: int | None
    detail: dict[str, Any]
    changed: list[FieldChangeOut]


class IdentityOut(TypedDict):
    """An identity of the contact: a tool's object; with an empty `tool` a former `email` or `linkedin` address."""

    tool: str
    object_type: str
    object_id: str


class PersonExport(TypedDict):
    """Everything that is stored about one contact, in pages: the contact first, then timeline, messages and deliveries in this order."""

    deliveries: list[ExportedDelivery]
    next_cursor: str | None
    contact: NotRequired[ContactResponse]
    created_at: NotRequired[str]
    identities: NotRequired[list[IdentityOut]]
    sources: NotRequired[list[SourceOut]]
    timeline: NotRequired[list[ExportedEvent]]
    suppressions: NotRequired[list[SuppressionOut]]
    messages: NotRequired[list[MessageOut]]


class SourceOut(TypedDict):
    """A tool that sent data about the person, and when."""

    channel: str
    tool: str
    events: int
    first_received_at: str
    last_received_at: str


class StartImport(TypedDict):
    """How an uploaded file is imported."""

    mapping: NotRequired[MappingBody]
    mapping_name: NotRequired[str]
    mode: NotRequired[ImportMode]
    match: NotRequired[str]
    dry_run: NotRequired[bool]
    save_as: NotRequired[str]


class UndoneContacts(TypedDict):
    """The contacts of a merge that was undone, as they are now; the one that they had been merged into comes first."""

    data: list[ContactResponse]
