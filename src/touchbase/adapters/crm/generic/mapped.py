"""Bodies of any CRM for which the client has declared the paths (the setting `fields`)."""

from __future__ import annotations

from touchbase.adapters.crm.generic.words import OTHERS, RESTORED, SEVERAL, US, asks_erasure, is_of_a_part, noun_in, verb_in, words_of
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, chosen_kind
from touchbase.adapters.kit.crm_values import declared_custom, declared_elements, declared_row, query_parameter
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.models import IGNORE
from touchbase.history.events import Event

IGNORED = "ignored"
_IDENTITY = frozenset({"id", "email", "domain", "linkedin_url"})
_KEPT = {"status": _IDENTITY | {"status"}, "timeline": _IDENTITY}
"""Declared meanings of events of which only some values count."""
SHAPES = {
    CONTACT: RecordShape(
        CONTACT,
        email=("email",),
        first_name=("first_name",),
        last_name=("last_name",),
        full_name=("name",),
        linkedin=("linkedin_url",),
        domain=("domain",),
        employer=("company_id",),
        employer_type=COMPANY,
        useful=("company", "phone", "title"),
    ),
    COMPANY: RecordShape(COMPANY, domain=("domain",), company=("name", "company"), useful=("phone",)),
}


def read_mapped(body: Body, webhook: ParsedWebhook) -> list[Event]:
    """Return the events of a body, read by the client's field map: one, or one for each element of the list that it names."""
    fields = webhook.settings.fields
    return [event for element in declared_elements(body, fields) for event in _event_of(declared_row(body, fields, element), webhook)]


def _event_of(mapped: Body, webhook: ParsedWebhook) -> list[Event]:
    source = text(mapped.get("event")) or query_parameter(webhook.request.query, "event")
    word, object_id, words = text(mapped.get("object_type")), text(mapped.get("id")), words_of(source)
    named = (*words_of(word), *words)
    declared = webhook.settings.declared_event(source)
    at = parse_time(mapped.get("occurred_at"))
    chosen, what = chosen_kind(webhook, word), verb_in(words) or UPDATED
    kind = chosen or noun_in(named)
    of_part = is_of_a_part(named) if noun_in(named) else kind is None and not (OTHERS | SEVERAL | US).isdisjoint(named)
    if declared in _KEPT:
        what = UPDATED
        mapped = {name: value for name, value in mapped.items() if name in _KEPT[declared]}
    elif declared is not None:
        kind, what = _kind_and_verb(declared, chosen)
    if IGNORE in (kind, chosen) or (of_part and declared is None):
        return [other_event("ignored", source, word, object_id)]
    if kind not in SHAPES:
        kind = COMPANY if text(mapped.get("domain")) and not text(mapped.get("email")) else CONTACT
    item = CrmItem(SHAPES[kind], what, word or kind, object_id, source, at, record=mapped)
    item.status = ("status",) if "status" in mapped else ()
    item.restored = RESTORED in words
    item.asks_erasure = asks_erasure(item.what, words)
    events = item.events()
    if events[0].event in (f"{kind}.{CREATED}", f"{kind}.{UPDATED}"):
        events[0].custom |= declared_custom(mapped)
    if declared is not None and "." not in declared and declared not in _KEPT and events[0].event.startswith(CONTACT):
        events.append(item.mark(declared))
    return events


def _kind_and_verb(declared: str, chosen: str | None) -> tuple[str | None, str]:
    """Return the kind of record and the change that a declared event is about; an opt-out, a bounce or a meeting is a contact's."""
    if declared == IGNORED:
        return IGNORE, UPDATED
    kind, _, verb = declared.partition(".")
    return (chosen or kind, verb) if verb else (CONTACT, UPDATED)
