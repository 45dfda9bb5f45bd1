"""monday.com: its board webhooks in our words.

Event reference: developer.monday.com, webhooks (read 2026-11-20). Which of a client's boards holds people
and which companies is the client's own affair: `?object=company` behind the address makes the items of that
webhook companies, `?object=ignore` leaves them out, otherwise they are contacts; a connection may say it by
board id (`objects`). Before it sends anything,
monday asks for its `challenge` back. Sub-items use the same event names and are left out. Some relays hand on
what stands below `event`, and nothing around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from touchbase.adapters.crm.monday.fetch import FETCHER, read_fetched
from touchbase.adapters.crm.monday.handshake import handshake
from touchbase.adapters.crm.monday.proof import MONDAY
from touchbase.adapters.interface import Call, ProtocolAnswer
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, kind_chosen
from touchbase.adapters.kit.crm_values import as_dict, in_query, label, link
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.times import moment
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

SHAPES = {
    CONTACT: Shape(CONTACT, email=("email",), full_name=("name",), linkedin=("link",)),
    COMPANY: Shape(COMPANY, domain=("link",), company=("name",)),
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
"""An item has come from another board, with columns that the call leaves out."""
# The names under which one subscribes (`create_item`) and those which arrive (`create_pulse`) differ.
TYPES = {
    "create_pulse": CREATED, "create_item": CREATED, "update_name": UPDATED, "change_name": UPDATED, "update_column_value": UPDATED,
    "change_column_value": UPDATED, "change_specific_column_value": UPDATED, "change_status_column_value": UPDATED,
    "restore_pulse": UPDATED, "item_restored": UPDATED, COME: UPDATED, "move_pulse_into_group": UPDATED, "item_moved_to_any_group": UPDATED,
    "delete_pulse": DELETED, "item_deleted": DELETED, "archive_pulse": DELETED, "item_archived": DELETED,
}  # fmt: skip
STATUS_TYPES = ("color", "status")
_LISTS = ("personsAndTeams", "files", "tag_ids", "linkedPulseIds")
"""Where columns that lead to several people, files, tags or items have them."""


class Monday(CrmAdapter):
    """Reads monday.com's webhook calls."""

    tool = "monday"
    signs = frozenset({"challenge", "event", "runtimeMetadata", "column_values", "triggerUuid", "app", "type"})
    proofs = (MONDAY,)
    fetcher: ClassVar[Fetcher | None] = FETCHER
    demands: ClassVar[Mapping[bytes, Callable[[bytes], ProtocolAnswer | None]]] = {b"{": handshake}

    def sure(self, body: Body, call: Call) -> int:
        """Known by the board that an event names; a lone challenge is monday's too."""
        if body.keys() == {"challenge"}:
            return 90
        if "runtimeMetadata" in body and isinstance(body.get("payload"), dict):
            # A step of an automation that an app provides.
            return 80
        if _is_item(body) or _is_about_an_app(body):
            return 80
        if _is_event(body):
            return 90
        event = as_dict(body.get("event"))
        # What moves between boards names none.
        return 100 if "type" in event and ("boardId" in event or event.get("app") == "monday") else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One event about one item of a board, or the handshake."""
        if "challenge" in body and "event" not in body:
            return [note("handshake", "challenge")]
        if "runtimeMetadata" in body and "event" not in body:
            return [note("ignored", text(dig(body, "payload", "blockKind")) or "automation")]
        if _is_about_an_app(body):
            return [note("ignored", text(body.get("type")), "app", text(dig(body, "data", "app_id")))]
        if _is_item(body):
            return self._alone(body, call)
        event = body if _is_event(body) else as_dict(body.get("event"))
        source = text(event.get("type"))
        object_id = text(first(event, "pulseId", "itemId"))
        what = TYPES.get(source or "")
        kind = self._kind(event, call)
        if what is None or kind is None or "parentItemId" in event or (source or "").startswith("subitem"):
            return [note("ignored" if source else "unrecognised", source, "item", object_id)]
        at = moment(event, "triggerTime", "changedAt")
        item = Item(SHAPES[kind], what, "item", object_id, source, at, text(event.get("triggerUuid")))
        item.restored = source in ("restore_pulse", "item_restored")
        item.record = _record(event)
        # Even where it brings columns, a new item's call leaves some out.
        item.thin = item.restored or what == CREATED or source == COME
        titles: dict[str, str] = {}
        if what == UPDATED:
            self._change(item, event, titles, call)
        elif what == CREATED:
            self._filled(item, event, call)
        events = item.events()
        for told in events:
            # People know a column by its title; its id may be anything.
            told.custom = {titles.get(name, name): value for name, value in told.custom.items()}
        return events

    def fetched(self, body: Body, kind: str, word: str, call: Call) -> list[Event]:
        """One item that we have asked for."""
        is_open = kind not in call.settings.status_property
        return read_fetched(body, SHAPES[kind], None if is_open else self.statuses(call, kind, None))

    def _alone(self, body: Body, call: Call) -> list[Event]:
        """An item that a relay has asked for."""
        kind = self._kind({"boardId": dig(body, "board", "id")}, call)
        if kind is None or "parent_item" in body:
            return [note("ignored", None, "item", text(body.get("id")))]
        is_open = kind not in call.settings.status_property
        events = read_fetched(body, SHAPES[kind], None if is_open else self.statuses(call, kind, None))
        for event in events:
            event.source_event = None
        return events

    def _kind(self, event: Body, call: Call) -> str | None:
        named = in_query(call.request.query, "object") or kind_chosen(call, text(event.get("boardId")))
        return CONTACT if named is None else KINDS.get(named.lower())

    def _filled(self, item: Item, event: Body, call: Call) -> None:
        """What a new item's columns say of its status: that in the column that the client has named, else in any of the type status."""
        columns = {name: _value(value) for name, value in as_dict(event.get("columnValues")).items() if _is_status(value)}
        item.record = {"group": event.get("groupName"), **columns, **item.record}
        is_open = item.shape.kind not in call.settings.status_property
        item.status = tuple(columns) if is_open else self.statuses(call, item.shape.kind, None)

    def _change(self, item: Item, event: Body, titles: dict[str, str], call: Call) -> None:
        """What changed. Every column of the type status is one, unless the client has named a column, or the group."""
        item.changed = {}
        item.status = self.statuses(call, item.shape.kind, None)
        is_open = item.shape.kind not in call.settings.status_property
        if item.source_event in ("update_name", "change_name"):
            item.changed = {"name": (dig(event, "value", "name"), dig(event, "previousValue", "name") or UNTOLD)}
        elif (column := text(event.get("columnId"))) is not None:
            kind = text(event.get("columnType")) or ""
            item.changed = {column: (_value(event.get("value")), _value(event.get("previousValue")) or UNTOLD)}
            if kind in STATUS_TYPES and is_open:
                item.status = (column,)
            titles[column] = text(event.get("columnTitle")) or column
        elif (group := dig(event, "destGroup", "title") or dig(event, "destGroupId")) is not None:
            item.changed = {"group": (group, dig(event, "sourceGroup", "title") or UNTOLD)}


def _record(event: Body) -> Body:
    """The item's name, and the e-mail or link in its columns, wherever they stand."""
    columns = [column for column in (event.get("value"), *as_dict(event.get("columnValues")).values()) if isinstance(column, dict)]
    name = first(event, "pulseName", "itemName") or dig(event, "value", "name")
    links = [address for column in columns if (address := column.get("url") or link(_value(column)))]
    return {"name": name, "email": [column["email"] for column in columns if column.get("email")], "link": links}


def _is_item(body: Body) -> bool:
    """Whether a body is an item as the API has it."""
    return "id" in body and "name" in body and dig(body, "column_values", 0, "id") is not None


def _is_about_an_app(body: Body) -> bool:
    """Whether a body tells what happens to an app of the marketplace: who installs it, or pays for it."""
    told, word = as_dict(body.get("data")), text(body.get("type")) or ""
    return "account_id" in told and (
        word.startswith(("app_subscription_", "app_trial_")) or (word != "" and {"app_id", "account_slug"} <= told.keys())
    )


def _is_event(body: Body) -> bool:
    """Whether a body is what else stands below `event`."""
    return "type" in body and "event" not in body and (body.get("app") == "monday" or {"boardId", "triggerUuid"} <= body.keys())


def _is_status(value: object) -> bool:
    return dig(value, "label", "index") is not None


def _value(value: object) -> object:
    """What a column says to people, out of the many forms that its type gives it."""
    if not isinstance(value, dict):
        return value
    if "chosenValues" in value:
        return label(value["chosenValues"])
    for key in _LISTS:
        if key in value:
            return value[key]
    if "from" in value and "to" in value:
        return f"{value['from']} - {value['to']}"
    for key in ("label", "email", "phone", "url", "date", "value", "text", "name", "countryName", "rating", "checked", "address"):
        if (inner := value.get(key)) is not None:
            return label(inner) if isinstance(inner, dict) else inner
    return value


ADAPTER = Monday()
