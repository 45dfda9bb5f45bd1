"""monday.com: board webhooks.

Event reference: developer.monday.com, webhooks (read 2026-11-20). The client decides which boards contain people and
which companies: `?object=company` in the webhook URL makes that webhook's items companies, `?object=ignore` ignores
them, otherwise they are contacts; a connection may list board ids instead (`objects`). Before the first event, monday
requires its `challenge` in the response. Sub-items use the same event names and are ignored. Some relays forward only
the content of `event`.

Signature of webhooks of an app: a JSON Web Token, signed with the app's signing secret. It does not cover the body; only
its signature and expiry are checked. Webhooks created without an app have no token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec

from touchbase.adapters.crm.monday.fetch import FETCHER, read_fetched
from touchbase.adapters.interface import ParsedWebhook, ProtocolResponse
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, chosen_kind
from touchbase.adapters.kit.crm_values import as_dict, linkedin_from, query_parameter, status_text
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.signatures import WINDOW, Scheme, constant_time_equal, hmac_digest, unbase64
from touchbase.adapters.kit.times import first_time
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

_MAX_LENGTH = 4_096
_PLACE = 40
"""Maximum offset of the challenge in a body: it is the only key."""


class _Challenge(msgspec.Struct, forbid_unknown_fields=True):
    challenge: str


_decode = msgspec.json.Decoder(_Challenge).decode


def handshake(body: bytes) -> ProtocolResponse | None:
    """Return the response to a lone challenge; None for any other body, for nearly all of them without parsing."""
    if len(body) > _MAX_LENGTH or b'"challenge"' not in body[:_PLACE]:
        return None
    try:
        return ProtocolResponse("application/json", msgspec.json.encode(_decode(body)))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class _Head(msgspec.Struct):
    alg: str


class _Claims(msgspec.Struct):
    exp: float


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    token = arrival.headers.get("authorization", "").removeprefix("Bearer ").strip()
    signed, dot, signature = token.rpartition(".")
    if not dot or not constant_time_equal(unbase64(signature, of_urls=True), hmac_digest(secret, signed.encode())):
        return False
    head, _, claims = signed.partition(".")
    try:
        payload = msgspec.json.decode(unbase64(claims, of_urls=True) or b"", type=_Claims)
        algorithm = msgspec.json.decode(unbase64(head, of_urls=True) or b"", type=_Head).alg
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return algorithm == "HS256" and payload.exp * SECOND > now - WINDOW


MONDAY = Scheme("header `authorization`: a JSON Web Token (HS256) of the app's signing secret, not past its end", _check)


SHAPES = {
    CONTACT: RecordShape(CONTACT, email=("email",), full_name=("name",), linkedin=("link",)),
    COMPANY: RecordShape(COMPANY, domain=("link",), company=("name",)),
}
KINDS = {
    "contact": CONTACT,
    "contacts": CONTACT,
    "person": CONTACT,
    "people": CONTACT,
    "company": COMPANY,
    "companies": COMPANY,
    "account": COMPANY,
}
COME = "move_pulse_into_board"
"""An item moved from another board; the webhook leaves out its columns."""
# Event names differ between subscription (`create_item`) and webhook (`create_pulse`).
TYPES = {
    "create_pulse": CREATED, "create_item": CREATED, "update_name": UPDATED, "change_name": UPDATED, "update_column_value": UPDATED,
    "change_column_value": UPDATED, "change_specific_column_value": UPDATED, "change_status_column_value": UPDATED,
    "restore_pulse": UPDATED, "item_restored": UPDATED, COME: UPDATED, "move_pulse_into_group": UPDATED, "item_moved_to_any_group": UPDATED,
    "delete_pulse": DELETED, "item_deleted": DELETED, "archive_pulse": DELETED, "item_archived": DELETED,
}  # fmt: skip
STATUS_TYPES = ("color", "status")
_LISTS = ("personsAndTeams", "files", "tag_ids", "linkedPulseIds")
"""Keys of the linked people, files, tags or items in column values."""


class Monday(CrmAdapter):
    """Reads monday.com's webhooks."""

    tool = "monday"
    detection_keys = frozenset({"challenge", "event", "runtimeMetadata", "column_values", "triggerUuid", "app", "type"})
    signature_schemes = (MONDAY,)
    fetcher: ClassVar[Fetcher | None] = FETCHER
    protocol_bodies: ClassVar[Mapping[bytes, Callable[[bytes], ProtocolResponse | None]]] = {b"{": handshake}

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the board of an event; a lone challenge is monday's too."""
        if body.keys() == {"challenge"}:
            return 90
        if "runtimeMetadata" in body and isinstance(body.get("payload"), dict):
            # A step of an app's automation.
            return 80
        if _is_item(body) or _is_about_an_app(body):
            return 80
        if _is_event(body):
            return 90
        event = as_dict(body.get("event"))
        # A move between boards has no board id.
        return 100 if "type" in event and ("boardId" in event or event.get("app") == "monday") else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one board item, or the handshake."""
        if "challenge" in body and "event" not in body:
            return [other_event("handshake", "challenge")]
        if "runtimeMetadata" in body and "event" not in body:
            return [other_event("ignored", text(dig(body, "payload", "blockKind")) or "automation")]
        if _is_about_an_app(body):
            return [other_event("ignored", text(body.get("type")), "app", text(dig(body, "data", "app_id")))]
        if _is_item(body):
            return self._alone(body, webhook)
        event = body if _is_event(body) else as_dict(body.get("event"))
        source = text(event.get("type"))
        object_id = text(first(event, "pulseId", "itemId"))
        what = TYPES.get(source or "")
        kind = self._kind(event, webhook)
        if what is None or kind is None or "parentItemId" in event or (source or "").startswith("subitem"):
            return [other_event("ignored" if source else "unrecognised", source, "item", object_id)]
        at = first_time(event, "triggerTime", "changedAt")
        item = CrmItem(SHAPES[kind], what, "item", object_id, source, at, text(event.get("triggerUuid")))
        item.restored = source in ("restore_pulse", "item_restored")
        item.record = _record(event)
        # Even if it has columns, a new item's webhook leaves some out.
        item.thin = item.restored or what == CREATED or source == COME
        titles: dict[str, str] = {}
        if what == UPDATED:
            self._change(item, event, titles, webhook)
        elif what == CREATED:
            self._filled(item, event, webhook)
        events = item.events()
        for notice in events:
            # Users identify a column by its title; its id is arbitrary.
            notice.custom = {titles.get(name, name): value for name, value in notice.custom.items()}
        return events

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched item."""
        is_open = kind not in webhook.settings.status_property
        return read_fetched(body, SHAPES[kind], None if is_open else self.statuses(webhook, kind, None))

    def _alone(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of an item that a relay has fetched."""
        kind = self._kind({"boardId": dig(body, "board", "id")}, webhook)
        if kind is None or "parent_item" in body:
            return [other_event("ignored", None, "item", text(body.get("id")))]
        is_open = kind not in webhook.settings.status_property
        events = read_fetched(body, SHAPES[kind], None if is_open else self.statuses(webhook, kind, None))
        for event in events:
            event.source_event = None
        return events

    def _kind(self, event: Body, webhook: ParsedWebhook) -> str | None:
        named = query_parameter(webhook.request.query, "object") or chosen_kind(webhook, text(event.get("boardId")))
        return CONTACT if named is None else KINDS.get(named.lower())

    def _filled(self, item: CrmItem, event: Body, webhook: ParsedWebhook) -> None:
        """Set a new item's status from its columns: the client's status column, else any column of type status."""
        columns = {name: _value(value) for name, value in as_dict(event.get("columnValues")).items() if _is_status(value)}
        item.record = {"group": event.get("groupName"), **columns, **item.record}
        is_open = item.shape.kind not in webhook.settings.status_property
        item.status = tuple(columns) if is_open else self.statuses(webhook, item.shape.kind, None)

    def _change(self, item: CrmItem, event: Body, titles: dict[str, str], webhook: ParsedWebhook) -> None:
        """Set the changed value. Every column of type status is a status, unless the client has named a column or the group."""
        item.changed = {}
        item.status = self.statuses(webhook, item.shape.kind, None)
        is_open = item.shape.kind not in webhook.settings.status_property
        if item.source_event in ("update_name", "change_name"):
            item.changed = {"name": (dig(event, "value", "name"), dig(event, "previousValue", "name") or NOT_SENT)}
        elif (column := text(event.get("columnId"))) is not None:
            kind = text(event.get("columnType")) or ""
            item.changed = {column: (_value(event.get("value")), _value(event.get("previousValue")) or NOT_SENT)}
            if kind in STATUS_TYPES and is_open:
                item.status = (column,)
            titles[column] = text(event.get("columnTitle")) or column
        elif (group := dig(event, "destGroup", "title") or dig(event, "destGroupId")) is not None:
            item.changed = {"group": (group, dig(event, "sourceGroup", "title") or NOT_SENT)}


def _record(event: Body) -> Body:
    """Return the item's name, and the email address or URL in its columns, in any of the known structures."""
    columns = [column for column in (event.get("value"), *as_dict(event.get("columnValues")).values()) if isinstance(column, dict)]
    name = first(event, "pulseName", "itemName") or dig(event, "value", "name")
    links = [address for column in columns if (address := column.get("url") or linkedin_from(_value(column)))]
    return {"name": name, "email": [column["email"] for column in columns if column.get("email")], "link": links}


def _is_item(body: Body) -> bool:
    """Return whether a body is an item in the API's format."""
    return "id" in body and "name" in body and dig(body, "column_values", 0, "id") is not None


def _is_about_an_app(body: Body) -> bool:
    """Return whether a body is about a marketplace app: installation or payment."""
    data, word = as_dict(body.get("data")), text(body.get("type")) or ""
    return "account_id" in data and (
        word.startswith(("app_subscription_", "app_trial_")) or (word != "" and {"app_id", "account_slug"} <= data.keys())
    )


def _is_event(body: Body) -> bool:
    """Return whether a body is another kind of content of `event`."""
    return "type" in body and "event" not in body and (body.get("app") == "monday" or {"boardId", "triggerUuid"} <= body.keys())


def _is_status(value: object) -> bool:
    return dig(value, "label", "index") is not None


def _value(value: object) -> object:
    """Return a column's display value, from the many structures of the column types."""
    if not isinstance(value, dict):
        return value
    if "chosenValues" in value:
        return status_text(value["chosenValues"])
    for key in _LISTS:
        if key in value:
            return value[key]
    if "from" in value and "to" in value:
        return f"{value['from']} - {value['to']}"
    for key in ("label", "email", "phone", "url", "date", "value", "text", "name", "countryName", "rating", "checked", "address"):
        if (inner := value.get(key)) is not None:
            return status_text(inner) if isinstance(inner, dict) else inner
    return value


ADAPTER = Monday()
