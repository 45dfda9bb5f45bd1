"""Guess of a mapping from the names of the columns and, where they do not decide, from the first rows.

A guess is a proposal for a preview. It prefers a custom field to a wrong field: the state of a lead within a campaign
("Completed") is no status of a contact, and the address of a record's owner is not that of the person.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from touchbase.common.field_limits import NAME
from touchbase.common.normalize import find_company_domain, linkedin_key
from touchbase.common.plain_text import ascii_of
from touchbase.company_links.domains import no_company_domain
from touchbase.imports.cells import NOTHING
from touchbase.imports.columns import (
    COMPANY,
    COMPANY_TARGETS,
    CONTACT_TARGETS,
    CUSTOM,
    DATES,
    FULL_NAME,
    Mapping,
)
from touchbase.imports.dates import DAY_FIRST, BadDate, parse_date
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
    "salesforce": (
        "account name, email opt out", "account name, contact owner", "account name, lead source", "lead owner, lead status",
        "contact id, account name", "lead id, company account", "account owner, account name",
    ),
    "phantombuster": ("default profile url", "linkedin profile url, linkedin headline", "profile url, vmid", "query, profile url"),
    "google": ("e mail 1 value", "organization name, e mail 1 label", "e mail 1 type"),
    "outlook": ("e mail address, e mail 2 address", "e mail address, e mail display name", "e mail adresse, e mail 2 adresse"),
    "linkedin": ("connected on, position",),
    "clay": ("linkedin profile, company domain", "find work email", "enrich person", "work email, full name, job title"),
}  # fmt: skip
"""Source -> headers that together show an export of it. Airtable's exports have the words of its user."""

_NO_STATUS = {
    "instantly": {"status", "lead status", "status summary"},
    "smartlead": {"status", "lead status"},
    "lemlist": {"status", "last state", "lead status", "state"},
}
"""Columns with the state of a lead within a campaign."""
STATES = frozenset({word for words in _NO_STATUS.values() for word in words} | {"category", "lead category", "interest status"})
"""Names of columns with the state of a person or a lead; some states are opt-outs."""
MORE_ADDRESSES = re.compile(
    r"(?:secondary|second|additional|other|alternate|alternative|personal|private|work|business|home|zweite|weitere|autre|otro)"
    r" e ?mails?(?: address(?:es)?| adressen?| value)?|e ?mail(?: address)? ?[2-9](?: address| adresse| value)?"
)
"""Names of columns with further addresses of the person; the first of them is taken where the person has no other one."""
_READ_ONLY = {"id", "company id", "updated time", "previous status", "status changed at", "created time", "suppressed"}
"""Columns of records of RevyOps and Touchbase that no import can set, and the company's id, which may be of another installation."""

_FULL_NAME = (
    "full name", "fullname", "name", "contact name", "lead name", "person name", "contact", "person", "prospect name", "display name",
    "naam", "volledige naam", "nom complet", "nombre completo", "nome completo", "vollstandiger name", "kontaktname", "ansprechpartner",
)  # fmt: skip
_EITHER = frozenset({"name", "naam", "nom", "nombre", "nome"})
"""A whole name, unless another column has the first name, or the last one."""
_OF_OTHERS = frozenset(
    {
        "owner", "sender", "sent", "manager", "assistant", "assistent", "agent", "rep", "user", "created", "modified",
        "by", "from", "mailbox", "assigned", "assignee", "referrer", "referred", "support", "cc", "bcc", "reply",
        "parent", "partner", "recruiter", "seller", "account", "inviter", "invited", "besitzer", "zustandig",
        "proprietaire", "propietario", "eigenaar", "proprietario", "company", "firma", "team",
    }
)  # fmt: skip
"""Words of columns with the addresses of other people than the person of the row."""


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
"""Target -> mark that every value of a column of addresses contains."""
_CUSTOM_PREFIXES = (CUSTOM, "contact_custom_fields.", "company_custom_fields.", "contact_custom_fields_input.", "custom_fields.")
_BLANK = NOTHING | {""}
_LONGEST = NAME - 10
"""Characters of a header that become the name of a custom field, with room for a number."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A proposed mapping, with a target for each column, and the product that wrote the file; blank if it is not known."""

    mapping: Mapping
    source: str = ""


def words_of(name: str) -> str:
    """Return a header in lower-case words without accents: `companyDomain`, `Company Domain` and `company_domain` are one."""
    joined = re.sub("linkedin", "linkedin", name, flags=re.IGNORECASE)
    return _NO_WORD.sub(" ", ascii_of(_CAMEL.sub(" ", joined))).strip()


def is_status_header(name: str, record: str) -> bool:
    """Return whether a column may be the status of the records: `Lead Status`, `Stage`, `Lifecycle Stage`."""
    return words_of(name) in _WORDS[record][f"{record}_status"]


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
    columns = [[text for row in sample if index < len(row) and (text := row[index].strip()) not in _BLANK] for index in range(len(header))]
    for target, words in _WORDS[record].items():
        indexes = [names.index(word) for word in words if word in names and word not in _NO_STATUS.get(source, ())]
        free = [index for index in indexes if index not in targets]
        if free and target not in targets.values() and (best := _best(target, free, columns)) is not None:
            targets[best] = target
    _divide_names(names, columns, targets)
    _by_values(names, columns, targets, record)
    _without_doubts(columns, targets)
    columns_by_name: dict[str, str] = {}
    for index, name in enumerate(header):
        target = targets.get(index, "-")
        if target == "-":
            target = f"{CUSTOM}{name[:_LONGEST]}"
            while target in targets.values():
                target += " (2)"
            targets[index] = target
        columns_by_name[name] = target
    return Guess(Mapping(record, columns_by_name), source)


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


def _best(target: str, free: Sequence[int], columns: Sequence[Sequence[str]]) -> int | None:
    """Return the column whose header is the best one for a target: the first that has values, and addresses where those are needed.

    None if all values of these columns are something else: pages of companies at LinkedIn are no domains.
    """
    filled = [index for index in free if columns[index]] or free
    if target in ("domain", f"{COMPANY}domain"):
        return next((index for index in filled if _mostly(columns[index], _is_domain)), None)
    if target == "linkedin_url":
        return next((index for index in filled if columns[index] and _mostly(columns[index], _is_profile)), free[0])
    return filled[0]


def _mostly(cells: Sequence[str], fits: Callable[[str], bool]) -> bool:
    return sum(map(fits, cells)) * 2 >= len(cells)


def _is_domain(text: str) -> bool:
    return find_company_domain(text) is not None and no_company_domain(text) is None


def _is_profile(text: str) -> bool:
    return linkedin_key(text) is not None


def _divide_names(names: Sequence[str], columns: Sequence[Sequence[str]], targets: dict[int, str]) -> None:
    """Decide whether a column such as `Name`, `Nom` or `Nombre` has whole names, or the part that no other column has."""
    by_target = {target: index for index, target in targets.items()}
    first, last, full = (by_target.get(name) for name in ("first_name", "last_name", FULL_NAME))
    if full is not None and names[full] in _EITHER and first is not None and last is None:
        repeats = [first_name for first_name, name in zip(columns[first], columns[full], strict=False) if name.startswith(first_name)]
        if len(repeats) * 2 < len(columns[first]) or not columns[first]:
            targets[full] = "last_name"
    elif full is None and (first is None) != (last is None):
        only = first if last is None else last
        if only is not None and names[only] in _EITHER:
            targets[only] = FULL_NAME


def _by_values(names: Sequence[str], columns: Sequence[Sequence[str]], targets: dict[int, str], record: str) -> None:
    """Take the only column whose values are all different addresses, if no header named one and it is not of other people."""
    for target, mark in _IN_ADDRESS.items():
        if record == "contact" and target not in targets.values():
            fits = [
                index
                for index, cells in enumerate(columns)
                if cells and len(set(cells)) * 10 >= len(cells) * 9 and all(mark in cell and len(cell.split()) == 1 for cell in cells)
            ]
            if len(fits) == 1 and fits[0] not in targets and not _OF_OTHERS & {*names[fits[0]].split()}:
                targets[fits[0]] = target


def _without_doubts(columns: Sequence[Sequence[str]], targets: dict[int, str]) -> None:
    """Leave out targets that the whole does not allow: dates of which few are some, a name in two ways, a company without an identity."""
    for index, target in list(targets.items()):
        if target in DATES and columns[index] and not _mostly(columns[index], _is_date):
            del targets[index]
    chosen = set(targets.values())
    for index, target in list(targets.items()):
        names_no_company = target.startswith(COMPANY) and not {f"{COMPANY}domain", f"{COMPANY}name"} & chosen
        if (target == FULL_NAME and {"first_name", "last_name"} & chosen) or names_no_company:
            del targets[index]


def _is_date(text: str) -> bool:
    for order in (DAY_FIRST, "month_first"):
        try:
            parse_date(text, order)
            return True
        except BadDate:
            continue
    return False
