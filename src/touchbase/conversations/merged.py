"""Merges of conversations: the survivor gets the snooze, label, assignee, drafts, read marks and notifications of a merged contact.

Its own come first; a person's two drafts become one text. An undo gives each contact its own back, and leaves what was changed since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.conversations.drafts import DELETE_DRAFTS, STORE_DRAFT
from touchbase.conversations.plans import DELETE_DECISION, DELETE_READS, STORE
from touchbase.history.events import CONTACT
from touchbase.sql.builders import RECORD, ROW_KEY
from touchbase.sql.statement import Execute, Plan, Statement

_OF_CONTACT = "t.client = p.client AND t.contact_id = p.record_id AND p.record_kind = 1"
DECISIONS_OF = Statement(
    "conversations_of",
    RECORD,
    body="SELECT t.snoozed_us, t.snoozed_until_us, t.label, t.assignee_id, t.updated_us, t.updated_by "
    f"FROM p CROSS JOIN conversation t WHERE {_OF_CONTACT}",
)
DRAFTS_OF = Statement(
    "drafts_of", RECORD, body=f"SELECT t.user_id, t.text, t.updated_us FROM p CROSS JOIN answer_draft t WHERE {_OF_CONTACT}"
)
READS_OF = Statement("read_marks_of", RECORD, body=f"SELECT t.user_id, t.read_us FROM p CROSS JOIN conversation_read t WHERE {_OF_CONTACT}")
NOTIFICATIONS_OF = Statement("notifications_of", RECORD, body=f"SELECT t.id FROM p CROSS JOIN notification t WHERE {_OF_CONTACT}")
STORE_READ = Statement(
    "store_read_mark",
    (("client", "bigint"), ("contact_id", "bigint"), ("user_id", "text"), ("read_us", "bigint")),
    body="INSERT INTO conversation_read (client, contact_id, user_id, read_us) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, contact_id, user_id) DO UPDATE SET read_us = excluded.read_us",
)
MOVE_NOTIFICATION = Statement(
    "move_notification",
    (*ROW_KEY, ("from_id", "bigint"), ("to_id", "bigint")),
    body="UPDATE notification AS t SET contact_id = p.to_id FROM p WHERE t.client = p.client AND t.id = p.id AND t.contact_id = p.from_id",
    by_row=True,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The row of a conversation."""

    snoozed_us: Micros | None
    snoozed_until_us: Micros | None
    label: str | None
    assignee_id: str | None
    updated_us: Micros
    updated_by: str


@dataclass(slots=True)
class TeamState:
    """What people decided, wrote and read about one contact, by the ids of the people."""

    decision: Decision | None = None
    drafts: dict[str, tuple[str, Micros]] = field(default_factory=dict)
    reads: dict[str, Micros] = field(default_factory=dict)
    notifications: list[int] = field(default_factory=list)

    def with_merged(self, merged: TeamState) -> TeamState:
        """Return the state of a survivor after a contact is part of it; the earlier of two read marks counts."""
        drafts = merged.drafts | {
            user: (f"{text}\n\n{merged.drafts[user][0]}", max(at, merged.drafts[user][1])) if user in merged.drafts else (text, at)
            for user, (text, at) in self.drafts.items()
        }
        reads = merged.reads | {user: min(at, merged.reads.get(user, at)) for user, at in self.reads.items()}
        return TeamState(self._decision_with(merged.decision), drafts, reads, sorted([*self.notifications, *merged.notifications]))

    def _decision_with(self, merged: Decision | None) -> Decision | None:
        own = self.decision
        if own is None or merged is None:
            return own or merged
        snooze = own if own.snoozed_until_us is not None else merged
        last = max(own, merged, key=lambda decision: decision.updated_us)
        return Decision(
            snooze.snoozed_us, snooze.snoozed_until_us, own.label or merged.label, own.assignee_id or merged.assignee_id,
            last.updated_us, last.updated_by,
        )  # fmt: skip


def team_state(client: int, contact: int) -> Plan[TeamState]:
    """Return what people decided, wrote and read about a contact."""
    record = [(client, CONTACT, contact)]
    decisions = yield Execute(DECISIONS_OF, record)
    drafts = yield Execute(DRAFTS_OF, record)
    reads = yield Execute(READS_OF, record)
    notifications = yield Execute(NOTIFICATIONS_OF, record)
    return TeamState(
        Decision(*decisions[0]) if decisions else None,
        {user: (text, at) for user, text, at in drafts},
        dict(reads),
        sorted(row[0] for row in notifications),
    )


def merge_team_state(client: int, contact: int, survivor: int) -> Plan[None]:
    """Move the state of a contact to the one that it is part of from now on."""
    merged = yield from team_state(client, contact)
    if merged == TeamState():
        return
    own = yield from team_state(client, survivor)
    record = [(client, CONTACT, contact)]
    for statement in (DELETE_DECISION, DELETE_DRAFTS, DELETE_READS):
        yield Execute(statement, record)
    yield from _store(client, survivor, own.with_merged(merged))
    yield from _move(client, merged.notifications, contact, survivor)


def divide_team_state(client: int, survivor: int, before: TeamState, merged: Mapping[int, TeamState]) -> Plan[None]:
    """Give the contacts of a merge their own states back; the survivor's changes since the merge stay with it."""
    now, expected = (yield from team_state(client, survivor)), before
    for state in merged.values():
        expected = expected.with_merged(state)
    own = TeamState(before.decision if now.decision == expected.decision else now.decision)
    # A person's draft or mark that is as the merge left it is the survivor's own again, or none.
    own.drafts = {user: draft for user, draft in now.drafts.items() if draft != expected.drafts.get(user)} | {
        user: draft for user, draft in before.drafts.items() if now.drafts.get(user) == expected.drafts.get(user)
    }
    own.reads = {user: at for user, at in now.reads.items() if at != expected.reads.get(user)} | {
        user: at for user, at in before.reads.items() if now.reads.get(user) == expected.reads.get(user)
    }
    for statement in (DELETE_DECISION, DELETE_DRAFTS, DELETE_READS):
        yield Execute(statement, [(client, CONTACT, survivor)])
    yield from _store(client, survivor, own)
    for contact, state in merged.items():
        yield from _store(client, contact, state)
        yield from _move(client, state.notifications, survivor, contact)


def _store(client: int, contact: int, state: TeamState) -> Plan[None]:
    decision = state.decision
    if decision is not None:
        values = (decision.snoozed_us, decision.snoozed_until_us, decision.label, decision.assignee_id)
        yield Execute(STORE, [(client, contact, *values, decision.updated_us, decision.updated_by)])
    if state.drafts:
        yield Execute(STORE_DRAFT, [(client, contact, user, *draft) for user, draft in sorted(state.drafts.items())])
    if state.reads:
        yield Execute(STORE_READ, [(client, contact, user, at) for user, at in sorted(state.reads.items())])


def _move(client: int, notifications: Sequence[int], contact: int, to: int) -> Plan[None]:
    if notifications:
        yield Execute(MOVE_NOTIFICATION, [(client, number, contact, to) for number in notifications])
