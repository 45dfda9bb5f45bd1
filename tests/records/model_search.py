"""What a search finds and in which order, as docs/reference/search.md says, over the records of the model."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from tests.records.model import Record
from tests.records.model_fold import Values, normal
from tests.records.model_more import WholeModel

CONDITIONS = [
    {"contact_status": "NEW"}, {"contact_status[ne]": "won"}, {"contact_status[in]": ["Replied", "contacted", "WON"]},
    {"contact_status[nin]": ["new", "prospect"]}, {"contact_status[is_set]": False}, {"first_name[contains]": "N"},
    {"first_name[starts_with]": "b"}, {"first_name[is_set]": True}, {"last_name[ne]": "lee"}, {"email": "A@x.example"},
    {"email[is_set]": False}, {"email[in]": ["b@x.example", "c@y.example"]}, {"linkedin_url": "https://de.linkedin.com/in/ANN"},
    {"origin[ne]": "camp"}, {"cf.Seats": "20"}, {"cf.Seats[gte]": 5}, {"cf.Seats[lt]": 5}, {"company.domain": "www.x.example"},
    {"company.name[starts_with]": "AC"}, {"company.cf.Seats": "1"}, {"company_id[is_set]": True}, {"last_reply_received[is_set]": True},
    {"last_reply_received[gte]": "60m"}, {"previous_status[is_set]": True}, {"created_time[is_set]": True},
]  # fmt: skip
LEAVES = st.sampled_from(CONDITIONS)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda result: {"all": result}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda result: {"any": result}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda result: {"not": result}, inner),
    ),
    max_leaves=4,
)
"""Filters as a tree."""
SORTS = [
    "",
    "",
    "id",
    "-id",
    "email",
    "-email",
    "first_name",
    "-first_name,email",
    "last_campaign_email_sent",
    "-last_reply_received",
    "-updated_time",
]


def holds(model: WholeModel, record: Record, tree: Values) -> bool:
    """Whether all members of a tree hold."""
    return all(_member(model, record, name, wanted) for name, wanted in tree.items())


def _member(model: WholeModel, record: Record, name: str, wanted: Any) -> bool:
    """Whether one member holds; a key is any of the record's."""
    if name == "all":
        return all(holds(model, record, item) for item in wanted)
    if name == "any":
        return any(holds(model, record, item) for item in wanted)
    if name == "not":
        return not holds(model, record, wanted)
    field, _, operator = name.removesuffix("]").partition("[")
    key = field.removeprefix("company.")
    if key in ("email", "linkedin_url", "domain") and operator in ("", "ne", "in", "nin"):
        owner = record if key == field else model.records["companies"].get(model.values(record).get("company_id", 0))
        keys = {value for name, value in owner.keys if name == key} if owner else set()
        return keys.isdisjoint(normal(key, item) for item in _listed(wanted)) == (operator in ("ne", "nin"))
    return _condition(field, operator or "eq", value_of(model, record, field), wanted)


def value_of(model: WholeModel, record: Record, field: str) -> Any:
    """The value of a field, None if there is none."""
    if field.startswith("company."):
        company = model.values(record).get("company_id")
        return value_of(model, model.records["companies"][company], field[8:]) if company else None
    shown = model.shown(record)
    if field.startswith("cf."):
        return shown["contact_custom_fields" if record.kind == "contacts" else "company_custom_fields"].get(field[3:])
    if field == "created_time":
        return "some"
    value = shown.get(field)
    return None if value == "" else value


def _condition(field: str, operator: str, value: Any, wanted: Any) -> bool:
    if value is None or operator == "is_set":
        return operator in ("ne", "nin") or (operator == "is_set" and (value is not None) == wanted)
    if field == "last_reply_received":
        return True  # an hour is longer than any program
    kind = field.rpartition(".")[2]
    have, *compared = [
        normal(kind, item) if kind in ("email", "linkedin_url", "domain") else str(item).lower() for item in (value, *_listed(wanted))
    ]
    if operator in ("gte", "lt"):
        number = float(value) if re.fullmatch(r"\d+", value) else None
        return number is not None and (number >= wanted if operator == "gte" else number < wanted)
    if operator == "contains":
        return any(item in have for item in compared)
    if operator == "starts_with":
        return any(have.startswith(item) for item in compared)
    return (have in compared) == (operator in ("eq", "in"))


def _listed(wanted: Any) -> list[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def has_words(model: WholeModel, record: Record, q: str) -> bool:
    """Whether each word of a text begins a word of the contact."""
    shown = model.shown(record)
    texts = [shown.get(name, "") for name in ("first_name", "last_name", "email")] + list(shown["contact_custom_fields"].values())
    texts += shown.get("emails", [])
    words = [word for text in texts for word in re.findall(r"[a-z0-9]+", text.lower())]
    return all(any(word.startswith(item) for word in words) for item in re.findall(r"[a-z0-9]+", q.lower()))


def in_order(result: list[Values], sort: str) -> bool:
    """Whether records are in this order: without a value last."""
    for first_item, second_item in pairwise(result):
        for name in (*sort.split(","), "id"):
            values = [item.get(name.removeprefix("-")) or None for item in (first_item, second_item)]
            first, second = [value.lower() if isinstance(value, str) else value for value in values]
            if first == second:
                continue
            if name == "id" and sort != "id":
                break  # among equal values the id decides, in a direction that is open
            if first is None or (second is not None and (first > second) != name.startswith("-")):
                return False
            break
    return True
