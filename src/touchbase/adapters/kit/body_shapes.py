"""Shapes of unknown bodies, normalized to one: an event as a member's name, answers as label and value, fields with a value.

Each function returns the body itself where its rule does not apply, so that the usual body costs one look at its members.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from touchbase.adapters.kit.extract import address, items, text
from touchbase.adapters.kit.languages import in_english
from touchbase.adapters.kit.status_labels import words

Item = dict[str, object]

EVENT_KEYS = frozenset(
    {"event", "event_type", "eventType", "event_name", "eventName", "type", "action", "topic", "trigger", "triggerEvent"}
)
_VERBS = (
    r"saved?|created?|updated?|deleted?|changed?|added|removed|new|sent|send|open(?:ed)?|click(?:ed)?|hit|repl(?:y|ied)|bounced?|submit(?:ted)?"
    r"|(?:un|re)?subscribed?|booked|cancell?ed|received|delivered|failed|accepted|connected"
)
_EVENT_NAME = re.compile(rf"[a-z0-9]+ .*\b(?:{_VERBS})\b.*|(?:{_VERBS}) [a-z]+")
_ENDS_WITH_VERB = re.compile(rf"\b(?:{_VERBS})$")
_PAST = re.compile(
    r"(?:[a-z]+ )+(?:saved|created|updated|deleted|changed|added|removed|submitted|booked|cancell?ed|opened|clicked|replied|bounced"
    r"|unsubscribed)"
)
_FORMS = frozenset({"answers", "questions_and_answers", "field_data", "user_column_data", "form_data"})
"""Members that hold a form's answers, and nothing else."""
_HOLDERS = _FORMS | {"fields", "custom_fields", "customFields", "properties", "attributes", "responses"}
"""Members that hold a record's or a form's fields."""
_OBJECTS = frozenset({"event", "data", "payload", "company", "account", "organization", "organisation"})
"""Members that stay objects, though they have a `value`."""
_SUBMISSIONS = ("submission", "form_submission", "formSubmission")
"""Members that hold what somebody has filled in: the answers, or an object with its id, its time and them."""
_FILLED_IN = ("data", "answers", "fields", "values", "responses", "content", "questions")
_LISTED = ("data", "form", "questions", "entries", "items")
"""Members that are a list of answers if each of its elements has a label and a value, and no event's name."""
_LABELS = ("label", "question", "title", "field", "name", "key", "ref", "column_name", "column_id", "id")
_VALUES = ("value", "answer", "string_value", "text", "email", "phone_number", "number", "url", "values")
_TYPES = ("type", "fieldType", "field_type")
_OF_ANOTHER = re.compile(r"\b(?:refer\w*|colleague|manager|boss|friend|assistant|partner|spouse|cc|second|their|owner|recruiter)\b")
_MOST_FIELDS = 500
_DEPTH = 3
_USUAL_LABEL = re.compile(
    r"(?:(?:what|is|s|please|enter|provide|your|my|the|work|business|corporate|contact|user|best|primary|main) ){0,6}(?:"
    r"(?P<email>(?:address )?e ?mail(?: ?address| id)?|mail(?: address)?|address mail)"
    r"|(?P<first_name>first ?name|given name|forename)"
    r"|(?P<last_name>last ?name(?: de famille)?|surname|family name)|(?P<full_name>(?:full |complete )?name|name and surname)"
    r"|(?P<company>company(?: name)?|organi[sz]ation(?: name)?|business name|employer)"
    r"|(?P<phone>(?:tele|mobile |cell )?phone(?: number)?|mobile(?: number)?|tel)|(?P<title>(?:job )?(?:title|role)|position)"
    r"|(?P<linkedin_url>linked ?in(?: url| profile| profile url| address)?))"
)
"""Labels of a person's fields, in English words; the group is the field."""


def is_form(body: object) -> bool:
    """Return whether a body is a form that somebody has filled in: a list of answers says so without an event's name."""
    if not isinstance(body, dict):
        return False
    return any(isinstance(body[name], list) for name in body.keys() & _FORMS) or with_answers(body) is not body


def with_answers(body: Item) -> Item:
    """Return a body with its answers as `answers`: those of a submission, with its plain members, or of a list by another name."""
    listed = next((name for name in _LISTED if _are_answers(body.get(name))), None)
    name = listed or next((name for name in _SUBMISSIONS if isinstance(body.get(name), dict | list)), None)
    if name is None:
        return body
    submission, around = body[name], {key: value for key, value in body.items() if key != name}
    filled_in = submission
    if isinstance(submission, dict):
        filled_in = next((submission[key] for key in _FILLED_IN if isinstance(submission.get(key), dict | list)), None)
        around |= {key: value for key, value in submission.items() if not isinstance(value, dict | list)}
    if isinstance(filled_in, dict):
        filled_in = [{"label": label, "value": value} for label, value in filled_in.items()]
    return {**around, "answers": filled_in} if filled_in else body


def usual_label(label: str) -> str | None:
    """Return the field of a person that a form's label asks for, in any language of `kit/languages.py`."""
    match = _USUAL_LABEL.fullmatch(in_english(label))
    return None if match is None else match.lastgroup


def _are_answers(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(item, dict) and ("value" in item or "answer" in item) and EVENT_KEYS.isdisjoint(item.keys() - {"type"})
        and any(isinstance(item.get(name), str) for name in (*_LABELS, "id"))
        for item in value
    )  # fmt: skip


def split_named_members(body: Item) -> list[Item]:
    """Return one item for each object under a member whose name is the event: `{"contact.updated": [{...}, {...}]}`.

    The name becomes the item's `event`; the body's plain members are the wrapper's. A body that names its event is returned as it is. An
    object below `events` has an event for each member, by the member's name or its own.
    """
    body = with_answers(body)
    if not EVENT_KEYS.isdisjoint(body):
        return [body]
    if isinstance(several := body.get("events"), dict) and (named_events := _by_name(several)):
        around = {name: value for name, value in body.items() if name != "events"}
        return [{**around, **item} for item in named_events]
    named = {name: value for name, value in body.items() if isinstance(value, dict) or _objects(value)}
    is_all = len(named) == len(body) > 1 and all(map(says_event, named))
    if not named or not (is_all or all(map(_is_event_name, named))):
        return [body]
    around = {name: value for name, value in body.items() if name not in named}
    return [
        {**around, **item, "event": name}
        for name, value in named.items()
        for item in ([value] if isinstance(value, dict) else _objects(value))
    ]


def _by_name(events: Item) -> list[Item]:
    """Return the events of an object of them, each named by itself or by its member; none if that is another object."""
    named: list[Item] = []
    for name, value in events.items():
        for item in [value] if isinstance(value, dict) else _objects(value):
            if EVENT_KEYS.isdisjoint(item) and not says_event(name):
                return []
            named.append(item if not EVENT_KEYS.isdisjoint(item) else {**item, "event": name})
    return named


def says_event(name: str) -> bool:
    """Return whether a name ends with a verb of events."""
    return _ENDS_WITH_VERB.search(words(name)) is not None


def _is_event_name(name: str) -> bool:
    plain = words(name)
    return _PAST.fullmatch(plain) is not None or (any(mark in name for mark in ".:/") and _EVENT_NAME.fullmatch(plain) is not None)


def _objects(value: object) -> list[Item]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def plain_value(value: object) -> object:
    """Return the value of a field that is an object with its `value`: `{"label": "Email", "value": "a@x"}`; else the value itself."""
    if (
        isinstance(value, dict)
        and "value" in value
        and not any(isinstance(member, dict) for name, member in value.items() if name != "value")
    ):
        return value["value"]
    return value


def with_plain_fields(body: Item) -> Item:
    """Return the body with the fields of its field lists and field objects as plain members; members that it has come first.

    A link to a company keeps its id.
    """
    held = {name: fields for name in sorted(body.keys() & _HOLDERS) if (fields := dict(_fields_of(body[name], _DEPTH)))}
    objects = {
        name: plain
        for name, value in body.items()
        if isinstance(value, dict) and name.lower() not in _OBJECTS and (plain := plain_value(value)) is not value
    }
    if not held and not objects:
        return body
    lifted = {name: value for fields in held.values() for name, value in fields.items()}
    return {**lifted, **{name: value for name, value in body.items() if name not in held}, **objects}


def _fields_of(holder: object, depth: int) -> Iterator[tuple[str, object]]:
    """Yield the fields of a holder: of a list by their labels, of an object by their names, in groups (`fields.core.email`) too."""
    if isinstance(holder, list) or (isinstance(holder, dict) and any(isinstance(value, dict) for value in items(holder))):
        yield from answers(items(holder)).items()
        return
    if not isinstance(holder, dict):
        return
    for name, value in list(holder.items())[:_MOST_FIELDS]:
        plain = plain_value(value)
        if plain is not value:
            yield name, plain
        elif isinstance(value, dict) and depth and any(isinstance(member, dict) and "value" in member for member in value.values()):
            yield from _fields_of(value, depth - 1)


def answers(listed: list[object]) -> Item:
    """Return a form's answers by their labels, and under the usual names of a person's fields where type or label says which it is.

    The first answer that is typed as an e-mail address is the person's; `Referrer's email` is someone else's.
    """
    by_label: Item = {}
    usual: Item = {}
    typed: object = None
    for answer in listed[:_MOST_FIELDS]:
        if not isinstance(answer, dict):
            continue
        label = next((named for name in _LABELS if (named := text(answer.get(name)))), None)
        value = next((answer[name] for name in _VALUES if answer.get(name) not in (None, "", [])), None)
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if value is None or isinstance(value, dict):
            continue
        if label is not None:
            by_label.setdefault(label, value)
        if (field := usual_label(label or "")) is not None:
            usual.setdefault(field, value)
        elif typed is None and _says_email(answer) and address(value) is not None and _OF_ANOTHER.search(words(label or "")) is None:
            typed = value
    if typed is not None:
        usual.setdefault("email", typed)
    return {**by_label, **usual}


def _says_email(answer: Item) -> bool:
    return any("email" in (text(answer.get(name)) or "").lower().replace("-", "") for name in _TYPES)
