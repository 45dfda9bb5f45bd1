"""One attempt: read the event and its record, send them if the endpoint wants them, and judge the response."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

from touchbase.clients.sql.clients import find_client_by_number
from touchbase.common.timestamps import SECOND, Clock, Micros, from_text, to_text
from touchbase.enrichment.retry_policy import retry_after_of
from touchbase.event_log.models import EventType, LoggedEvent, event_id
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.history.events import COMPANY, CONTACT
from touchbase.http.actors import ActorNames
from touchbase.inbox.sql.queries import find_traces
from touchbase.outgoing.audit_log import find_act, shown_act
from touchbase.outgoing.blocklists import message_to_blocklist, test_of_blocklist
from touchbase.outgoing.content import OutgoingMessage, act_message, message_of, test_message
from touchbase.outgoing.filters import UnreadableFilter, wants
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.line import LONGEST_RETRY_AFTER, WaitingEvent
from touchbase.outgoing.models import (
    AUDIT,
    BLOCKLIST,
    DELIVERED,
    DISABLED,
    EVERY_CLIENT,
    HUBSPOT,
    NOWHERE,
    REFUSED,
    RESPONSE_BYTES,
    SIGNED,
    SKIPPED,
    WEBHOOK,
    Attempt,
    Endpoint,
    Installation,
)
from touchbase.outgoing.samples import EventObjects
from touchbase.outgoing.shared_reads import ObjectReader, Shown
from touchbase.outgoing.write_back import test_write, write_of
from touchbase.sql.store import Store
from touchbase.tracing.interface import Tracing

LOG = logging.getLogger("touchbase.outgoing")
Post = Callable[[str, dict[str, str], bytes], Awaitable[ReceiverAnswer]]
GONE = 410
NEAR = 1_000
"""Events before and after one, among which the others of its transaction are."""
NEWEST = 8
"""Deliveries that caused an event of which the receipts are looked up."""
NO_HEADERS: Mapping[str, str] = {}
_SLOW_DOWN = (429, 503)
STRUCK = "***"
SHORTEST_SECRET = 8
"""Characters of a part of a secret that is struck from answers; shorter parts of a URL are words such as `services`."""
_SLASHES = re.compile(r"[/?&=]")
_LETTER = re.compile(r"%(?:25)*([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\?(.)", re.DOTALL)
"""A character as it is, or with the escapes of URLs and JSON."""
_CUT_ESCAPE = re.compile(r"(?:%(?:25)*[0-9a-fA-F]?|\\(?:u[0-9a-fA-F]{0,3})?)\Z")
DEFAULT_SLOW_DOWN: Micros = 5 * SECOND


class PostsWebhooks(Protocol):
    """Sends a request to a URL."""

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        """Return the outcome; raises nothing."""
        ...


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that failed."""

    retry_after: Micros = 0
    slow_down: bool = False
    """Whether all requests to the endpoint wait for `retry_after`."""
    stop: tuple[str, str] | None = None
    """State and reason, if the receiver wants nothing any more."""


def judged(answer: ReceiverAnswer, now: Micros, kind: str = WEBHOOK) -> FailedAttempt | None:
    """Return the failure in an answer of an endpoint's receiver; None for a 2xx."""
    if answer.failure == SKIPPED:
        return None
    if answer.status is None:
        return FailedAttempt()
    if 200 <= answer.status < 300:
        return None
    if answer.status == GONE and kind == WEBHOOK:  # Slack's word for a channel that is archived, perhaps not for ever
        reason = "the receiver answered 410 Gone: it refuses further events; resume the endpoint if that is wrong"
        return FailedAttempt(stop=(DISABLED, reason))
    wait = min(LONGEST_RETRY_AFTER, int((retry_after_of(answer.headers, now) or 0) * SECOND))
    if answer.status in _SLOW_DOWN:
        return FailedAttempt(wait or DEFAULT_SLOW_DOWN, slow_down=True)
    return FailedAttempt(wait)


def attempt_from(endpoint: Endpoint, message: OutgoingMessage, answer: ReceiverAnswer, at: Micros, sequence: int, number: int) -> Attempt:
    """Return the record of an attempt."""
    outcome, took = answer.failure, answer.latency_us
    if not outcome and answer.status is not None:
        outcome = DELIVERED if 200 <= answer.status < 300 else REFUSED
    return Attempt(
        endpoint.client, endpoint.id, sequence, message.type, at, number, outcome, answer.status, took,
        without_secrets(answer.body, endpoint), without_secrets(answer.error, endpoint),
    )  # fmt: skip


def without_secrets(text: str, endpoint: Endpoint) -> str:
    """Remove the endpoint's secrets from a receiver's answer, which may repeat them as they are, percent-encoded or in JSON.

    Secrets may be long, so no regular expression is made of them: compiling one takes a second.
    """
    if not text:
        return text
    is_cut = len(text.encode()) >= RESPONSE_BYTES - len(STRUCK)
    length = cut.start() if is_cut and (cut := _CUT_ESCAPE.search(text)) else len(text)
    letters = [*_LETTER.finditer(text, 0, length)]
    plain = "".join(chr(int(letter[1] or letter[2], 16)) if letter[3] is None else letter[3] for letter in letters)
    lower = plain.lower() if plain.isascii() else "".join(letter.lower()[:1] for letter in plain)
    spans = list[tuple[int, int]]()
    for part in _secret_parts(tuple(secret.value for secret in endpoint.secrets)):
        at = 0
        while (at := lower.find(part, at)) >= 0:
            spans.append((letters[at].start(), letters[at + len(part) - 1].end()))
            at += len(part)
        at = max(0, len(lower) - len(part))
        while is_cut and (at := lower.find(part[:SHORTEST_SECRET], at)) >= 0:  # the text may have been cut within a secret
            if part.startswith(lower[at:]):
                spans.append((letters[at].start(), len(text)))
            at += 1
    pieces, end = list[str](), 0
    for start, stop in sorted(spans):
        if start >= end:
            pieces += (text[end:start], STRUCK)
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


@lru_cache(1_000)
def _secret_parts(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts of secrets to strike, in lower case."""
    parts = [part for secret in secrets for part in (secret, urlsplit(secret).path, secret.removeprefix("whsec_"), *_SLASHES.split(secret))]
    return tuple({part.lower() for part in parts if len(part) >= SHORTEST_SECRET})


def warn_of_trimmed(endpoint: Endpoint, read: int, oldest: int) -> None:
    """Log which events an endpoint will not get because the log was trimmed while it was disabled."""
    if oldest > read + 1:
        LOG.warning(
            "webhook endpoint %d of client %d does not get evt_%d to evt_%d: it was disabled until they had left the log; "
            "let its receiver read the records again",
            endpoint.id, endpoint.client, read + 1, oldest - 1,
        )  # fmt: skip


class Outbox:
    """Sends events and tests."""

    def __init__(
        self,
        store: Store,
        post: Post,
        clock: Clock,
        show: Shown,
        place: Installation = NOWHERE,
        tracing: Tracing | None = None,
        actors: ActorNames | None = None,
        home: Store | None = None,
    ) -> None:
        """`actors`: names by the store that has people and keys, which a cell has not. `home`: the store that has all acts."""
        self._store = store
        self._home = home or store
        self._post = post
        self._clock = clock
        self._show = show
        self._objects = ObjectReader(store, show)
        self._place = place
        self._actors = actors or ActorNames(store, clock)
        self._tracing = tracing
        self.sent = 0
        """Number of requests."""

    async def send(self, endpoint: Endpoint, client_id: str, item: WaitingEvent) -> tuple[Attempt, ReceiverAnswer] | None:
        """Send an event; None if the endpoint does not want it, or if it is not in the log any more. Raises `UnreadableFilter`."""
        event = item.event or await self._event(endpoint.client, item.sequence)
        if event is None:
            warn_of_trimmed(endpoint, item.sequence - 1, item.sequence + 1)
            return None
        if event.data.get("endpoint_id", endpoint.id) != endpoint.id:
            return None
        if item.record is not None and not await wants(self._store, endpoint, item.record, self._clock()):
            return None
        if await self._is_in_message(endpoint, event):
            return None
        message = await self._message(endpoint, client_id, event)
        if self._tracing is None or message.answer is not None:
            return await self._attempt(endpoint, message, item.sequence, item.attempts + 1)
        return await self._traced(self._tracing, endpoint, client_id, event, message, item.attempts + 1)

    async def test(self, endpoint: Endpoint, client_id: str) -> tuple[Attempt, ReceiverAnswer]:
        """Send a test."""
        at = self._clock()
        return await self._attempt(endpoint, await self._test_message(endpoint, client_id, at), 0, 1, at=at)

    async def preview(
        self, endpoint: Endpoint, client_id: str, sequence: int | None, tested_us: Micros | None = None
    ) -> OutgoingMessage | None:
        """Return the message about an event, or of a test, without sending it; None if the log does not have the event.

        `tested_us`: The time of the test's attempt; None: now.
        """
        if sequence is None:
            return await self._test_message(endpoint, client_id, self._clock() if tested_us is None else tested_us, is_preview=True)
        if (event := await self._event(endpoint.client, sequence)) is None:
            return None
        return await self._message(endpoint, client_id, event)

    async def _message(self, endpoint: Endpoint, client_id: str, event: LoggedEvent) -> OutgoingMessage:
        if endpoint.kind == BLOCKLIST:
            return await message_to_blocklist(self._store, endpoint, event, self._clock())
        if endpoint.kind == AUDIT:
            return act_message(endpoint, event.type, await shown_act(self._home, self._actors, event))
        if endpoint.kind != HUBSPOT:
            objects, [actor] = await self._event_objects(endpoint, event), await self._actors.of_logged([event])
            return message_of(endpoint, client_id, event, objects, actor, await self._placed(endpoint))
        contact = None if event.record_id is None else await self._show.record(self._store, endpoint.client, (CONTACT, event.record_id))
        return await write_of(self._store, endpoint, event, contact)

    async def changes_since(self, endpoint: Endpoint, sequence: int, at: Micros) -> list[str]:
        """Return what has changed since an attempt, so that its request may have been another; a record's change counts whole."""
        changes = [f"the endpoint was changed, stopped or resumed at {to_text(endpoint.updated_us)}"] if endpoint.updated_us > at else []
        event = await self._event(endpoint.client, sequence) if sequence else None
        if event is None or event.record_kind is None or event.record_id is None:
            return changes
        if (record := await self._show.record(self._store, endpoint.client, (event.record_kind, event.record_id))) is None:
            return [*changes, "the record does not exist any more"]
        if from_text(record["updated_time"]) > at:
            changes.append(f"the record was changed at {record['updated_time']}")
        return changes

    async def _test_message(self, endpoint: Endpoint, client_id: str, at: Micros, *, is_preview: bool = False) -> OutgoingMessage:
        if endpoint.kind == BLOCKLIST:
            return await test_of_blocklist(self._store, endpoint, is_preview=is_preview)
        if endpoint.kind != HUBSPOT:
            return test_message(endpoint, client_id, at, await self._placed(endpoint))
        return await test_write(self._store, endpoint, is_preview=is_preview)

    async def _placed(self, endpoint: Endpoint) -> Installation:
        """Return the installation with handle and name of the client, which only messages to people have."""
        client = None if endpoint.kind in SIGNED else await self._store.read(find_client_by_number(endpoint.client))
        if client is None:
            return self._place
        return replace(self._place, client_handle=client.handle, client_name=client.name or client.handle)

    async def why_not(self, endpoint: Endpoint, sequence: int) -> str:
        """Return why an endpoint does not get a stored event; blank if it does, once it is active."""
        event = await self._event(endpoint.client, sequence)
        if event is None:
            return "it is not in the log any more"
        if endpoint.types and event.type not in endpoint.types:
            return f"its types do not include {event.type}"
        if event.data.get("endpoint_id", endpoint.id) != endpoint.id:
            return f"it is for endpoint {event.data['endpoint_id']} only"
        record = None if event.record_kind is None or event.record_id is None else (event.record_kind, event.record_id)
        try:
            if record is not None and not await wants(self._store, endpoint, record, self._clock()):
                return "its filter does not match the record as it is now"
        except UnreadableFilter as error:
            return f"its filter is not valid now: {error}"
        return "it gets the reply with its text, as message.received" if await self._is_in_message(endpoint, event) else ""

    async def _event_objects(self, endpoint: Endpoint, event: LoggedEvent) -> EventObjects:
        """Return an event's object; for people also the records of its person and company."""
        client = endpoint.client
        shown = await self._objects.of(client, event)
        if endpoint.kind == WEBHOOK or event.record_id is None:
            return EventObjects(shown)
        if event.record_kind != CONTACT:
            return EventObjects(shown, None, shown)
        person = await self._show.record(self._store, client, (CONTACT, event.record_id))
        company = (person or {}).get("company_id")
        firm = None if company is None else await self._show.record(self._store, client, (COMPANY, company))
        return EventObjects(shown, person, firm)

    async def _is_in_message(self, endpoint: Endpoint, event: LoggedEvent) -> bool:
        """Return whether people get a reply with its text, by another event of the same transaction."""
        if endpoint.kind == WEBHOOK or event.type != EventType.CONTACT_REPLIED or EventType.MESSAGE_RECEIVED not in endpoint.types:
            return False
        page = await self._store.read(
            list_logged_events(endpoint.client, max(0, event.sequence - NEAR), 2 * NEAR, [EventType.MESSAGE_RECEIVED])
        )
        return any(logged.record_id == event.record_id and logged.at == event.at for logged in page.events)

    async def _traced(
        self, tracing: Tracing, endpoint: Endpoint, client_id: str, event: LoggedEvent, message: OutgoingMessage, number: int
    ) -> tuple[Attempt, ReceiverAnswer]:
        """Attempt with a span, below the newest causing webhook's if it was recorded."""
        about: dict[str, str | int] = {
            "client_id": client_id, "touchbase.endpoint": endpoint.id, "touchbase.event": event_id(event.sequence),
            "touchbase.event_type": event.type, "http.request.resend_count": number - 1,
        }  # fmt: skip
        deliveries = event.cause.get("deliveries") or ()
        causes = await self._store.read(find_traces(endpoint.client, [*deliveries][-NEWEST:])) if deliveries else []
        with tracing.sending(message.target or endpoint.target, about, causes) as span:
            attempt, answer = await self._attempt(endpoint, message, event.sequence, number, span.headers)
            span.answered(answer.status, answer.failure)
        return attempt, answer

    async def _attempt(
        self,
        endpoint: Endpoint,
        message: OutgoingMessage,
        sequence: int,
        number: int,
        more: Mapping[str, str] = NO_HEADERS,
        at: Micros | None = None,
    ) -> tuple[Attempt, ReceiverAnswer]:
        at = self._clock() if at is None else at
        self.sent += message.answer is None
        headers = {**message.signed(endpoint, at), **more} if more else message.signed(endpoint, at)
        answer = message.answer or await self._post(message.target or endpoint.target, headers, message.body)
        return attempt_from(endpoint, message, answer, at, sequence, number), answer

    async def _event(self, client: int, sequence: int) -> LoggedEvent | None:
        if client == EVERY_CLIENT:
            return await find_act(self._home, sequence)
        page = await self._store.read(list_logged_events(client, sequence - 1, 1))
        return page.events[0] if page.events and page.events[0].sequence == sequence else None
