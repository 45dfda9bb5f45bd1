"""Columns: which column of a file is which field.

A target is a field of the record (`email`), `full_name`, a date of a contact (`last_reply_received`), a custom field (`cf.Industry`), or a
field of the contact's company (`company.domain`, `company.cf.Size`). A blank target ignores the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

from touchbase.common import field_limits
from touchbase.common.misspelt import LONGEST_COMPARED, suggest
from touchbase.errors import COUNTED, MOST_FAULTS, Fault, Invalid
from touchbase.records import fields
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE

CUSTOM, COMPANY = "cf.", "company."
"""Prefixes of targets."""
FULL_NAME = "full_name"
"""First and last name in one column."""
FIRST_SENT, LAST_SENT, LAST_REPLY = DATES = tuple(field.name for field in fields.DATES)
"""Dates of a contact; they become events of its history."""
COMPANY_FIELDS = (*COMPANY_TYPE.names, COMPANY_TYPE.status)
CONTACT_FIELDS = (*CONTACT_TYPE.names, "emails", CONTACT_TYPE.status)
COMPANY_TARGETS = COMPANY_FIELDS
_NOT_OF_COMPANIES = ("external_id", "owner_id")
"""Fields of a contact's company that no column of the contact's file fills."""
CONTACT_TARGETS = (
    *CONTACT_FIELDS, FULL_NAME, *DATES, *(f"{COMPANY}{name}" for name in COMPANY_FIELDS if name not in _NOT_OF_COMPANIES),
)  # fmt: skip
MATCHES = {record_type.name: tuple(field.name for field in record_type.keys) for record_type in (CONTACT_TYPE, COMPANY_TYPE)}
"""The fields by which records are found, by type of record."""
MOST_LISTED = 5
"""Columns with the same target that a fault names."""
COMPARED_NAMES = 10_000
"""Names of columns that are compared to find near ones, for all faults of a mapping: a comparison of long names takes 7 microseconds."""
_KEYS = {"contact": MATCHES["contact"], "company": ("domain", "name")}


class Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Roles of a file's columns in an import; one mapping can be stored for each source."""

    record: Literal["contact", "company"]
    columns: dict[str, str] = {}
    """Column -> target."""
    others: Literal["custom", "ignore"] = "custom"
    """Whether a column that is not in `columns` becomes a custom field of its name, or is ignored."""
    day_order: Literal["", "day_first", "month_first"] = ""
    """The order in dates such as 11/12/2026; they are refused without it."""
    time_zone: str = "UTC"
    """IANA name of the zone of times that name none."""
    without_key: bool = False
    """Whether contacts are created that have neither an e-mail nor a LinkedIn address; importing them twice makes two."""
    repeated: Literal["first", "last"] = "first"
    """Which value counts where rows of the file are about the same record: the first one that is filled, or the last."""
    join_statuses: bool = True
    """Whether statuses that differ only in case, underscores or spaces are one."""
    opt_outs: list[str] | None = None
    """Columns that say who opted out; None: the ones whose names say so, and the status."""


def spread(mapping: Mapping, header: Sequence[str]) -> Mapping:
    """Return the mapping with a target for each column of the file, and without other columns."""
    return msgspec.structs.replace(mapping, columns=dict(zip(header, targets_of(mapping, header), strict=True)))


def targets_of(mapping: Mapping, header: Sequence[str]) -> list[str]:
    """Return the target of each column, blank for an ignored one."""
    return [mapping.columns.get(name, f"{CUSTOM}{name}" if mapping.others == "custom" else "").strip() for name in header]


def resolve(mapping: Mapping, header: Sequence[str]) -> list[str]:
    """Return the target of each column, blank for an ignored one; raise `Invalid` with all faults of the mapping."""
    faults: list[Fault] = []
    present = set(header)
    for name, target in mapping.columns.items():
        if target and name not in present:
            if len(faults) >= MOST_FAULTS:
                faults.append(COUNTED)
                continue
            faults.append(Fault(_pointer(name), "unknown_column", _no_column(name, header, len(faults))))
    for name in mapping.opt_outs or ():
        if name not in present:
            counted = len(faults) >= MOST_FAULTS
            faults.append(COUNTED if counted else Fault("/opt_outs", "unknown_column", _no_column(name, header, len(faults))))
    targets = targets_of(mapping, header)
    for name, target in zip(header, targets, strict=True):
        if (wrong := _target_fault(target, mapping.record, hints=len(faults) < MOST_FAULTS)) is not None:
            faults.append(Fault(_pointer(name), "unknown_field", f"the column {name[:100]!r} cannot become {wrong}"))
    faults += _repeated(header, targets) + _contradictions(header, targets) + _missing(mapping, targets)
    zone_fault = _zone_fault(mapping.time_zone)
    if zone_fault is not None:
        faults.append(Fault("/time_zone", "time_zone", zone_fault))
    if faults:
        raise Invalid(faults)
    return targets


def _no_column(name: str, header: Sequence[str], faults: int) -> str:
    near = suggest(name, header) if faults * len(header) < COMPARED_NAMES else None
    return f"the file has no column {name[:100]!r}" + (f"; it has {near[:100]!r}" if near else "")


def _target_fault(target: str, record: str, *, hints: bool = True) -> str | None:
    targets = CONTACT_TARGETS if record == "contact" else COMPANY_TARGETS
    if not target or target in targets:
        return None
    bare = target.removeprefix(COMPANY) if record == "contact" else target
    if bare.startswith(CUSTOM):
        name = bare.removeprefix(CUSTOM).strip()
        if not name:
            return f"{target!r}: the name of a custom field must not be blank"
        if len(name) > field_limits.NAME:
            return f"this custom field: its name must have at most {field_limits.NAME} characters, and has {len(name)}"
        return None
    near = suggest(target[: 2 * LONGEST_COMPARED].lower(), targets, 0.5) if hints else None
    return (
        f"{target[:100]!r}, which is no field of a {record}"
        + (f"; did you mean {near!r}?" if near else ".")
        + f" A custom field is {CUSTOM + target[:100]!r}"
    )


def _repeated(header: Sequence[str], targets: Sequence[str]) -> list[Fault]:
    columns: dict[str, list[str]] = {}
    for name, target in zip(header, targets, strict=True):
        if target:
            columns.setdefault(_plain(target), []).append(name)
    return [
        Fault(_pointer(name), "repeated", f"the columns {_listed(names)} become one field, {target[:100]!r}; leave all but one out")
        for target, names in columns.items()
        if len(names) > 1
        for name in names
    ]


def _listed(names: Sequence[str]) -> str:
    """Return the first of these names, cut, and how many others there are: each of a thousand columns may have the same target."""
    more = f" and {len(names) - MOST_LISTED} others" if len(names) > MOST_LISTED else ""
    return " and ".join(repr(name[:100]) for name in names[:MOST_LISTED]) + more


def _plain(target: str) -> str:
    """Return the target without white space around the name of a custom field, which the field does not have either."""
    prefix, mark, name = target.partition(CUSTOM)
    return f"{prefix}{mark}{name.strip()}"


def _contradictions(header: Sequence[str], targets: Sequence[str]) -> list[Fault]:
    chosen, faults = set(targets), []
    if FULL_NAME in chosen and {"first_name", "last_name"} & chosen:
        name = header[targets.index(FULL_NAME)]
        detail = f"the column {name[:100]!r} becomes first_name and last_name, which have columns of their own; leave one of them out"
        faults.append(Fault(_pointer(name), "contradiction", detail))
    if "company_id" in chosen and (named := {f"{COMPANY}domain", f"{COMPANY}name"} & chosen):
        name, column = header[targets.index("company_id")], header[targets.index(min(named))]
        detail = f"the columns {name[:100]!r} and {column[:100]!r} both choose the company; leave one of them out"
        faults.append(Fault(_pointer(name), "contradiction", detail))
    return faults


def _missing(mapping: Mapping, targets: Sequence[str]) -> list[Fault]:
    faults = []
    of_company = [target for target in targets if target.startswith(COMPANY)]
    if of_company and not {f"{COMPANY}domain", f"{COMPANY}name"} & set(of_company):
        detail = f"{of_company[0]!r} needs a column that becomes 'company.domain' or 'company.name', which identify a company"
        faults.append(Fault("/columns", "required", detail))
    for prefix in (CUSTOM, f"{COMPANY}{CUSTOM}"):
        number = sum(1 for target in targets if target.startswith(prefix))
        if number > field_limits.CUSTOM_FIELDS:
            detail = f"{number} columns are custom fields; a record may have {field_limits.CUSTOM_FIELDS}, so ignore some"
            faults.append(Fault("/columns", "too_many", detail))
    keys = _KEYS[mapping.record]
    if not set(keys) & set(targets) and not (mapping.record == "contact" and mapping.without_key):
        detail = f"no column becomes {' or '.join(map(repr, keys))}, which identifies a {mapping.record}; choose one"
        faults.append(Fault("/columns", "required", detail))
    return faults


def _zone_fault(name: str) -> str | None:
    try:
        ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        return f"{name[:100]!r} is not an IANA time zone; send a name such as Europe/Berlin or UTC"
    return None


def _pointer(name: str) -> str:
    return f"/columns/{name[: field_limits.NAME].replace('~', '~0').replace('/', '~1')}"
