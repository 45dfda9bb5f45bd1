"""The arguments of each tool: types from which the schemas are made that agents see."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Kind = Annotated[Literal["contacts", "companies"], Meta(description="People or companies.")]
ClientId = Annotated[str | None, Meta(description="The client to work for; needed only if `whoami` names no client.")]
Limit = Annotated[int, Meta(ge=1, le=50, description="Most entries of the answer.")]
Cursor = Annotated[str | None, Meta(description="`next_cursor` of the previous answer, for what follows.")]
Email = Annotated[str | None, Meta(description="An e-mail address of the person.")]
LinkedIn = Annotated[str | None, Meta(description="The address of the person's LinkedIn profile.")]
External = Annotated[str | None, Meta(description="The id that the record has in your own system.")]
Domain = Annotated[str | None, Meta(description="The domain of the company.")]
Id = Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="The id of the record.")]
DryRun = Annotated[bool, Meta(description="true: only say what would change. Do this first, show the person, then call again with false.")]
Since = Annotated[str | None, Meta(description="Only from this time on, as 2026-11-20T00:00:00Z.")]
Until = Annotated[str | None, Meta(description="Only before this time.")]

_WHERE = (
    'Filters that must all hold, as {"contact_status[in]": ["replied", "interested"], "last_reply_received[gte]": "7d"}; `all` and `any`'
    " take arrays of such objects, `not` takes one. `describe` has the names."
)
_INCLUDE = "What else to return: the newest events, the newest messages of a contact, whether the record must not be contacted."


class Nothing(Struct, forbid_unknown_fields=True):
    """No arguments."""


class OfClient(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of a tool that works for one client."""

    client_id: ClientId = None


class Describe(OfClient, kw_only=True):
    """Topic to describe."""

    kind: Kind = "contacts"


class Find(OfClient, kw_only=True):
    """A search."""

    kind: Kind = "contacts"
    where: Annotated[dict[str, Any], Meta(description=_WHERE)] = {}
    q: Annotated[str | None, Meta(description="Words that begin words of names, addresses or custom fields.")] = None
    sort: Annotated[str | None, Meta(description="Fields, separated by commas; a minus sign reverses one, as -last_reply_received.")] = None
    fields: Annotated[
        str | None, Meta(description="Members that the answer should have, separated by commas; fewer are easier to read.")
    ] = None
    limit: Limit = 20
    cursor: Cursor = None


class Which(OfClient, kw_only=True):
    """One record, by its id or another identifier."""

    kind: Kind = "contacts"
    id: Id = None
    email: Email = None
    linkedin_url: LinkedIn = None
    external_id: External = None
    domain: Domain = None


class Get(Which, kw_only=True):
    """One record with its related data."""

    include: Annotated[list[Literal["timeline", "messages", "suppression"]], Meta(description=_INCLUDE)] = []
    as_of: Annotated[str | None, Meta(description="The record as it was at this time.")] = None


class Explain(Which, kw_only=True):
    """Which value to explain."""

    field: Annotated[str | None, Meta(description="One field, as `contact_status`; left out: all.")] = None


class MatchRecords(OfClient, kw_only=True):
    """People or companies to look up."""

    kind: Kind = "contacts"
    items: Annotated[
        list[dict[str, str]],
        Meta(
            min_length=1, max_length=200,
            description="Each with email, linkedin_url or external_id (contacts), or domain or external_id (companies).",
        ),
    ]  # fmt: skip


class Messages(OfClient, kw_only=True):
    """Which messages to list."""

    contact_id: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Only of this contact.")] = None
    contact_email: Annotated[str | None, Meta(description="Only of the contact with this address.")] = None
    direction: Annotated[Literal["sent", "received"] | None, Meta(description="`received`: replies.")] = None
    campaign_id: Annotated[str | None, Meta(description="Only of this campaign.")] = None
    tool: Annotated[str | None, Meta(description="Only from this tool, as `smartlead`.")] = None
    since: Since = None
    until: Until = None
    limit: Limit = 20
    cursor: Cursor = None


class Upsert(OfClient, kw_only=True):
    """A record to change, or to create."""

    kind: Kind = "contacts"
    match: Annotated[
        Literal["email", "linkedin_url", "external_id", "domain"],
        Meta(description="The member of `record` that finds the record: `domain` for companies."),
    ]
    record: Annotated[
        dict[str, Any],
        Meta(description="The members to set: what is left out stays, null unsets. `describe` has the names, custom fields among them."),
    ]
    dry_run: DryRun = True


class ChangeStatus(OfClient, kw_only=True):
    """A new status of one record."""

    kind: Kind = "contacts"
    id: Annotated[int, Meta(ge=1, description="The id of the record.")]
    status: Annotated[str, Meta(min_length=1, max_length=200, description="The new status; `describe` lists the client's statuses.")]
    dry_run: DryRun = True


class Conversations(Struct, forbid_unknown_fields=True, kw_only=True):
    """Which conversations to list, of all clients that the key may see."""

    client_id: Annotated[str | None, Meta(description="Only of this client.")] = None
    state: Annotated[Literal["open", "snoozed", "automatic", "done", "any"], Meta(description="Only in this state.")] = "open"
    q: Annotated[str | None, Meta(description="Only with these words in the contact's name or address, or in a reply.")] = None
    label: Annotated[str | None, Meta(description="Only with this label, as `interested`.")] = None
    sort: Annotated[Literal["newest", "waiting"], Meta(description="The newest first, or the longest waiting.")] = "newest"
    limit: Limit = 20
    cursor: Cursor = None


class Notifications(Struct, forbid_unknown_fields=True, kw_only=True):
    """Which notifications to list."""

    unread: Annotated[bool, Meta(description="Only those that are not read.")] = False
    limit: Limit = 20
    cursor: Cursor = None


class AnswerArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """An answer to a reply."""

    client: Annotated[str, Meta(description="The `client_id` of the conversation, as `list_conversations` names it.")]
    contact_id: Annotated[int, Meta(ge=1, description="The id of the contact.")]
    text: Annotated[str, Meta(min_length=1, max_length=20_000, description="Plain text, as the contact gets it.")]
    message_id: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="The message to answer; left out: the newest.")] = None
    close: Annotated[bool, Meta(description="Mark the conversation as done once it is sent.")] = False
    confirm_blocked: Annotated[bool, Meta(description="Send it although the contact must not be contacted: ask the person first.")] = False
    dry_run: DryRun = True


class NoteArguments(Struct, forbid_unknown_fields=True, kw_only=True):
    """A note on a record."""

    kind: Kind = "contacts"
    client: Annotated[str, Meta(description="The `client_id` of the record, as `list_conversations` and `whoami` name it.")]
    id: Annotated[int, Meta(ge=1, description="The id of the record.")]
    text: Annotated[str, Meta(min_length=1, max_length=10_000, description="Plain text, for the team.")]


class Tasks(Struct, forbid_unknown_fields=True, kw_only=True):
    """Which tasks to list, of all clients that the key may see."""

    client_id: Annotated[str | None, Meta(description="Only of this client.")] = None
    assignee_id: Annotated[str | None, Meta(description="Only of this user: an id, `me` with a personal key, or `none`.")] = None
    state: Annotated[Literal["open", "done", "any"], Meta(description="Only in this state.")] = "open"
    due_before: Annotated[str | None, Meta(description="Only what is due before this time, as `2026-11-23T08:00:00Z`.")] = None
    limit: Limit = 20
    cursor: Cursor = None


class TaskArguments(NoteArguments, kw_only=True):
    """A task about a record."""

    due_at: Annotated[str, Meta(description="When it is due, as `2026-11-23T08:00:00Z`.")]
    assignee_id: Annotated[str | None, Meta(description="The user who has to do it: an id, or `me`; left out: nobody.")] = None


class Deliveries(OfClient, kw_only=True):
    """Which webhooks of tools to list."""

    email: Email = None
    contact_id: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="Only about this contact.")] = None
    text: Annotated[str | None, Meta(description="Only with this text in the body.")] = None
    tool: Annotated[str | None, Meta(description="Only from this tool, as `hubspot`.")] = None
    state: Annotated[
        Literal["received", "applied", "ignored", "parked", "unrecognised", "failed"] | None, Meta(description="Only in this state.")
    ] = None
    received_since: Since = None
    limit: Limit = 20
    cursor: Cursor = None


class ReplayDeliveries(OfClient, kw_only=True):
    """Which webhooks to apply again."""

    tool: Annotated[str | None, Meta(description="Only from this tool.")] = None
    state: Annotated[Literal["unrecognised", "failed", "parked"], Meta(description="Only in this state.")]
    received_since: Since = None
    dry_run: DryRun = True
    cursor: Cursor = None


class Summary(OfClient, kw_only=True):
    """The time that the summary covers."""

    since: Annotated[str, Meta(description="Its beginning: a time, or a span until now as 7d.")] = "7d"
    group_by: Annotated[Literal["campaign", "tool", "day"], Meta(description="Rows of the figures of mails and replies.")] = "campaign"
