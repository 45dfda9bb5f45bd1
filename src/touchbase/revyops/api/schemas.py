"""Bodies of the calls of the RevyOps API that Touchbase's own routes do not have."""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.common import field_limits as limits
from touchbase.common.timestamps import to_text
from touchbase.errors import Fault, Invalid
from touchbase.http.schemas import EXAMPLES, MaybeTime, RecordId, Time, example, named_enum
from touchbase.messages.api.schemas import Long, NewMessage, Short, Text
from touchbase.messages.models import MOST_CUSTOM_FIELDS, RECEIVED, SENT, Message
from touchbase.records.api.schemas import CompanyResponse, ContactResponse, CustomFieldInput, CustomFieldOut, FieldName, Value
from touchbase.search.api.all_clients import CompanyOfClient, ContactOfClient

T = TypeVar("T")
Total = Annotated[
    int, Meta(description="Records that match: counted with the first page, and corrected by the pages that were read since.")
]


class NumberedOf(Struct, Generic[T]):
    """A numbered page."""

    count: Total
    total_pages: int
    current_page: int
    page_size: int
    results: list[T]


class NumberedContacts(NumberedOf[ContactResponse]):
    """A numbered page of contacts."""


class NumberedCompanies(NumberedOf[CompanyResponse]):
    """A numbered page of companies."""


class NumberedContactsOfClients(NumberedOf[ContactOfClient]):
    """A numbered page of the contacts of all clients."""


class NumberedCompaniesOfClients(NumberedOf[CompanyOfClient]):
    """A numbered page of the companies of all clients."""


class CustomFieldValue(Struct):
    """A new value of a custom field. A name, if it is given, must be the field's."""

    field_value: Value
    field_name: FieldName | UnsetType = UNSET


NUMBERED_PAGES: dict[str, type[Struct]] = {"contact": NumberedContacts, "company": NumberedCompanies}
"""The numbered page, by type of record."""
NUMBERED_OF_CLIENTS: dict[str, type[Struct]] = {"contact": NumberedContactsOfClients, "company": NumberedCompaniesOfClients}
_PAGE: dict[str, Any] = {"count": 1, "total_pages": 1, "current_page": 1, "page_size": 100}
for _page, _record in (
    (NumberedContacts, ContactResponse),
    (NumberedCompanies, CompanyResponse),
    (NumberedContactsOfClients, ContactOfClient),
    (NumberedCompaniesOfClients, CompanyOfClient),
):
    example(_page, {**_PAGE, "results": [EXAMPLES[_record.__name__]]})
example(CustomFieldValue, {"field_value": "41"})


REPLY = "reply"
_TYPES = {SENT: SENT, RECEIVED: REPLY}
_DIRECTIONS: dict[str, Literal["sent", "received"]] = {"sent": "sent", REPLY: "received", "received": "received"}
_TYPE = named_enum("EmailType", "Whether the client sent an e-mail or received it.", tuple(_TYPES.values()))
_NAMES = {
    "mailbox": "agent_email", "text": "body_text", "html": "body_html", "tool": "origin", "occurred_at": "email_timestamp",
    "direction": "email_type",
}  # fmt: skip
"""Members of a message -> an e-mail's, where they differ."""
_SAME = ("subject", "campaign_id", "campaign_name")
DISPOSITION = "disposition"
"""The custom field that has the disposition of an interested contact."""


class EmailOut(Struct):
    """An e-mail that was sent to a contact or received from it."""

    id: RecordId
    updated_time: Time
    email_timestamp: Time
    contact_email: str | None
    contact_id: RecordId
    agent_email: Annotated[str | None, Meta(description="The client's own address.")]
    email_type: Annotated[str, Meta(extra_json_schema=_TYPE)]
    subject: str | None
    body_text: Annotated[str | None, Meta(description="The plain text, or the text of the HTML.")]
    body_html: Annotated[str | None, Meta(description="The HTML as its author wrote it: sanitise it before you show it.")]
    campaign_id: str | None
    campaign_name: str | None
    interested: Annotated[bool, Meta(description="false also if it is not known.")]
    origin: Annotated[str, Meta(description="The tool.")]
    custom_fields: list[CustomFieldOut]


class NewEmail(Struct, forbid_unknown_fields=True):
    """An e-mail of a contact. Texts that are blank are as if they were left out."""

    email_type: Annotated[str, Meta(description="`sent`, or `reply` (also `received`).", max_length=limits.NAME)]
    contact_id: RecordId | None = None
    contact_email: Annotated[Annotated[str, Meta(max_length=limits.EMAIL)] | None, Meta(description="In place of `contact_id`.")] = None
    email_timestamp: Annotated[MaybeTime, Meta(description="Left out: now.")] = None
    agent_email: Short | None = None
    subject: Long | None = None
    body_text: Annotated[Text | None, Meta(description="Left out: made of `body_html`.")] = None
    body_html: Text | None = None
    campaign_id: Short | None = None
    campaign_name: Short | None = None
    interested: bool | None = None
    origin: Annotated[Short | None, Meta(description="The tool. Left out: `api`.")] = None
    custom_fields: Annotated[list[CustomFieldInput], Meta(max_length=MOST_CUSTOM_FIELDS)] = []


class InterestedIn(Struct, forbid_unknown_fields=True):
    """Which e-mail of which contact shows that the contact is interested."""

    email: Annotated[str, Meta(description="The contact's e-mail address.", max_length=limits.EMAIL)]
    subject: Annotated[Long, Meta(description="The e-mail's subject, as it is stored.")]
    disposition: Annotated[
        Value | None, Meta(description=f"Stored as the custom field `{DISPOSITION}`; it does not decide whether `interested` is set.")
    ] = None


_EXAMPLE: dict[str, Any] = {
    "email_timestamp": "2026-11-20T09:30:00Z", "contact_email": "jane.doe@example.com", "agent_email": "sam@agency.example",
    "email_type": REPLY, "subject": "Re: A question", "body_text": "Yes, tell me more.", "body_html": "<p>Yes, tell me more.</p>",
    "campaign_id": "77", "campaign_name": "Autumn", "interested": True, "origin": "smartlead",
}  # fmt: skip
example(
    EmailOut,
    {
        "id": 12, "updated_time": "2026-11-20T09:30:02Z", **_EXAMPLE, "contact_id": 1,
        "custom_fields": [{"id": 41, "updated_time": "2026-11-20T09:30:02Z", "field_name": DISPOSITION, "field_value": "meeting"}],
    },
)  # fmt: skip
example(NewEmail, _EXAMPLE)
example(InterestedIn, {"email": "jane.doe@example.com", "subject": "Re: A question", "disposition": "meeting"})


def email_out(message: Message) -> EmailOut:
    """Return a message as an e-mail."""
    return EmailOut(
        message.id, to_text(updated_us(message)), to_text(message.occurred_us), message.contact_email, message.contact_id,
        message.mailbox, _TYPES[message.direction], message.subject, message.text, message.html, message.campaign_id,
        message.campaign_name, bool(message.interested), message.tool, [field_out(message, name) for name in sorted(message.custom)],
    )  # fmt: skip


def updated_us(message: Message) -> int:
    """Return when a message was changed last; a message that was made just now has not been read from the store."""
    return message.updated_us or message.received_us


def field_out(message: Message, name: str) -> CustomFieldOut:
    """Return one custom field of a message."""
    return CustomFieldOut(field_id(message.id, name), to_text(updated_us(message)), name, message.custom[name])


def field_id(message: int, name: str) -> int:
    """Return the id of a custom field of a message: made of its name, as it is not stored."""
    return 1 + int.from_bytes(blake2b(f"{message} {name}".encode(), digest_size=6).digest(), "big")


def new_message_of(email: NewEmail) -> NewMessage:
    """Return the message that an e-mail is; raise `Invalid`."""
    faults: list[Fault] = []
    direction = _DIRECTIONS.get(email.email_type.strip().lower())
    if direction is None:
        faults.append(Fault("/email_type", "choice", f"must be {SENT} or {REPLY} (also received)"))
    custom: dict[str, str] = {}
    for index, custom_field in enumerate(email.custom_fields):
        name = custom_field.field_name.strip()
        if not name:
            faults.append(Fault(f"/custom_fields/{index}/field_name", "blank", "must not be blank"))
        elif custom.setdefault(name, custom_field.field_value) != custom_field.field_value:
            faults.append(Fault(f"/custom_fields/{index}/field_name", "repeated", "has another value above; send one of them"))
    if faults or direction is None:
        raise Invalid(faults)
    texts = {ours: getattr(email, theirs) for ours, theirs in _NAMES.items() if ours != "direction"}
    texts |= {name: getattr(email, name) for name in _SAME}
    values: dict[str, Any] = {name: text if text and text.strip() else None for name, text in texts.items()}
    return NewMessage(
        direction=direction, contact_id=email.contact_id, contact_email=email.contact_email or None,
        interested=email.interested, custom_fields=custom, **values,
    )  # fmt: skip


def as_sent(invalid: Invalid) -> Invalid:
    """Return the faults of a message with the names that an e-mail has for its members."""
    pointers = {f"/{ours}": f"/{theirs}" for ours, theirs in _NAMES.items()}
    return Invalid([Fault(pointers.get(fault.pointer, fault.pointer), fault.code, fault.detail) for fault in invalid.faults], invalid.more)
