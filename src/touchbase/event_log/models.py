"""Events of the log: changes of a client's data, one row a change, in the order of the commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from touchbase.common.timestamps import Micros, to_text
from touchbase.history.events import COMPANY, CONTACT, Author

Changed = Mapping[str, tuple[Any, Any]]
"""By the name of a field, as the API shows it, its values before and after; custom fields as `cf.<name>`."""
FOLLOWS = frozenset({"previous_status", "status_changed_at"})
"""Fields that the history of a status gives."""
API, DELIVERY, JOB, DOMAIN, ERASURE, SERVICE = "api", "delivery", "job", "domain", "erasure", "service"
ORIGINS = {
    API: "a request of the API: `key_id` and `request_id` where they are known",
    DELIVERY: "a received webhook: `tool`, `channel` and the ids of the `deliveries`",
    JOB: "a job such as an import: `job_id`, and the key that started it",
    DOMAIN: "the `domain` of a contact's e-mail address, by the client's setting `link_companies_by_email`",
    ERASURE: "the erasure of a person",
    SERVICE: "Touchbase itself, for example a connection that it judges to be silent",
}
"""Origins of an event's cause."""


class EventType(StrEnum):
    """The types of events of the log."""

    CONTACT_CREATED = "contact.created"
    CONTACT_UPDATED = "contact.updated"
    CONTACT_STATUS_CHANGED = "contact.status_changed"
    CONTACT_REPLIED = "contact.replied"
    CONTACT_MEETING_BOOKED = "contact.meeting_booked"
    CONTACT_MEETING_CANCELED = "contact.meeting_canceled"
    CONTACT_MEETING_RESCHEDULED = "contact.meeting_rescheduled"
    CONTACT_MEETING_NO_SHOW = "contact.meeting_no_show"
    CONTACT_MERGED = "contact.merged"
    CONTACT_DELETED = "contact.deleted"
    CONTACT_RESTORED = "contact.restored"
    CONTACT_ERASED = "contact.erased"
    COMPANY_CREATED = "company.created"
    COMPANY_UPDATED = "company.updated"
    COMPANY_STATUS_CHANGED = "company.status_changed"
    COMPANY_MERGED = "company.merged"
    COMPANY_DELETED = "company.deleted"
    COMPANY_RESTORED = "company.restored"
    MESSAGE_RECEIVED = "message.received"
    MESSAGE_SENT = "message.sent"
    CONVERSATION_DONE = "conversation.done"
    CONVERSATION_REOPENED = "conversation.reopened"
    CONVERSATION_ASSIGNED = "conversation.assigned"
    CONVERSATION_UPDATED = "conversation.updated"
    CONVERSATION_ANSWERED = "conversation.answered"
    NOTE_CREATED = "note.created"
    NOTE_UPDATED = "note.updated"
    NOTE_DELETED = "note.deleted"
    TASK_CREATED = "task.created"
    TASK_UPDATED = "task.updated"
    TASK_DONE = "task.done"
    TASK_DELETED = "task.deleted"
    STATUS_RENAMED = "status.renamed"
    SUPPRESSION_ADDED = "suppression.added"
    SUPPRESSION_REMOVED = "suppression.removed"
    INSTALLATION_SUPPRESSION_ADDED = "installation_suppression.added"
    INSTALLATION_SUPPRESSION_REMOVED = "installation_suppression.removed"
    DELIVERY_FAILED = "delivery.failed"
    DELIVERY_UNRECOGNISED = "delivery.unrecognised"
    CONNECTION_SILENT = "connection.silent"
    CONNECTION_RESUMED = "connection.resumed"
    CLIENT_STORAGE_WARNING = "client.storage_warning"


EVENT_TYPES: dict[EventType, str] = {
    EventType.CONTACT_CREATED: "A contact was created; `changed` has the values that it was given.",
    EventType.CONTACT_UPDATED: "Fields of a contact changed, other than its status and its last reply.",
    EventType.CONTACT_STATUS_CHANGED: "The status of a contact changed.",
    EventType.CONTACT_REPLIED: "A contact replied: a webhook brought a later reply than the last one.",
    EventType.CONTACT_MEETING_BOOKED: "A meeting with a contact was booked: `meeting` has its `start` and the `tool`.",
    EventType.CONTACT_MEETING_CANCELED: "A meeting with a contact was canceled.",
    EventType.CONTACT_MEETING_RESCHEDULED: "A meeting with a contact was moved: `start` is the new one, where the tool says it.",
    EventType.CONTACT_MEETING_NO_SHOW: "A contact did not come to a meeting.",
    EventType.CONTACT_MERGED: "Contacts became one: `merged` has the ids of the others, which ended; `merge_id` undoes a merge by request.",
    EventType.CONTACT_DELETED: "A contact was deleted and can be restored for some time; with `for_good`, no longer.",
    EventType.CONTACT_RESTORED: "A deleted contact was restored, or one that a merge had ended; `changed` has all its values.",
    EventType.CONTACT_ERASED: "A person was erased: remove your copies; `changed` of earlier events of the contact is empty now.",
    EventType.COMPANY_CREATED: "A company was created; `changed` has the values that it was given.",
    EventType.COMPANY_UPDATED: "Fields of a company changed, other than its status.",
    EventType.COMPANY_STATUS_CHANGED: "The status of a company changed.",
    EventType.COMPANY_MERGED: "Companies became one: `merged` has the ids of the others, which ended.",
    EventType.COMPANY_DELETED: "A company was deleted and can be restored for some time; with `for_good`, no longer.",
    EventType.COMPANY_RESTORED: "A deleted company was restored, or one that a merge had ended; `changed` has all its values.",
    EventType.MESSAGE_RECEIVED: "A mail or LinkedIn message of a contact came in; `object` is the message, `record_id` the contact.",
    EventType.MESSAGE_SENT: "A mail or LinkedIn message to a contact was sent; `object` is the message, `record_id` the contact.",
    EventType.CONVERSATION_DONE: "Somebody handled all replies of a contact; `record_id` is the contact.",
    EventType.CONVERSATION_REOPENED: "Somebody opened the conversation with a contact again; a new reply does so without this event.",
    EventType.CONVERSATION_ASSIGNED: "Somebody works on the conversation with a contact now: `assignee_id` is the user; null: nobody.",
    EventType.CONVERSATION_UPDATED: "Somebody snoozed the conversation with a contact, ended that, or corrected its label or kind.",
    EventType.CONVERSATION_ANSWERED: "A tool has sent an answer from here; `object` is the message, `record_id` the contact.",
    EventType.NOTE_CREATED: "Somebody wrote a note on a contact or company: `note_id`, and in `mentions` the ids of users.",
    EventType.NOTE_UPDATED: "A note changed; `mentions` has the users who are named in it for the first time.",
    EventType.NOTE_DELETED: "Somebody deleted a note.",
    EventType.TASK_CREATED: "Somebody wrote a task about a contact or company: `task_id`, and in `assignee_id` the user; null: nobody.",
    EventType.TASK_UPDATED: "A task changed, or was opened again.",
    EventType.TASK_DONE: "Somebody did a task.",
    EventType.TASK_DELETED: "Somebody deleted a task.",
    EventType.STATUS_RENAMED: "A status got another name: `object` has `record`, `from`, `to`. Its records have no event of their own.",
    EventType.SUPPRESSION_ADDED: "An address or domain must not be contacted from now on, or its entry changed.",
    EventType.SUPPRESSION_REMOVED: "An address or domain may be contacted again, as far as this list goes.",
    EventType.INSTALLATION_SUPPRESSION_ADDED: "An entry of the installation's do-not-contact list that the blocklist endpoint "
    "`endpoint_id` puts on its tool's list; no other endpoint gets it.",
    EventType.INSTALLATION_SUPPRESSION_REMOVED: "An entry that has left the installation's do-not-contact list, for the blocklist "
    "endpoint `endpoint_id`.",
    EventType.DELIVERY_FAILED: "A received webhook could not be applied: `object` has its id, tool and error.",
    EventType.DELIVERY_UNRECOGNISED: "A received webhook was not recognised: `object` has its id, tool and error.",
    EventType.CONNECTION_SILENT: "A connection that usually sends webhooks has sent none for unusually long.",
    EventType.CONNECTION_RESUMED: "A silent connection sends webhooks again, or is not watched any more.",
    EventType.CLIENT_STORAGE_WARNING: "The client came above 80 % of the bytes that it may store; the next one is logged only after it "
    "fell below.",
}
"""All types with their meanings; the reference page and OpenAPI are made from it."""


@dataclass(slots=True)
class LoggedEvent:
    """One event of a client's log; the store sets `sequence`."""

    client: int
    type: str
    at: Micros
    record_kind: int | None = None
    """CONTACT or COMPANY; None for an event about no record."""
    record_id: int | None = None
    changed: Changed = field(default_factory=dict)
    cause: Mapping[str, Any] = field(default_factory=dict)
    """`origin`, one of ORIGINS, and its ids."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Data of an event about something that is no record."""
    sequence: int = 0


def event_id(sequence: int) -> str:
    """Return an event's id; it is unique within its client, and also the cursor after the event."""
    return f"evt_{sequence}"


@cache
def record_event(kind: int, what: str) -> EventType:
    """Return the type of an event of a contact or company, such as `created`."""
    return EventType(f"{_NAMES[kind]}.{what}")


_NAMES = {CONTACT: "contact", COMPANY: "company"}


def by_request(by: Author) -> dict[str, Any]:
    """Return the cause of a change that a request makes."""
    cause: dict[str, Any] = {"origin": API}
    if by.key_id is not None:
        cause["key_id"] = by.key_id
    if by.request_id is not None:
        cause["request_id"] = by.request_id
    return cause


@dataclass(frozen=True, slots=True)
class LoggedPage:
    """Events of a client after a sequence, in order."""

    events: list[LoggedEvent]
    last: int
    """The sequence up to which the log was read: it may be later than the last event, if `types` leaves some out."""
    newest: int
    """The newest sequence of the client; 0 before its first event."""
    oldest: int
    """The oldest sequence that is stored; after the newest one if none is."""

    @property
    def has_more(self) -> bool:
        """Whether later events exist."""
        return self.last < self.newest


LOOKED_AT = 10_000
"""Events of the end of the log among which samples are looked for: a rare type must not make a request read all of it."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """Subjects of events about no record, in their present state."""

    suppressions: dict[int, tuple[str, str | None]]
    """Id -> kind and address; None for the address of an erased person."""
    deliveries: dict[int, tuple[str, str | None]]
    """Id -> state and error."""


def envelope(event: LoggedEvent, client_id: str, shown: Any, actor: Any) -> dict[str, Any]:
    """Return an event as JSON values. `shown` is the present record as the API shows it, None if it is gone; `actor` is who did it.

    For an event about no record, `shown` is what it is about as it is now; without it, the event's own data.
    The id stands on top too: Zapier and its like take an object without one for no item.
    """
    data: dict[str, Any] = {
        "id": event_id(event.sequence),
        "client_id": client_id,
        "object": event.data if shown is None and event.record_id is None else shown,
        "changed": event.changed,
        "cause": event.cause,
        "actor": actor,
    }
    if event.record_id is not None:
        data |= {"record_id": event.record_id, **event.data}
    return {"id": data["id"], "type": event.type, "timestamp": to_text(event.at), "data": data}
