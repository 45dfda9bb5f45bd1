"""Audit log: changes to people, keys, clients and settings, and exports of data, with their actors.

An operation declares its action: `@command(follow_up=audited("key.revoked", "key", ...))`. The entry is written in the act's transaction,
with ids in place of personal values, and belongs to the installation: it outlives the client that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from touchbase.common.asgi import CONSOLE_HEADER, Scope, peer_of
from touchbase.common.timestamps import SECOND, Clock, Micros, clock
from touchbase.common.unique_ids import UniqueIds
from touchbase.sql.cell_answers import AnswerMerge, sorted_page
from touchbase.sql.filters import Where
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, Statement, delete

ACTIONS: Mapping[str, str] = {
    "session.began": "Somebody signed in.",
    "session.refused": "A sign-in was refused; of many only some are recorded.",
    "session.ended": "Sessions of a person or key were ended, or somebody signed out.",
    "user.invited": "Somebody was invited.",
    "user.joined": "Somebody used an invitation, or a link for another password.",
    "user.link_created": "A link to join, or for another password, was made.",
    "user.rights_changed": "The role or the grants of a person changed.",
    "user.suspended": "A person was suspended.",
    "user.resumed": "A suspended person may sign in again.",
    "user.password_changed": "A person changed the password.",
    "invitation.revoked": "An invitation was revoked.",
    "key.created": "An API key was created.",
    "key.rotated": "An API key got a successor.",
    "key.revoked": "An API key was revoked.",
    "report_link.created": "A link to the report of a client was made.",
    "report_link.revoked": "A link to the report of a client was revoked.",
    "client.created": "A client was created.",
    "client.renamed": "A client was renamed.",
    "client.suspended": "A client was suspended.",
    "client.resumed": "A client was resumed.",
    "client.id_rotated": "The id of a client was replaced.",
    "client.deleted": "The deletion of a client began.",
    "settings.changed": "The settings of a client changed.",
    "connection.created": "A tool was connected.",
    "connection.changed": "The settings of a connection changed.",
    "connection.secret_changed": "Secrets or the access token of a connection changed.",
    "connection.mapped": "The settings of a connection changed, and stored webhooks were read again.",
    "connection.removed": "A tool was disconnected.",
    "duplicate.refused": "Somebody said that two records are not the same.",
    "duplicate.allowed": "Two records may be listed as duplicates again.",
    "endpoint.created": "An endpoint was added.",
    "endpoint.changed": "An endpoint was changed.",
    "endpoint.secret_rotated": "An endpoint got another secret.",
    "endpoint.resumed": "An endpoint was resumed.",
    "endpoint.removed": "An endpoint was removed.",
    "attention.snoozed": "Something that needs a person was snoozed.",
    "attention.woken": "The snooze of something that needs a person was ended.",
    "status.defined": "A status was declared.",
    "status.renamed": "A status was renamed, or merged into another one.",
    "status.looks_changed": "The team's list of statuses was changed: their labels, colours and keys.",
    "status.removed": "A status was removed.",
    "custom_field.defined": "A custom field was declared, or its type changed.",
    "custom_field.changed": "A custom field or its values were renamed, merged or removed.",
    "custom_field.removed": "A custom field without values was removed.",
    "export.read": "Records, a person's data, a list or this log was exported as a file.",
    "export.started": "An export was started as a job.",
    "import.started": "A file was uploaded to be imported.",
    "body.read": "Somebody read the body of a stored or refused webhook.",
    "record.merged": "Records were merged.",
    "record.merge_undone": "A merge was undone.",
    "bulk.changed": "Many records or conversations were changed at once.",
    "change.reverted": "The revert of a change was started.",
    "block.removed": "The block of a contact was taken back.",
    "suppression.removed": "An entry of a do-not-contact list was removed.",
    "person.erased": "A person was erased.",
    "erasure.lifted": "Erased people may be stored again.",
}
"""All actions with their meanings."""
JOB_REQUEST, MCP_REQUEST, CLI_REQUEST = "job:", "mcp:", "cli:"
"""Prefixes of the request ids of jobs, agents and the command line."""
CONSOLE, API, MCP, CLI, WEBHOOK, JOB = "console", "api", "mcp", "cli", "webhook", "job"
"""Ways in which an actor reaches the service."""
TOUCHBASE = "touchbase"
"""Actor of the server's own acts."""
KEY_ID = "touchbase.key_id"
"""Key in a request's scope: the id of its API key or person, after authentication."""
REQUEST: ContextVar[tuple[Scope, Clock] | None] = ContextVar("touchbase.request", default=None)
"""The scope of the request in which a call is made, and the server's clock; None: the server acts by itself."""
SETTLED: Micros = 5 * SECOND
"""Age from which no earlier act is committed any more."""
_serials = UniqueIds()
Target = tuple[str, str]
"""Kind and id of an act's target."""


def via_of(actor_id: str | None, request_id: str | None) -> str:
    """Return the actor's way in: request ids of jobs, agents and the command line have a prefix; people act in the console."""
    for beginning, via in ((JOB_REQUEST, JOB), (MCP_REQUEST, MCP), (CLI_REQUEST, CLI)):
        if request_id is not None and request_id.startswith(beginning):
            return via
    return CONSOLE if actor_id is not None and actor_id.startswith("u") else API


@dataclass(frozen=True, slots=True)
class Act:
    """Who acts, when and from where."""

    id: str
    """In the order of the acts of one process."""
    at_us: Micros
    actor_id: str | None
    """Of the key or person; None: a request without a key, or `TOUCHBASE`."""
    via: str
    request_id: str | None
    address: str


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One entry."""

    at_us: Micros
    id: str
    client: int | None
    """Its number; None: the act is about no single client."""
    actor_id: str | None
    via: str
    action: str
    target_type: str | None
    target_id: str | None
    request_id: str | None
    address: str
    change_id: str | None = None
    """Of the change of many that the act made."""


EVENT: Columns = (
    ("at_us", "bigint"), ("id", "text"), ("about_client", "bigint"), ("actor_id", "text"), ("via", "text"), ("action", "text"),
    ("target_type", "text"), ("target_id", "text"), ("request_id", "text"), ("address", "text"), ("change_id", "text"),
)  # fmt: skip
_EVENT = names(EVENT)
INSERT_AUDIT_EVENT = Statement(
    "insert_audit_event",
    EVENT,
    body=f"INSERT INTO audit_event ({_EVENT}) SELECT {names(EVENT[:-1], 'p.')}, (SELECT h.id FROM change h WHERE h.client = p.about_client "
    "AND h.request_id = p.change_id ORDER BY h.until_us DESC LIMIT 1) FROM p WHERE true",
)
"""In place of `change_id` it takes the request or job that has made the change."""
DELETE_AUDIT_EVENT = delete("delete_audit_event", "audit_event", EVENT[:2])


def current_act() -> Act:
    """Return who acts now."""
    request = REQUEST.get()
    process, number = _serials.next()
    id = f"{process}{number:08x}"
    if request is None:
        return Act(id, clock(), TOUCHBASE, JOB, None, "")
    scope, now = request
    actor_id, request_id = scope.get(KEY_ID), scope.get("touchbase.request_id")
    via = via_of(actor_id, request_id)
    if via == API and any(name == CONSOLE_HEADER for name, _ in scope["headers"]):  # the session of a key
        via = CONSOLE
    return Act(id, now(), actor_id, via, request_id, peer_of(scope))


def entry(
    act: Act,
    action: str,
    target: Target | None = None,
    client: int | None = None,
    actor_id: str | None = None,
    made_by: str | None = None,
) -> Plan[None]:
    """Write an entry; `client` 0 is none. `made_by`: the request or job of the change that it names, which is stored already."""
    assert action in ACTIONS, action
    kind, target_id = target or (None, None)
    actor = act.actor_id or actor_id
    via = act.via if act.via != API else via_of(actor, act.request_id)
    yield Execute(
        INSERT_AUDIT_EVENT,
        [(act.at_us, act.id, client or None, actor, via, action, kind, target_id, act.request_id, act.address, made_by)],
    )


@dataclass(frozen=True, slots=True)
class Audited:
    """The entry of each call of an operation that succeeds (`sql.operation.FollowUp`)."""

    action: str | Callable[[Any, Any], str | None]
    """Or a function of the call and its result; None: nothing is recorded."""
    kind: str
    """Of the target."""
    target: Callable[[Any, Any], object]
    client: Callable[[Any, Any], int | None]
    actor: Callable[[Any, Any], str | None]
    change: Callable[[Act, Any], str | None]

    def capture(self) -> Act:
        """Return who makes a call."""
        return current_act()

    def plan(self, call: Any, result: Any, captured: Act) -> Plan[None]:
        """Write the entry of a call."""
        action = self.action if isinstance(self.action, str) else self.action(call, result)
        if action is not None:
            target = self.target(call, result)
            subject = None if target is None else (self.kind, str(target))
            made_by = self.change(captured, result)
            yield from entry(captured, action, subject, self.client(call, result), self.actor(call, result), made_by)


def audited(
    action: str | Callable[[Any, Any], str | None],
    kind: str,
    target: Callable[[Any, Any], object],
    client: Callable[[Any, Any], int | None] = lambda call, result: getattr(call, "client", None),
    actor: Callable[[Any, Any], str | None] = lambda call, result: None,
    change: Callable[[Act, Any], str | None] = lambda act, result: None,
) -> Audited:
    """Return the follow-up of an operation that is recorded: by functions of a call and its result, the id of the target, and the client.

    `actor`: who acts, if the request has no key: somebody who signs in. `change`: the request or job of the change that the operation has
    stored (`change_of_request`, `change_of_job`).
    """
    return Audited(action, kind, target, client, actor, change)


def change_of_request(act: Act, result: object) -> str | None:
    """Return what has made the change of an operation: its request."""
    return act.request_id


def change_of_job(act: Act, job: Any) -> str | None:
    """Return what has made the change of an operation: the job that it returns."""
    return f"{JOB_REQUEST}{job.id}"


@command
def record_act(act: Act, action: str, target: Target | None = None, about: int | None = None, actor_id: str | None = None) -> Plan[None]:
    """Record an act that writes nothing else, such as reading a body or a refused sign-in; `about`: the client's number."""
    yield from entry(act, action, target, about, actor_id)


@command
def record_bulk_change(client: int, act: Act, records: str, count: int) -> Plan[None]:
    """Record that a request has changed many records, with its change."""
    yield from entry(act, "bulk.changed", (records, str(count)), client, made_by=act.request_id)


@command(background=True)
def forget_acts(before_us: Micros, most: int) -> Plan[int]:
    """Remove up to `most` entries from before a time; return their number."""
    rows = yield Select(f"SELECT at_us, id FROM audit_event WHERE at_us < ? ORDER BY at_us, id LIMIT {most:d}", (before_us,))
    if rows:
        yield Execute(DELETE_AUDIT_EVENT, [(at, id) for at, id in rows])
    return len(rows)


Position = tuple[Micros, str]
"""Time and id of the last entry of a page."""


@query(merge=sorted_page(lambda event: (event.at_us, event.id), newest=True))
def list_audit_events(
    limit: int,
    clients: Collection[int] | None = None,
    actors: Collection[str] | None = None,
    action: str | None = None,
    since_us: Micros | None = None,
    until_us: Micros | None = None,
    before: Position | None = None,
) -> Plan[list[AuditEvent]]:
    """Entries, newest first, after one on the page before; `clients`: only those about one of these.

    `actors`: ids of a person and the personal keys, or of a key. `action`: one of `ACTIONS`, or the beginning of some, such as `key.`.
    """
    where = _matching(clients, actors, action)
    if since_us is not None:
        where.add("at_us >= ?", since_us)
    if until_us is not None:
        where.add("at_us < ?", until_us)
    if before is not None:
        where.add("(at_us, id) < (?, ?)", *before)
    rows = yield Select(f"SELECT {_EVENT} FROM audit_event WHERE {where} ORDER BY at_us DESC, id DESC LIMIT ?", (*where.params, limit))
    return [AuditEvent(row[0], row[1], *row[2:]) for row in rows]


def _matching(clients: Collection[int] | None, actors: Collection[str] | None, action: str | None) -> Where:
    where = Where("true")
    for column, among in (("about_client", clients), ("actor_id", actors)):
        if among is not None:
            where.add(f"{column} IN ({', '.join('?' * len(among)) or 'NULL'})", *sorted(among))
    if action is not None and action.endswith("."):
        where.add("action >= ? AND action < ?", action, f"{action[:-1]}/")
    else:
        where.equal("action", action)
    return where


@query(merge=sorted_page(lambda event: (event.at_us, event.id)))
def follow_audit_events(
    limit: int,
    after: Position,
    until_us: Micros,
    clients: Collection[int] | None = None,
    actors: Collection[str] | None = None,
    action: str | None = None,
) -> Plan[list[AuditEvent]]:
    """Entries after one, oldest first, of before a time: those of the last moments may be committed behind later ones."""
    where = _matching(clients, actors, action)
    where.add("(at_us, id) > (?, ?) AND at_us < ?", *after, until_us)
    rows = yield Select(f"SELECT {_EVENT} FROM audit_event WHERE {where} ORDER BY at_us, id LIMIT ?", (*where.params, limit))
    return [AuditEvent(row[0], row[1], *row[2:]) for row in rows]


MOST_COUNTED = 20_000


@query(merge=AnswerMerge(lambda call, answers: sum(answers.values())))
def count_audit_events(after_us: Micros) -> Plan[int]:
    """Number of entries after a time, in each store up to `MOST_COUNTED`."""
    rows = yield Select(f"SELECT count(*) FROM (SELECT 1 FROM audit_event WHERE at_us > ? LIMIT {MOST_COUNTED}) e", (after_us,))
    return int(rows[0][0])
