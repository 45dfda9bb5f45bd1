"""Guess of a mapping from the names of the columns and, where they do not decide, from the first rows.

A guess is a proposal for a preview. It prefers a custom field to a wrong field: the state of a lead within a campaign
("Completed") is no status of a contact, and "Last Contacted" counts telephone calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from touchbase.common.field_limits import NAME
from touchbase.imports.columns import (
    COMPANY,
    COMPANY_TARGETS,
    CONTACT_TARGETS,
    CUSTOM,
    DATES,
    FULL_NAME,
    Mapping,
)
from touchbase.imports.dates import DAY_FIRST, BadDate, day_order_of, parse_date
from touchbase.imports.report import is_of_bad_rows
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_WORD = re.compile(r"[^a-z0-9]+")

SOURCES: dict[str, tuple[str, ...]] = {
    "revyops": (
        "contact status, linkedin url", "contact status, first name", "contact status, firstname", "company status, domain",
        "last campaign email sent", "last reply received",
    ),
    "apollo": ("person linkedin url", "company name for emails", "apollo contact id", "apollo record id"),
    "hubspot": (
        "record id, lead status", "record id, lifecycle stage", "record id, contact owner", "record id, company domain name",
        "record id, create date",
    ),
    "smartlead": ("campaign lead map id", "linkedin profile, company url, phone number", "last email sequence sent"),
    "instantly": (
        "lt interest status", "timestamp last contact", "lead status, personalization", "interest status, lead status",
        "email, personalization, company name",
    ),
    "lemlist": ("icebreaker, email", "last state, email", "lead id, campaign name, email"),
    "clay": ("linkedin profile, company domain", "find work email", "enrich person", "work email, full name, job title"),
}  # fmt: skip
"""Source -> headers that together show an export of it. Airtable's exports have the words of its user."""

_NO_STATUS = {
    "instantly": {"status", "lead status", "status summary"},
    "smartlead": {"status", "lead status"},
    "lemlist": {"status", "last state", "lead status", "state"},
}
"""Columns with the state of a lead within a campaign."""
_READ_ONLY = {"id", "company id", "updated time", "previous status", "status changed at", "created time", "suppressed"}
"""Columns of records of RevyOps and Touchbase that no import can set, and the company's id, which may be of another installation."""

_FULL_NAME = ("full name", "fullname", "name", "contact name", "lead name", "person name", "contact", "person", "prospect name")


def _words_of_contacts() -> dict[str, tuple[str, ...]]:
    words = {field.name: field.headers for field in CONTACT_TYPE.members if field.headers} | {FULL_NAME: _FULL_NAME}
    own = {word for headers in words.values() for word in headers}
    for field in COMPANY_TYPE.members:
        if field.of_contacts:
            words[f"{COMPANY}{field.name}"] = tuple(word for word in field.headers if word not in own)
    return words


_WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "contact": _words_of_contacts(),
    "company": {field.name: field.headers for field in COMPANY_TYPE.members if field.headers},
}
"""Target -> headers, the best first: if a file has several of them, the others become custom fields."""
_IN_ADDRESS = {field.name: field.mark for field in CONTACT_TYPE.members if field.mark}
"""What each value of a column contains if they are addresses."""
_CUSTOM_PREFIXES = (CUSTOM, "contact_custom_fields.", "company_custom_fields.", "contact_custom_fields_input.", "custom_fields.")
_LONGEST = NAME - 10
"""Characters of a header that become the name of a custom field, with room for a number."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A proposed mapping, with a target for each column, and the product that wrote the file; blank if it is not known."""

    mapping: Mapping
    source: str = ""


def words_of(name: str) -> str:
    """Return a header in lower-case words: `companyDomain`, `Company Domain` and `company_domain` are one."""
    joined = re.sub("linkedin", "linkedin", name, flags=re.IGNORECASE)
    return _NO_WORD.sub(" ", _CAMEL.sub(" ", joined).lower()).strip()


def guess(header: Sequence[str], record: Literal["contact", "company"], sample: Sequence[Sequence[str]] = ()) -> Guess:
    """Return the likely mapping of a file's columns; `sample` has the cells of some rows."""
    names = [words_of(name) for name in header]
    source = next((source for source, shapes in SOURCES.items() if any(set(shape.split(", ")) <= set(names) for shape in shapes)), "")
    targets: dict[int, str] = {}
    if is_of_bad_rows(header):
        targets = {len(header) - 2: "", len(header) - 1: ""}
    for index, name in enumerate(header[: len(header) - len(targets)]):
        exact = _exact(name, names[index], record, source)
        if exact is not None and (not exact or exact not in targets.values()):
            targets[index] = exact
    for target, known in _WORDS[record].items():
        found = [names.index(word) for word in known if word in names and word not in _NO_STATUS.get(source, ())]
        free = [index for index in found if index not in targets]
        if free and target not in targets.values():
            targets[free[0]] = target
    columns = [[row[index] for row in sample if index < len(row) and row[index].strip()] for index in range(len(header))]
    _by_values(columns, targets, record)
    day_order = day_order_of(text for index, target in targets.items() if target in DATES for text in columns[index])
    _without_doubts(columns, targets)
    made: dict[str, str] = {}
    for index, name in enumerate(header):
        target = targets.get(index, "-")
        if target == "-":
            target = f"{CUSTOM}{name[:_LONGEST]}"
            while target in targets.values():
                target += " (2)"
            targets[index] = target
        made[name] = target
    return Guess(Mapping(record, made, day_order=day_order), source)  # type: ignore[arg-type]


def _exact(name: str, words: str, record: str, source: str) -> str | None:
    """Return the target that a header names itself, as exports of Touchbase do; blank for one that cannot be imported."""
    if source == "revyops" and words in _READ_ONLY:
        return ""
    if name != "company_id" and name in (CONTACT_TARGETS if record == "contact" else COMPANY_TARGETS):
        return name
    if record == "contact" and name.startswith(f"{COMPANY}{CUSTOM}") and name != f"{COMPANY}{CUSTOM}":
        return name
    prefix = next((prefix for prefix in _CUSTOM_PREFIXES if name.lower().startswith(prefix) and len(name) > len(prefix)), None)
    return None if prefix is None else f"{CUSTOM}{name[len(prefix) :]}"


def _by_values(columns: Sequence[Sequence[str]], targets: dict[int, str], record: str) -> None:
    """Take the only column whose values are all addresses, if no header named one."""
    for target, mark in _IN_ADDRESS.items():
        if record == "contact" and target not in targets.values():
            fits = [
                index for index, cells in enumerate(columns) if cells and all(mark in cell and len(cell.split()) == 1 for cell in cells)
            ]
            if len(fits) == 1 and fits[0] not in targets:
                targets[fits[0]] = target


def _without_doubts(columns: Sequence[Sequence[str]], targets: dict[int, str]) -> None:
    """Leave out targets that the whole does not allow: dates whose values are none, a name in two ways, a company without domain."""
    for index, target in list(targets.items()):
        if target in DATES and not all(_is_date(text) for text in columns[index]):
            del targets[index]
    chosen = set(targets.values())
    for index, target in list(targets.items()):
        if (target == FULL_NAME and {"first_name", "last_name"} & chosen) or (
            target.startswith(COMPANY) and f"{COMPANY}domain" not in chosen
        ):
            del targets[index]


def _is_date(text: str) -> bool:
    for order in (DAY_FIRST, "month_first"):
        try:
            parse_date(text, order)
            return True
        except BadDate:
            continue
    return False
