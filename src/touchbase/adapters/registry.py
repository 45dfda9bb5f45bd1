"""The adapter registry: one folder per tool, found by name. Each adapter turns one tool's webhooks into events.

A package below `email_campaign/` or `crm/` has `ADAPTER`. Nothing else names a tool.

Optional attributes besides those of `adapters/interface.Adapter`: `signature_schemes`, the tool's signature schemes
(`kit/signatures.py`); `most_secrets` and `key_in`, the number of secrets of its connection, and the part of a secret
that requests contain; `protocol_bodies`, by a body's first byte, functions that return the response body that the
protocol requires; `known_only`, names of events that create no record; `channels`, the channels at whose addresses
its webhooks are read; `fetcher`, which fetches records that webhooks leave out (`kit/fetch.py`); and
`max_confidence`, the adapter's highest confidence (default 100), and `confidence_with`, the highest one for an object with these names.

Amazon SNS around other tools' webhooks: its own messages about the subscription to this address.

Until a subscription is confirmed, SNS sends nothing else: the webhook of the confirmation says what a person has to do.
Source: https://docs.aws.amazon.com/sns/latest/dg/SendMessageToHttp.prepare.html
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from touchbase.adapters.interface import Adapter, ParsedWebhook, ProtocolResponse, WebhookRequest
from touchbase.adapters.kit.client_overrides import apply_settings, ignoring_rule
from touchbase.adapters.kit.extract import objects, text
from touchbase.adapters.kit.ignored_names import is_ping
from touchbase.adapters.kit.parse import layers, parse, unflattened
from touchbase.adapters.kit.signature_schemes import GENERIC, HIGH_CONFIDENCE, MIN_CONFIDENCE, SignatureSchemes
from touchbase.adapters.kit.times import Unzoned, in_zone
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.models import NO_SETTINGS, ConnectionSettings
from touchbase.connections.tools import Fetcher
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CHANNELS, CRM, EMAIL_CAMPAIGN, MEETING_STATUSES, Event, Translation

_MEETING_WORDS = re.compile(rb"meeting|invitee|booking|appointment|demo", re.IGNORECASE)
_SEARCHED = 64 * 1024
"""Bytes of a body in which a word for a meeting is looked for."""
_MAX_CACHED_BODY = 16 * 1024
_MAX_CACHE_ENTRIES = 500
"""Size limit of bodies whose keys are cached, and of the cache: a few megabytes at most."""

_Names = tuple[str, tuple[str, ...], tuple[str, ...]]
_Candidate = tuple[int, Adapter]
"""An adapter with its highest possible confidence."""
ProtocolBody = Callable[[bytes], ProtocolResponse | None]


class Adapters(SignatureSchemes):
    """All adapters, and the choice between them.

    An adapter declares `detection_keys`: keys of a body (its first objects) and header names. It is a candidate for a webhook
    that has at least one of them; an adapter without signs is always a candidate.
    """

    def __init__(self, adapters: Iterable[Adapter]) -> None:
        super().__init__({channel: {} for channel in CHANNELS})
        self._by_detection_key: dict[str, dict[str, list[Adapter]]] = {channel: {} for channel in CHANNELS}
        self._candidate_cache: dict[_Names, list[_Candidate]] = {}
        """Candidates by the webhook's key and header names: a tool repeats the same ones."""
        self._always: dict[str, list[Adapter]] = {channel: [] for channel in CHANNELS}
        self._generic: dict[str, list[Adapter]] = {channel: [] for channel in CHANNELS}
        self._protocol_bodies: dict[bytes, ProtocolBody] = {}
        for adapter in adapters:
            self._add(adapter)

    def tools(self, channel: str) -> list[str]:
        """Return the names of the channel's tools, sorted."""
        return sorted(self._by_name[channel])

    def translate(self, request: WebhookRequest, tool: str | None = None) -> Translation:
        """Return a webhook's events: by the adapter of `tool`, else of the authenticated tool, else the one with the highest confidence.

        If no adapter is confident, the client's only connected tool on the channel is tried first. Raises
        `UnrecognisedPayload` if no adapter reads the webhook.
        """
        webhook = parse(request)
        named = tool or request.tool
        if named is not None:
            return self._translate_as(webhook, named)
        if is_ping(webhook.data) or is_set_up(webhook.data):
            return Translation(GENERIC, [])
        confidence, adapter, best_webhook = self._best(webhook)
        if adapter is not None and adapter.tool in request.rejected_tools:
            raise UnrecognisedPayload(_unauthenticated_message(adapter.tool))
        if request.connections and confidence < HIGH_CONFIDENCE and (only := self._only_connected_tool(webhook, confidence)) is not None:
            if only in request.rejected_tools:
                raise UnrecognisedPayload(_unauthenticated_message(only))
            with suppress(UnrecognisedPayload):
                return self._translate_as(webhook, only)
        translation = None if adapter is None else _translate(adapter, _with_settings(best_webhook, adapter.tool))
        if (translation is None or translation.tool == GENERIC) and (meeting := self._meeting(webhook)) is not None:
            return meeting
        if translation is None or (translation.tool == GENERIC and all(event.about is None for event in translation.events)):
            self._reject_other_channel(request)
        if translation is None:
            raise UnrecognisedPayload(_unrecognised_message(webhook))
        return translation

    def recognise(self, webhook: ParsedWebhook) -> list[tuple[int, str]]:
        """Return every adapter that recognises the webhook: confidence and tool, highest first."""
        adapters = (*(adapter for _, adapter in self._candidates(webhook)), *self._generic[webhook.request.channel])
        candidates = [(confidence, adapter.tool) for adapter in adapters if (confidence := adapter.recognise(webhook)) > 0]
        return sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1]))

    def kinds(self, channel: str, tool: str, settings: ConnectionSettings) -> Sequence[str] | None:
        """Return the record kinds that `status_property` may name for a tool; None if the tool has no records."""
        kinds_of: Callable[[Mapping[str, str]], Sequence[str]] | None = getattr(self._by_name[channel].get(tool), "kinds", None)
        return None if kinds_of is None else kinds_of(settings.objects)

    def likely_tool(self, request: WebhookRequest) -> str | None:
        """Return the tool that the webhook looks like; None if the confidence is low."""
        confidence, adapter, _ = self._best(parse(request))
        return adapter.tool if adapter is not None and confidence >= HIGH_CONFIDENCE else None

    def fetcher(self, channel: str, tool: str) -> Fetcher | None:
        """Return the fetcher of a tool's records; None if the tool has none."""
        fetcher: Fetcher | None = getattr(self._by_name[channel].get(tool), "fetcher", None)
        return fetcher

    def protocol_answer(self, body: bytes) -> ProtocolResponse | None:
        """Return the response body that a CRM's protocol requires for this body; None except for two kinds of webhook."""
        build = self._protocol_bodies.get(body[:1])
        return None if build is None else build(body)

    def _meeting(self, webhook: ParsedWebhook) -> Translation | None:
        """Return the meeting in the body of a booking tool that has no adapter, at the CRM address; None if its words say of none.

        A CRM's own activities are meetings without a start or a person, and stay what they are.
        """
        adapter = self._by_name[EMAIL_CAMPAIGN].get(GENERIC)
        if webhook.request.channel != CRM or adapter is None or not _MEETING_WORDS.search(webhook.request.body[:_SEARCHED]):
            return None
        read = _with_settings(webhook, GENERIC)
        if read.settings.fields:
            return None  # the client says what the body means
        translation = _translate(adapter, _unwrap_until_recognised(adapter, read))
        is_meeting = [event.event in MEETING_STATUSES and bool(event.changed) and event.about is not None for event in translation.events]
        return translation if is_meeting and all(is_meeting) else None

    def _reject_other_channel(self, request: WebhookRequest) -> None:
        """Raise `UnrecognisedPayload` for a webhook that is clearly the other channel's: the wrong URL was configured."""
        for channel in CHANNELS:
            if channel != request.channel and (tool := self.likely_tool(replace(request, channel=channel))) is not None:
                raise UnrecognisedPayload(
                    f"This webhook is from {tool}, but was sent to the {request.channel} address. Configure the client's {channel} address "
                    f"in {tool}, and resend the webhook."
                )

    def _best(self, webhook: ParsedWebhook) -> tuple[int, Adapter | None, ParsedWebhook]:
        """Return the highest confidence, its adapter, and the webhook without the relay envelopes that this adapter does not read."""
        best: tuple[int, Adapter | None, ParsedWebhook] = (0, None, webhook)
        for layer in layers(webhook):
            confidence, adapter = self._most_confident(layer)
            if confidence >= best[0]:
                best = (confidence, adapter, layer)
            if adapter is not None and confidence >= MIN_CONFIDENCE:
                return confidence, adapter, _unflattened(adapter, layer)
        return best

    def _only_connected_tool(self, webhook: ParsedWebhook, confidence: int) -> str | None:
        """Return the tool for a webhook with low confidence, based on the client's connections on the channel; else None."""
        tools = [connection.tool for connection in webhook.request.connections if connection.channel == webhook.request.channel]
        only = tools[0] if len(tools) == 1 else GENERIC if GENERIC in tools else None
        adapter = None if only is None else self._by_name[webhook.request.channel].get(only)
        if adapter is None or (confidence >= MIN_CONFIDENCE and not any(adapter.recognise(layer) for layer in layers(webhook))):
            return None
        return only

    def _translate_as(self, webhook: ParsedWebhook, tool: str) -> Translation:
        adapter = self._by_name[webhook.request.channel].get(tool)
        if adapter is None:
            tools = ", ".join(self.tools(webhook.request.channel))
            raise UnrecognisedPayload(f"Unknown {webhook.request.channel} tool '{tool}'; known tools: {tools}.")
        if is_set_up(webhook.data):
            return Translation(tool, [])
        webhook = _with_settings(webhook, tool)
        webhook = _unwrap_until_recognised(adapter, webhook)
        if is_ping(webhook.data) and FETCHED not in webhook.headers:
            return Translation(tool, [])
        translation = _translate(adapter, webhook)
        if not adapter.recognise(webhook) and not any(map(_names_a_record, translation.events)):
            raise UnrecognisedPayload(
                f"The connection says '{tool}', but this webhook is not from it. Is the address configured in another tool?"
            )
        return translation

    def _most_confident(self, webhook: ParsedWebhook) -> tuple[int, Adapter | None]:
        if isinstance(webhook.data, list) and len(webhook.data) > 1:
            # A list's first object usually identifies the tool; the next few are checked only if it does not.
            best = self._most_confident_of(replace(webhook, data=objects(webhook.data)[:1]))
            if best[0] >= MIN_CONFIDENCE:
                return best
        return self._most_confident_of(webhook)

    def _most_confident_of(self, webhook: ParsedWebhook) -> tuple[int, Adapter | None]:
        best: tuple[int, str, Adapter | None] = (0, "", None)
        for most, adapter in self._candidates(webhook):
            if (most, best[1]) < (best[0], adapter.tool):
                continue
            confidence = adapter.recognise(webhook)
            # Ties are broken by name: a replay must choose the same adapter.
            if confidence > best[0] or (confidence == best[0] > 0 and adapter.tool < best[1]):
                best = (confidence, adapter.tool, adapter)
        # The generic adapter is never as confident: it is only asked if needed.
        for adapter in self._generic[webhook.request.channel] if best[0] < MIN_CONFIDENCE else ():
            confidence = adapter.recognise(webhook)
            if confidence > best[0]:
                best = (confidence, adapter.tool, adapter)
        return best[0], best[2]

    def _candidates(self, webhook: ParsedWebhook) -> Sequence[_Candidate]:
        """Return the candidates for a webhook, the highest possible confidence first."""
        shown = objects(webhook.data)
        if len(shown) != 1 or len(webhook.request.body) > _MAX_CACHED_BODY:
            return self._indexed(webhook, shown)
        names = (webhook.request.channel, tuple(shown[0]), tuple(webhook.headers))
        candidates = self._candidate_cache.get(names)
        if candidates is None:
            if len(self._candidate_cache) >= _MAX_CACHE_ENTRIES:
                self._candidate_cache.clear()
            candidates = self._candidate_cache[names] = self._indexed(webhook, shown)
        return candidates

    def _indexed(self, webhook: ParsedWebhook, shown: list[dict[str, object]]) -> list[_Candidate]:
        index = self._by_detection_key[webhook.request.channel]
        candidates = {id(adapter): adapter for adapter in self._always[webhook.request.channel]}
        for names in (*shown, webhook.headers):
            for detection_key in index.keys() & names.keys():
                for adapter in index[detection_key]:
                    candidates[id(adapter)] = adapter
        rated = [(_highest_confidence(adapter, webhook, shown), adapter) for adapter in candidates.values()]
        return sorted([candidate for candidate in rated if candidate[0]], key=lambda candidate: (-candidate[0], candidate[1].tool))

    def _add(self, adapter: Adapter) -> None:
        self._protocol_bodies |= getattr(adapter, "protocol_bodies", {})
        for channel in getattr(adapter, "channels", (adapter.channel,)):
            self._by_name[channel][adapter.tool] = adapter
            if adapter.tool == GENERIC:
                self._generic[channel].append(adapter)
            elif not adapter.detection_keys:
                self._always[channel].append(adapter)
            for detection_key in adapter.detection_keys:
                self._by_detection_key[channel].setdefault(detection_key, []).append(adapter)


def _highest_confidence(adapter: Adapter, webhook: ParsedWebhook, shown: list[dict[str, object]]) -> int:
    """Return an adapter's highest possible confidence for a webhook with these objects, by their names alone."""
    confidence_with: Callable[[Set[str], Collection[str]], int] | None = getattr(adapter, "confidence_with", None)
    if confidence_with is None:
        return getattr(adapter, "max_confidence", 100)
    return max((confidence_with(item.keys(), webhook.headers) for item in shown), default=0)


def load_adapters(channels: Iterable[str] = CHANNELS) -> Adapters:
    """Load the adapters of these channels."""
    here = Path(__file__).parent
    names = [
        f"touchbase.adapters.{channel}.{folder.name}"
        for channel in channels
        for folder in pkgutil.iter_modules([str(here / channel)])
        if folder.ispkg
    ]
    return Adapters(import_module(name).ADAPTER for name in names)


def _unwrap_until_recognised(adapter: Adapter, webhook: ParsedWebhook) -> ParsedWebhook:
    """Return the webhook with as many envelopes removed as this adapter needs to recognise it; with all removed if it never does."""
    layer = webhook
    for layer in layers(webhook):
        if adapter.recognise(layer):
            return _unflattened(adapter, layer)
    return layer


def _unflattened(adapter: Adapter, webhook: ParsedWebhook) -> ParsedWebhook:
    """Return the webhook with flattened names expanded, if the adapter still recognises it."""
    deep = unflattened(webhook)
    return webhook if deep is None or not adapter.recognise(deep) else deep


def _with_settings(webhook: ParsedWebhook, tool: str) -> ParsedWebhook:
    """Return the webhook with the client's settings for this tool, if any."""
    channel = webhook.request.channel
    for connection in webhook.request.connections:
        if (connection.channel, connection.tool) == (channel, tool) and connection.settings != NO_SETTINGS:
            # The subjects were computed without the settings.
            return replace(webhook, settings=connection.settings, subjects={})
    return webhook


def _translate(adapter: Adapter, webhook: ParsedWebhook) -> Translation:
    settings: ConnectionSettings = webhook.settings
    events = adapter.translate(webhook)
    unknown_is_hard = getattr(adapter, "stops_on_bounce", False) if settings.unknown_bounces is None else settings.unknown_bounces
    if adapter.channel != webhook.request.channel:
        events = [_on_channel(event, webhook.request.channel) for event in events]
    for event in events:
        if type(event.occurred_us) is Unzoned:
            _apply_zone(event, settings.time_zone)
        if event.kind == "unknown" and unknown_is_hard:
            event.kind = "hard"
    # A fetched record is complete: fetching it again would loop. A list of changes only names records.
    fetcher = getattr(adapter, "fetcher", None)
    may_ask = fetcher is not None and (FETCHED not in webhook.headers or fetcher.follows(webhook.headers[FETCHED]))
    known_only: frozenset[str] = getattr(adapter, "known_only", frozenset())
    may_create = False if known_only and all(event.source_event in known_only for event in events) else settings.create_unknown
    if settings is NO_SETTINGS:
        return Translation(adapter.tool, events, may_create, may_ask)
    return Translation(adapter.tool, apply_settings(events, settings), may_create, may_ask, ignoring_rule(events, webhook))


_SAVED = frozenset({"contact.created", "contact.updated"})
_AS_CRM = {"contact_saved": "contact.updated", "other": "ignored", "account_event": "ignored", "unknown": "unrecognised"}
_AS_CAMPAIGN = {
    **dict.fromkeys(_SAVED, "contact_saved"),
    "contact.status_changed": "lead_status_changed",
    "handshake": "other",
    "ignored": "other",
    "unrecognised": "unknown",
}


def _on_channel(event: Event, channel: str) -> Event:
    """Return an event in the words of a channel that is not its adapter's; a campaign tool neither deletes contacts nor has companies."""
    if channel == CRM:
        event.event = _AS_CRM.get(event.event, event.event)
        return event
    if event.event in _SAVED:
        event.first_name = event.fields.get("first_name") or event.first_name
        event.last_name = event.fields.get("last_name") or event.last_name
    event.event = _AS_CAMPAIGN.get(event.event, "other" if "." in event.event else event.event)
    return event


def _names_a_record(event: Event) -> bool:
    return event.about is not None and any((event.email, event.linkedin_url, event.domain, event.object_id))


def _unauthenticated_message(tool: str) -> str:
    return (
        f"This looks like a webhook from {tool}, whose secret is set, but it is not signed with that secret. "
        f"Resend it from {tool} with the secret, or remove the secret and replay it."
    )


def _apply_zone(event: Event, zone: str | None) -> None:
    """Apply the client's zone to a time without a zone; if there is none, it stays UTC and the event is marked."""
    read = Unzoned(event.occurred_us or 0)
    at = None if zone is None else in_zone(read, zone)
    event.occurred_us, event.unzoned = int(read if at is None else at), at is None


def _unrecognised_message(webhook: ParsedWebhook) -> str:
    if not webhook.request.body.strip():
        return "The webhook has no body."
    if webhook.data is None:
        return "The body is neither JSON nor form fields nor XML (without DOCTYPE), and no tool's adapter recognises it."
    for connection in webhook.request.connections:
        if (connection.channel, connection.tool) == (webhook.request.channel, GENERIC) and (fields := connection.settings.fields):
            places = ", ".join(fields[name] for name in ("id", "email", "domain", "linkedin_url") if name in fields)
            return (
                f"The mapping of the connection 'generic' finds nobody in this body: it has nothing usable at {places}. Correct `fields`."
            )
    return (
        "No adapter understands this body, not even the generic one. Map its fields in the console, or declare them: "
        "`touchbase connections add --tool generic --setting fields.email=PATH --dry-run`."
    )


_AMAZON = re.compile(r"https://sns\.[a-z0-9-]{1,40}\.amazonaws\.com(?:\.cn)?/[!-~]{0,2000}")
"""A URL of SNS in any region, with printable characters only."""
_VALIDATED = "Successfully validated SNS topic"
_REQUESTS = {
    "SubscriptionConfirmation": "Amazon SNS sends nothing from {topic} until this subscription is confirmed: if it is yours, open {url}",
    "UnsubscribeConfirmation": "Amazon SNS has ended the subscription of {topic}: if that was not meant, open {url}",
}


def is_set_up(data: object) -> bool:
    """Return whether a webhook is a message of SNS about its subscription, which needs no action.

    Raises `UnrecognisedPayload`, which says what to do, for a subscription that is to be confirmed. One with a URL elsewhere is not of SNS.
    """
    if not isinstance(data, dict) or "TopicArn" not in data:
        return False
    request = _REQUESTS.get(text(data.get("Type")) or "")
    if request is None:
        return (text(data.get("Message")) or "").startswith(_VALIDATED)
    url = text(data.get("SubscribeURL")) or ""
    if _AMAZON.fullmatch(url):
        raise UnrecognisedPayload(request.format(topic=(text(data["TopicArn"]) or "a topic")[:256], url=url))
    return True
