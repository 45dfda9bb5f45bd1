"""Answers: a person's text in reply to a message, sent through the tool's API.

An answer is *queued* for a moment, in which it can be taken back. Before its request the store notes *sending*, with a lease; after it
*sent*, *failed* (the tool has not sent it) or *unknown*. A lease that ends without a result makes it *unknown*, so a process that dies
at any moment sends nothing twice: only a queued answer is sent, and no other state becomes queued again but after a 429, a refusal.

An answer that closes the conversation marks its replies as handled by it, at once; if it is taken back, fails or is unknown, exactly these
are open again.

An answer belongs to the contact of the message that it answers, so merges, undo and erasures need no further rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from touchbase.common.normalize import find_email_key
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Connection, connection_of
from touchbase.conversations.drafts import REMOVE_DRAFT
from touchbase.conversations.plans import CHANGED, HANDLE, REOPEN_HANDLED_BY, get_conversation
from touchbase.do_not_contact.models import Addresses
from touchbase.do_not_contact.sql.lookup import find_suppressed, mark_records
from touchbase.errors import Conflict, Fault, Invalid, NotFound, PreconditionFailed, WrongState
from touchbase.event_log.models import EventType, LoggedEvent, by_request
from touchbase.event_log.sql.log import log_events
from touchbase.history.events import CONTACT, EMAIL_CAMPAIGN, NO_AUTHOR, Author
from touchbase.messages.models import EMAIL, LINKEDIN, RECEIVED, SENT, Message
from touchbase.messages.sql.plans import create_message, get_messages, lock_message
from touchbase.records.models import Contact
from touchbase.records.sql.rows import contact_of
from touchbase.records.sql.statements import lock_existing
from touchbase.sql.builders import RECORD, ROW_KEY, find, insert
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, encode
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

QUEUED, SENDING, FAILED, UNKNOWN = "queued", "sending", "failed", "unknown"
STATES = (QUEUED, SENDING, SENT, FAILED, UNKNOWN)
UNDO_US: Micros = 10 * SECOND
"""How long an answer is queued."""
LATEST: Micros = 900 * SECOND
"""How long after its time an answer is still sent: later, after an outage, a person decides again."""
LONGEST_TEXT = 20_000
"""Characters of an answer."""
SNIPPET_FIELDS = ("first_name", "last_name", "company_name", "email", "my_name")
"""Fields of snippets, written as `{{first_name}}`: those of the contact, and the name of who answers."""
_FIELD = re.compile(r"\{\{\s*(\w+)\s*\}\}")
BLOCKED = "the contact must not be contacted ({reason}); send confirm_blocked: true if the answer shall go out all the same"


def fields_in(text: str) -> list[str]:
    """Return the names in double braces in a text."""
    return list(dict.fromkeys(_FIELD.findall(text)))


@dataclass(frozen=True, slots=True)
class AnswerTool:
    """A tool whose API sends answers."""

    name: str
    """The tool as people write it."""
    needs: tuple[str, ...]
    """Members that a reply's `reply_ref` must have."""
    has_own_base: bool = False
    """Whether the API's address differs by customer; then it is the connection's `api_base`."""


TOOLS: Mapping[str, AnswerTool] = {
    "smartlead": AnswerTool("Smartlead", ("stats_id", "campaign_id")),
    "instantly": AnswerTool("Instantly", ("email_id", "mailbox")),
    "emailbison": AnswerTool("EmailBison", ("reply_id", "sender_id", "to"), has_own_base=True),
    "heyreach": AnswerTool("HeyReach", ("conversation_id", "account_id")),
    "lemlist": AnswerTool("lemlist", ("contact_id", "lead_id")),  # the others are looked up
}
_decode_reference = msgspec.json.Decoder(dict[str, str]).decode


def reference_of(message: Message) -> dict[str, str]:
    """Return the ids of a message for its tool's API; none if one that it needs is missing."""
    tool = TOOLS.get(message.tool)
    reference = _decode_reference(message.reply_ref) if tool is not None and message.reply_ref else {}
    return reference if tool is not None and all(name in reference for name in tool.needs) else {}


API, LINK, NONE = "api", "link", "none"
WAYS = (API, LINK, NONE)


@dataclass(slots=True)
class ReplyCapability:
    """How a conversation is answered."""

    how: str
    """By the tool's API, at a link into the tool, or by neither."""
    tool: str | None = None
    message_id: int | None = None
    """The message that an answer answers."""
    channel: str | None = None
    mailbox: str | None = None
    """The client's own address or account that answers."""
    recipient: str | None = None
    url: str | None = None
    reason: str | None = None
    """Why the API cannot."""
    advice: str | None = None
    """Cure for the person."""


def capability_of(messages: Iterable[Message], connections: Iterable[Connection], recipient: str | None) -> ReplyCapability:
    """Return how the newest received message is answered that can be, of messages with the newest first; `recipient` is the contact's."""
    received = [message for message in messages if message.direction == RECEIVED]
    if not received:
        return ReplyCapability(NONE, recipient=recipient, reason="the contact has not written", advice="Write from the tool.")
    message = next((reply for reply in received if reference_of(reply)), None)
    message = message or next((reply for reply in received if reply.thread_url), received[0])
    reference = reference_of(message)
    to = reference.get("to", recipient) if message.channel == EMAIL else recipient
    mailbox = reference.get("mailbox") or message.mailbox
    capability = ReplyCapability(API, message.tool, message.id, message.channel, mailbox, to, message.thread_url)
    why = why_not(message, connections)
    if why is not None:
        capability.how = LINK if message.thread_url else NONE
        capability.reason, capability.advice = why
    return capability


def why_not(message: Message, connections: Iterable[Connection]) -> tuple[str, str] | None:
    """Return why the API of its tool cannot answer a message, with the cure; None if it can."""
    by_hand = "Answer in the tool." if message.thread_url else "Answer from the mailbox, or in the tool."
    tool = TOOLS.get(message.tool)
    if tool is None:
        return f"answers through the API of {message.tool} are not supported", by_hand
    if not reference_of(message):
        return f"the webhook of {tool.name} did not have the ids that its API needs", by_hand
    connection = connection_of(connections, EMAIL_CAMPAIGN, message.tool)
    if connection is None or not connection.access_token:
        return f"{tool.name} is not connected with an access token", f"Give the connection of {tool.name} a token that may send. {by_hand}"
    if tool.has_own_base and not connection.settings.api_base:
        return f"the connection of {tool.name} names no API", f"Set its setting api_base to the address of your instance. {by_hand}"
    return None


@dataclass(slots=True)
class Answer:
    """An answer of a person."""

    client: int
    id: int
    message_id: int
    state: str
    tool: str
    text: str
    """Empty once it is sent: its message has it."""
    closes: bool
    """Whether it handles the replies that came before it."""
    confirmed: bool
    """Whether somebody confirmed that it goes to a person who is blocked."""
    created_us: Micros
    by: Author
    due_us: Micros
    """Queued: when it is sent; sending: when the lease ends."""
    attempts: int = 0
    reason: str = ""
    sent_message_id: int | None = None


_ANSWER: Columns = (
    *ROW_KEY, ("message_id", "bigint"), ("state", "text"), ("tool", "text"), ("text", "text"), ("closes", "bigint"),
    ("confirmed", "bigint"), ("created_us", "bigint"), ("created_by", "text"), ("due_us", "bigint"), ("attempts", "bigint"),
    ("reason", "text"), ("sent_message_id", "bigint"),
)  # fmt: skip
_NAMES = ", ".join(f"t.{name}" for name, _ in _ANSWER)
_SAME = "t.client = p.client AND t.id = p.id"
INSERT_ANSWER = insert("answer", _ANSWER)
ANSWER_BY_ID = find("answer_by_id", "answer", _ANSWER, ROW_KEY, _SAME)
_OF_CONTACT = (
    "FROM p CROSS JOIN event e CROSS JOIN message m CROSS JOIN answer t WHERE e.client = p.client AND e.record_kind = p.record_kind "
    "AND e.record_id = p.record_id AND m.client = e.client AND m.event_key = e.key AND m.occurred_us = e.occurred_us "
    "AND m.direction = 'received' AND t.client = m.client AND t.message_id = m.id"
)
ANSWERS_OF = Statement("answers_of_contact", RECORD, body=f"SELECT {_NAMES} {_OF_CONTACT}")
COUNT_OF_CONTACT = Statement("count_answers", RECORD, body=f"SELECT count(*) {_OF_CONTACT}")
_ITS_EVENTS = "SELECT key, occurred_us FROM event WHERE client = ?1 AND record_kind = ?2 AND record_id = ?3"
DELETE_OF_CONTACT = Statement(
    "delete_answers_of",
    RECORD,
    sqlite="DELETE FROM answer AS t INDEXED BY answer_message WHERE t.client = ?1 AND t.message_id IN "
    f"(SELECT id FROM message WHERE client = ?1 AND (event_key, occurred_us) IN ({_ITS_EVENTS}))",
    body="DELETE FROM answer t USING p CROSS JOIN event e CROSS JOIN message m WHERE e.client = p.client AND e.record_kind = p.record_kind "
    "AND e.record_id = p.record_id AND m.client = e.client AND m.event_key = e.key AND m.occurred_us = e.occurred_us "
    "AND t.client = m.client AND t.message_id = m.id",
)
"""Run it before the messages are deleted."""
REMOVE_ANSWER = Statement(
    "remove_answer",
    ROW_KEY,
    body=f"DELETE FROM answer t USING p WHERE {_SAME} AND t.state IN ('queued', 'failed', 'unknown') RETURNING t.id",
    by_row=True,
)
CLAIM_ANSWER = Statement(
    "claim_answer",
    (*ROW_KEY, ("now_us", "bigint"), ("until_us", "bigint")),
    body=f"UPDATE answer t SET state = 'sending', due_us = p.until_us FROM p WHERE {_SAME} AND t.state = 'queued' AND t.due_us <= p.now_us "
    "RETURNING t.due_us",
    by_row=True,
)
EXPIRE_ANSWERS = Statement(
    "expire_answers",
    (*ROW_KEY, ("now_us", "bigint"), ("reason", "text")),
    body=f"UPDATE answer t SET state = 'unknown', reason = p.reason FROM p WHERE {_SAME} AND t.state = 'sending' AND t.due_us <= p.now_us "
    "RETURNING t.id",
    by_row=True,
)
SETTLE_ANSWER = Statement(
    "settle_answer",
    (*ROW_KEY, ("lease_us", "bigint"), ("state", "text"), ("reason", "text"), ("due_us", "bigint"), ("refused", "bigint")),
    body="UPDATE answer t SET state = p.state, reason = p.reason, due_us = p.due_us, attempts = t.attempts + p.refused FROM p "
    f"WHERE {_SAME} AND t.state IN ('sending', 'unknown') AND t.due_us = p.lease_us RETURNING t.id",
    by_row=True,
)
"""Only with the lease of the request: an answer whose lease has ended meanwhile is unknown, until the result comes after all."""
SENT_ANSWER = Statement(
    "sent_answer",
    (*ROW_KEY, ("sent_message_id", "bigint")),
    body=f"UPDATE answer t SET text = '', sent_message_id = p.sent_message_id FROM p WHERE {_SAME}",
    by_row=True,
)
DELAY_ANSWERS = Statement(
    "delay_answers",
    (("client", "bigint"), ("tool", "text"), ("until_us", "bigint")),
    body="UPDATE answer t SET due_us = p.until_us FROM p WHERE t.client = p.client AND t.tool = p.tool AND t.state = 'queued' "
    "AND t.due_us < p.until_us",
    by_row=True,
)
PRUNE_ANSWER = Statement(
    "prune_answer",
    ROW_KEY,
    body=f"DELETE FROM answer t USING p WHERE {_SAME} AND t.state IN ('sent', 'failed', 'unknown') RETURNING t.id",
    by_row=True,
)


def _answer(row: Row) -> Answer:
    values = list(row)
    values[6], values[7], values[9] = bool(row[6]), bool(row[7]), Author(**msgspec.json.decode(row[9]))
    return Answer(*values)


@query
def answers_of_contact(client: int, contact_id: int) -> Plan[list[Answer]]:
    """The answers to a contact's messages, oldest first."""
    rows = yield Execute(ANSWERS_OF, [(client, CONTACT, contact_id)])
    return sorted((_answer(row) for row in rows), key=lambda answer: answer.id)


@command(ids="answer")
def queue_answer(
    ids: Ids, client: int, contact_id: int, message_id: int, text: str, at: Micros, by: Author = NO_AUTHOR,
    closes: bool = False, confirmed: bool = False, dry_run: bool = False, if_version: str | None = None,
    writer: str = "",
) -> Plan[Answer | NotFound | Invalid | Conflict | PreconditionFailed]:  # fmt: skip
    """Queue an answer to a received message of a contact; `NotFound` without the contact or the message.

    `Invalid` for a blocked contact that nobody confirmed; `Conflict` if the same text is on its way to this message, or was sent;
    `PreconditionFailed` if the conversation has another version than `if_version`. `writer`: The user whose draft it was.
    """
    # The lock blocks merges, deletions and erasures of the contact, and other answers to it.
    message: Message = yield from lock_message(client, message_id)
    if message.contact_id != contact_id:
        return NotFound(f"the contact has no message with id {message_id}; get the conversation to see its messages")
    rows = yield from lock_existing(client, CONTACT, [contact_id])
    if message.direction != RECEIVED:
        return Invalid([Fault("/message_id", "value", "must be a received message: a sent one cannot be answered")])
    conversation = yield from get_conversation.plan(client, contact_id)
    if if_version is not None and conversation is not None and if_version != conversation.version:
        return PreconditionFailed(CHANGED)
    if not confirmed and (reason := (yield from _blocked(contact_of(rows[0]), message, at))) is not None:
        return Invalid([Fault("/confirm_blocked", "blocked", BLOCKED.format(reason=reason))])
    for earlier in (yield from answers_of_contact.plan(client, contact_id)):
        if earlier.message_id == message_id and earlier.state != FAILED and (yield from _text_of(client, earlier)) == text:
            return Conflict(f"this text was given as an answer to this message already: answer {earlier.id} is {earlier.state}")
    answer = Answer(client, 0, message_id, QUEUED, message.tool, text, closes, confirmed, at, by, at + UNDO_US)
    if not dry_run:
        answer.id = ids.take("answer")
        row = (
            client, answer.id, message_id, QUEUED, message.tool, text, int(closes), int(confirmed), at, encode(by._asdict()), answer.due_us,
            0, "", None,
        )  # fmt: skip
        yield Execute(INSERT_ANSWER, [row])
        if writer:
            yield Execute(REMOVE_DRAFT, [(client, contact_id, writer)])
        if closes and conversation is not None and conversation.human + conversation.automatic:
            yield Execute(HANDLE, [(client, CONTACT, contact_id, at, _mark(answer))])
            yield from log_events([LoggedEvent(client, EventType.CONVERSATION_DONE, at, CONTACT, contact_id, cause=by_request(by))])
    return answer


def _mark(answer: Answer) -> str:
    """Return the handler to record in messages."""
    return encode({**answer.by._asdict(), "answer_id": answer.id})


def _reopen(answer: Answer, message: Message | None, at: Micros) -> Plan[None]:
    """Open the replies again that an answer to a message has handled, as far as nobody has decided about them since."""
    if not answer.closes or message is None:
        return
    contact_id = message.contact_id
    before = yield from get_conversation.plan(answer.client, contact_id)
    yield Execute(REOPEN_HANDLED_BY, [(answer.client, CONTACT, contact_id, _mark(answer))])
    after = yield from get_conversation.plan(answer.client, contact_id)
    if before is not None and after is not None and after.human + after.automatic > before.human + before.automatic:
        cause = by_request(answer.by)
        yield from log_events([LoggedEvent(answer.client, EventType.CONVERSATION_REOPENED, at, CONTACT, contact_id, cause=cause)])


def _text_of(client: int, answer: Answer) -> Plan[str | None]:
    if answer.sent_message_id is None:
        return answer.text
    message = (yield from get_messages.plan(client, [answer.sent_message_id])).get(answer.sent_message_id)
    return None if message is None else message.text


def _blocked(contact: Contact, message: Message, now: Micros) -> Plan[str | None]:
    """Return why the recipient must not be contacted: the contact, or another address that wrote the reply."""
    yield from mark_records([contact], now)
    key = find_email_key(reference_of(message).get("to", ""))
    if contact.suppressed is None and message.channel == EMAIL and key is not None and key != contact.email_key:
        [match] = yield from find_suppressed.plan(contact.client, [Addresses(key)], now)
        return None if match is None else match.reason
    return contact.suppressed


@command
def take_back_answer(client: int, contact_id: int, id: int, at: Micros) -> Plan[Answer | NotFound | WrongState]:
    """Remove an answer that is queued, failed or unknown; the result is the answer as it was. `WrongState` for another one."""
    yield from lock_existing(client, CONTACT, [contact_id])
    answers: list[Answer] = yield from answers_of_contact.plan(client, contact_id)
    answer = next((answer for answer in answers if answer.id == id), None)
    if answer is None:
        return NotFound(f"the contact has no answer with id {id}; it may have been taken back")
    if not (yield Execute(REMOVE_ANSWER, [(client, id)])):
        return WrongState("the answer was sent, or is being sent now: it cannot be taken back")
    yield from _reopen(answer, (yield from _locked_or_none(client, answer.message_id)), at)
    return answer


@query(scope=ALL_CLIENTS)
def due_answers(now: Micros, limit: int) -> Plan[list[tuple[int, int, str]]]:
    """Client, id and tool of answers to send or with an expired lease, the longest due first."""
    rows = yield Select(
        "SELECT a.client, a.id, a.tool FROM answer a JOIN client k ON k.id = a.client WHERE a.state IN ('queued', 'sending') "
        "AND a.due_us <= ? AND k.state = 'active' ORDER BY a.due_us LIMIT ?",
        (now, limit),
    )
    return [(row[0], row[1], row[2]) for row in rows]


@dataclass(slots=True)
class ClaimedAnswer:
    """An answer to send, with the parts of its request."""

    answer: Answer
    message: Message


STOPPED = "the server stopped while it was sent: look into the conversation in the tool before you send it again"


@command(background=True)
def claim_answer(client: int, id: int, now: Micros, until_us: Micros) -> Plan[ClaimedAnswer | None]:
    """Note that an answer is being sent, with a lease; None if it is not to be sent, or another worker sends it.

    One whose lease has ended becomes unknown; one that is late, or whose recipient was blocked meanwhile, fails.
    """
    rows = yield Execute(ANSWER_BY_ID, [(client, id)])
    if not rows:
        return None
    was_due = rows[0][10]
    # Before the answer's row: an erasure locks the contact first, too.
    message = yield from _locked_or_none(client, rows[0][2])
    if (yield Execute(EXPIRE_ANSWERS, [(client, id, now, STOPPED)])):
        yield from _reopen(_answer(rows[0]), message, now)
        return None
    if not (yield Execute(CLAIM_ANSWER, [(client, id, now, until_us)])):
        return None
    answer = _answer((yield Execute(ANSWER_BY_ID, [(client, id)]))[0])
    why = None
    if message is None:
        why = "its contact or the message that it answers was deleted"
    elif now - was_due > LATEST:
        why = "it waited too long, perhaps because the server was stopped: send it again"
    elif not answer.confirmed:
        [contact] = yield from lock_existing(client, CONTACT, [message.contact_id])
        reason = yield from _blocked(contact_of(contact), message, now)
        why = None if reason is None else f"the contact must not be contacted any more ({reason}): send it again and confirm that"
    if message is None or why is not None:
        yield Execute(SETTLE_ANSWER, [(client, id, until_us, FAILED, why or "", until_us, 0)])
        yield from _reopen(answer, message, now)
        return None
    return ClaimedAnswer(answer, message)


def _locked_or_none(client: int, message_id: int) -> Plan[Message | None]:
    """Lock the contact of a message; return the message, None if one of them is gone."""
    try:
        return (yield from lock_message(client, message_id))
    except NotFound:
        return None


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """Outcome of an answer's request."""

    state: str
    """`sent`, `failed`, `unknown`; `queued` after a refusal for the rate limit."""
    reason: str = ""
    due_us: Micros | None = None
    """When a queued answer is sent again, and at the earliest all others of the client's tool."""
    sent_id: str | None = None
    """The tool's id of the sent message."""


@command(ids="message")
def settle_answer(
    ids: Ids, client: int, claimed: ClaimedAnswer, outcome: AnswerOutcome, at: Micros, key: str, with_text: bool = True
) -> Plan[bool]:
    """Store the outcome of a claimed answer's request; False if the answer is gone, as after an erasure.

    A sent one becomes a message of the contact; of another one the replies are open again.
    `key`: The key of its event in the history, from `new_write_key`. `with_text`: Whether the client stores texts of messages.
    """
    answer = claimed.answer
    # Before the answer's row: an erasure locks the contact first, too.
    present = yield from _locked_or_none(client, answer.message_id)
    due_us = answer.due_us if outcome.due_us is None else outcome.due_us
    row = (client, answer.id, answer.due_us, outcome.state, outcome.reason, due_us, int(outcome.state == QUEUED))
    if not (yield Execute(SETTLE_ANSWER, [row])):
        return False
    if outcome.state == QUEUED and outcome.due_us is not None:
        yield Execute(DELAY_ANSWERS, [(client, answer.tool, outcome.due_us)])
    if outcome.state != SENT:
        if outcome.state != QUEUED:
            yield from _reopen(answer, present, at)
        return True
    sent_message_id = None
    if present is not None:
        message = answer_message(answer, present, outcome.sent_id, at, key, with_text=with_text)
        sent_message_id = yield from _sent(ids, answer, message, at)
    yield Execute(SENT_ANSWER, [(client, answer.id, sent_message_id)])
    return True


def _sent(ids: Ids, answer: Answer, message: Message, at: Micros) -> Plan[int | None]:
    """Store a sent answer as a message, and log it; return the message's id."""
    client, contact = answer.client, message.contact_id
    sent: Message | NotFound = yield from create_message.plan(ids, client, message, answer.by)
    if isinstance(sent, NotFound):  # a webhook has told of it, and somebody has deleted that message
        return None
    cause = by_request(answer.by)
    answered = LoggedEvent(client, EventType.CONVERSATION_ANSWERED, at, CONTACT, contact, cause=cause, data={"message_id": sent.id})
    yield from log_events([answered])
    return sent.id


def answer_message(answer: Answer, reply: Message, sent_id: str | None, at: Micros, key: str, *, with_text: bool) -> Message:
    """Return the message that a sent answer is."""
    subject, text = (answer_subject(reply), answer.text) if with_text else (None, None)
    return Message(
        id=0, direction=SENT, channel=reply.channel, occurred_us=at, event_key=key, delivery_id=None, received_us=at, tool=reply.tool,
        mailbox=reference_of(reply).get("mailbox") or reply.mailbox, subject=subject, text=text,
        campaign_id=reply.campaign_id, campaign_name=reply.campaign_name, message_id=sent_id, thread_id=reply.thread_id,
        contact_id=reply.contact_id,
    )  # fmt: skip


def answer_subject(reply: Message) -> str | None:
    """Return the subject of an answer; None on LinkedIn."""
    if reply.channel == LINKEDIN:
        return None
    subject = (reply.subject or "").strip()
    return subject if subject[:3].casefold() in ("re:", "aw:", "sv:") else f"Re: {subject}".strip()


@command(background=True)
def prune_answers(client: int, before_us: Micros, limit: int) -> Plan[int]:
    """Remove answers from before a time that are not on their way; return how many, up to `limit`."""
    states: Sequence[str] = (SENT, FAILED, UNKNOWN)
    rows = yield Select(
        f"SELECT id FROM answer WHERE client = ? AND created_us < ? AND state IN ({', '.join('?' * len(states))}) ORDER BY id LIMIT ?",
        (client, before_us, *states, limit),
    )
    return len((yield Execute(PRUNE_ANSWER, [(client, row[0]) for row in rows]))) if rows else 0
