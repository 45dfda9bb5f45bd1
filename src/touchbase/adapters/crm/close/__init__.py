"""Close: webhooks.

Event reference: developer.close.com, webhooks (read 2026-11-20). A Close lead is an organisation, so it is a company
here; its contacts are contacts. Times without a zone are UTC. An event can be sent again, merged with later ones. Tasks
and activities are ignored, except for a lead's status change; opportunities are used only if the client has mapped
them. Relays that read Close's event log send the bare event, others send whole records; older webhooks have the event
name as a text.

Signature: HMAC of timestamp and body, with a hex-encoded key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import (
    COMPANY,
    CONTACT,
    CREATED,
    DELETED,
    NOT_SENT,
    STATUS_CHANGED,
    UPDATED,
    CrmItem,
    RecordShape,
    other_event,
)
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.deals import Deal
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin, with_linkedin_of_fields
from touchbase.adapters.kit.signatures import HEX, WINDOW, Scheme, constant_time_equal, hmac_digest, is_recent, window_of
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival
from touchbase.history.events import Event


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    at, signature = arrival.headers.get("close-sig-timestamp"), arrival.headers.get("close-sig-hash")
    if at is None or signature is None or not is_recent(at, now, past=window_of(arrival)):
        return False
    try:
        key = bytes.fromhex(secret)
    except ValueError:
        return False
    return constant_time_equal(signature.lower(), hmac_digest(key, at.encode() + arrival.body).hex())


CLOSE = Scheme(
    "header `close-sig-hash`: HMAC-SHA256 in hex over `close-sig-timestamp` and body, the key written in hex; 5 minutes",
    _check,
    form=HEX,
    window=WINDOW,
)


NOISE = frozenset(
    {"date_updated", "date_created", "updated_by", "updated_by_name", "created_by", "created_by_name", "html_url", "status_type"}
)
SHAPES = {
    "contact": RecordShape(
        CONTACT, email=("emails",), full_name=("name", "display_name"), linkedin=("linkedin_url", "urls", LINKEDIN),
        employer=("lead_id",), employer_type="lead", useful=("title",), noise=NOISE,
    ),
    "lead": RecordShape(COMPANY, domain=("url",), company=("display_name", "name"), useful=("description",), noise=NOISE),
}  # fmt: skip
ACTIONS = {"created": CREATED, "updated": UPDATED, "deleted": DELETED, "merged": UPDATED}
OLDER = {"create": "created", "update": "updated", "delete": "deleted", "merge": "merged"}

_KINDS = ("orga_", "lead_", "cont_", "acti_", "oppo_", "task_")
_STAGES = frozenset({"status_label", "status_type", "status_id"})


class Close(CrmAdapter):
    """Reads Close's webhooks."""

    tool = "close"
    words = ("lead",)
    signature_schemes = (CLOSE,)
    detection_keys = frozenset({"subscription_id", "object_type", "event", "organization_id", "close-sig-hash"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {"lead": ("status_label", "status_id"), "contact": ()}

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the subscription's id, else by the event in the body."""
        if _alone(body) is not None:
            return 85
        event = _event(body)
        has_marks = "object_type" in event and "action" in event
        if has_marks and event is not body and isinstance(body["event"], str):
            return 80
        if has_marks and (text(body.get("subscription_id")) or "").startswith("whsub_"):
            return 100
        if "close-sig-hash" in webhook.headers:
            return 95
        if has_marks and (text(event.get("id")) or "").startswith("ev_") and ("changed_fields" in event or event is not body):
            return 90
        return 80 if has_marks and ("subscription_id" in body or _is_about_theirs(event)) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of a webhook's one event."""
        if (kind := _alone(body)) is not None:
            item = CrmItem(
                SHAPES[kind], UPDATED, kind, text(body.get("id")), None, parse_time(body.get("date_updated")), record=_with_linkedin(body)
            )
            item.status = self.statuses(webhook, item.shape.kind, kind)
            return item.events()
        event = _event(body)
        data, meta = as_dict(event.get("data")), as_dict(event.get("meta"))
        word, action = text(event.get("object_type")), text(event.get("action"))
        previous = as_dict(event.get("previous_data"))
        object_id = text(first(event, "object_id") or first(data, "id") or first(previous, "id"))
        source = f"{word}.{action}" if word and action else None
        # For a creation event, the record's creation time is the event's time.
        of_record = ("date_updated", "date_created") if action == "created" else ("date_updated",)
        at = first_time(event, "date_updated", "date_created") or first_time(data, *of_record)
        if source == "activity.lead_status_change.created":
            return self._status_change(event, data, source, at)
        if word == "opportunity":
            staged = action == "created" or not _STAGES.isdisjoint(map(str, as_list(event.get("changed_fields"))))
            return _deal(event, data if staged else {}, source, at).events(webhook)
        if word not in SHAPES or action not in ACTIONS:
            return [other_event("ignored" if source else "unrecognised", source, word, object_id)]
        item = CrmItem(SHAPES[word], ACTIONS[action], word, object_id, source, at, _key(event), _with_linkedin(data or previous))
        item.status = self.statuses(webhook, item.shape.kind, word)
        if action == "merged":
            item.object_id, item.changed = text(meta.get("merge_destination_lead_id")) or object_id, {}
            return item.merged(text(meta.get("merge_source_lead_id")))
        if action == "deleted" and word == "lead":
            # Related ids, such as a contact of both leads, come with the same two leads.
            item.merged_into = text(meta.get("merge_destination_lead_id"))
        elif action == "updated" and ("changed_fields" in event or previous):
            names = [name for name in as_list(event.get("changed_fields")) if isinstance(name, str)] or list(previous)
            custom = as_dict(data.get("custom"))
            now = {**{f"custom.{name}": value for name, value in custom.items()}, **data}
            item.changed = {name: (now.get(name), previous.get(name, NOT_SENT)) for name in names if name not in NOISE and name != "custom"}
        return item.events()

    def _status_change(self, event: Body, data: Body, source: str, at: int | None) -> list[Event]:
        """Return the status change that Close records as an activity: an event of the lead, not of the activity."""
        lead = text(first(event, "lead_id") or first(data, "lead_id"))
        new = text(first(data, "new_status_label", "new_status_id"))
        if lead is None or new is None:
            return [other_event("unrecognised", source, "lead", lead)]
        changed = {"status_label": (new, first(data, "old_status_label", "old_status_id") or NOT_SENT)}
        item = CrmItem(SHAPES["lead"], UPDATED, "lead", lead, source, at, _key(event), changed=changed, status=("status_label",))
        return [change for change in item.events() if change.event.endswith(STATUS_CHANGED)]


def _alone(body: Body) -> str | None:
    """Return the type of a bare record that a relay has fetched, by its id's prefix; None for other bodies."""
    if not (text(body.get("organization_id")) or "").startswith("orga_") or "action" in body:
        return None
    return {"lead": "lead", "cont": "contact"}.get((text(body.get("id")) or "").partition("_")[0])


def _is_about_theirs(event: Body) -> bool:
    """Return whether an event is about a Close object, by the type prefix of its ids."""
    ids = event.get("organization_id"), event.get("lead_id"), event.get("object_id")
    candidates = (*ids, as_dict(event.get("data")).get("id"), dig(event, "data", "lead_id"))
    return any((text(candidate) or "").startswith(_KINDS) for candidate in candidates)


def _event(body: Body) -> Body:
    """Return the event in a body. A text event name, `lead.updated` or `update` with `model`, is converted to Close's format."""
    named, data = body.get("event"), as_dict(body.get("data"))
    if not isinstance(named, str):
        return as_dict(named) or body
    if "object_type" in data and "action" in data:
        return data
    is_theirs = (text(body.get("subscription_id")) or "").startswith("whsub_") or (text(data.get("organization_id")) or "").startswith(
        "orga_"
    )
    word, _, action = named.rpartition(".")
    word, action = word or text(body.get("model")) or "", OLDER.get(action, action)
    if not is_theirs or not word or action not in ACTIONS:
        return body
    event = {**body, "object_type": word, "action": action}
    if action != "merged" or "destination_id" not in data:
        return event
    into = data["destination_id"]
    return {**event, "object_id": into, "meta": {"merge_source_lead_id": data.get("source_id"), "merge_destination_lead_id": into}}


def _with_linkedin(record: Body) -> Body:
    """Return the record with the LinkedIn URL of a custom field: `custom.cf_...`, in older webhooks by its name.

    Display values that Close shows for an empty name are removed: a contact's name for its lead, a number for a contact.
    """
    record = {name: value for name, value in record.items() if name != "display_name" or "name" not in record}
    own = with_linkedin_of_fields(record, lambda name: name.startswith("custom."))
    return own if LINKEDIN in own else with_linkedin(record, as_dict(record.get("custom")))


def _deal(event: Body, data: Body, source: str | None, at: int | None) -> Deal:
    stages = (text(data.get("status_label")), text(data.get("status_type")), text(data.get("status_id")))
    lead = text(first(event, "lead_id") or first(data, "lead_id"))
    person = ("contact", text(data.get("contact_id")))
    return Deal(source, text(first(event, "object_id") or first(data, "id")), stages, at, _key(event), person, ("lead", lead))


def _key(event: Body) -> str | None:
    """Return the event's id with the time of its last update: Close adds later changes to an event that it has sent."""
    event_id, grown = text(event.get("id")), text(event.get("date_updated"))
    return f"{event_id}:{grown}" if event_id and grown else event_id


ADAPTER = Close()
