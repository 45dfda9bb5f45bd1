"""Query parameters of the routes for contacts and companies.

A new filter of a list: a definition here, and its `member` in the list's query in `records/commands.py`, which is the
column that has to be equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from touchbase.clients.models import ON_DUPLICATE
from touchbase.common import normalize
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros
from touchbase.http import query_parameters as query
from touchbase.http.headers import described
from touchbase.http.query_parameters import DRY_RUN, Parameter, Parameters
from touchbase.http.schemas import named_enum
from touchbase.records import validation
from touchbase.records.record_type import RECORD_TYPES

STRUCTURES = ("NESTED", "FLAT")
named_enum("Structure", "The format of custom fields: a list of objects, or one object by field name.", STRUCTURES)
named_enum("OnDuplicate", "What creating a record does if it exists: refuse, return it, or merge into it.", ON_DUPLICATE)

MATCHES = {record_kind.name: tuple(field.name for field in record_kind.keys) for record_kind in RECORD_TYPES.values()}
"""The members of bodies that identify a record, by type of record; the first is the default."""
named_enum("ContactMatchBy", "The member that identifies a contact.", MATCHES["contact"])
named_enum("CompanyMatchBy", "The member that identifies a company.", MATCHES["company"])

FLAT: Parameter[bool] = Parameter(
    "structure",
    lambda query, name: query.choice(name, STRUCTURES) == "FLAT",
    {"enum": list(STRUCTURES), "default": "NESTED"},
    "The format of custom fields in the response.",
)
ON_DUPLICATE_PARAMETER = query.choice(
    "on_duplicate", ON_DUPLICATE, "If the record exists: 409, return it, or merge into it. Default: the client's setting."
)
RESTORE_ERASED = query.flag("restore_erased", "Create a person who was erased; without it that is a 409 `person_erased`.")
CREATE: dict[str, tuple[Parameter[Any], ...]] = {
    "contact": (FLAT, ON_DUPLICATE_PARAMETER, RESTORE_ERASED, DRY_RUN),
    "company": (FLAT, ON_DUPLICATE_PARAMETER, DRY_RUN),
}
"""The parameters of a creation, by type of record."""
PREFER = described("`handling=strict`: unknown members of the body are faults, read-only ones aside.")
IGNORED_HEADERS = ("Touchbase-Ignored", "Preference-Applied")


def _email(parameters: Parameters, name: str) -> str | None:
    value = parameters.text(name)
    # A plus sign that was not escaped arrives as a space, which no address contains.
    return validation.email(value and value.replace(" ", "+"), f"?{name}", parameters.faults)


def _linkedin(parameters: Parameters, name: str) -> str | None:
    value = parameters.text(name)
    return None if value is None else normalize.linkedin_search_key(value)


def _domain(parameters: Parameters, name: str) -> str | None:
    value = parameters.text(name)
    return None if value is None else validation.domain(value, f"?{name}", parameters.faults)


AS_OF = query.time("as_of", "The values that the record had at this time, as known now. Without it: the present ones.")
FIELD = query.text(
    "field", "Only this field: a member of the response such as `contact_status`, or a custom field as `cf.NAME`. Default: all."
)
_TEXT = {"type": "string", "minLength": 1}
_NORMAL_FORM = "Compared in its normal form."
UPDATED_SINCE = query.time(
    "updated_since",
    "Sorts the list by time of change. To follow changes, start one minute before the latest change seen.",
    member="updated_since_us",
)
EXTERNAL_ID = query.text("external_id", "Your own id of the record, in exactly this form.", member="external_id")
CONTACT_FILTERS: tuple[Parameter[Any], ...] = (
    Parameter("email", _email, {"type": "string", "format": "email"}, _NORMAL_FORM, member="email_key"),
    Parameter("linkedin_url", _linkedin, _TEXT, _NORMAL_FORM, member="linkedin_key"),
    query.text("contact_status", "Contacts with this status.", member="status"),
    query.integer("company_id", 1, LARGEST_ID, "Contacts of this company.", member="company_id"),
    EXTERNAL_ID,
    UPDATED_SINCE,
)
COMPANY_FILTERS: tuple[Parameter[Any], ...] = (
    Parameter("domain", _domain, _TEXT, _NORMAL_FORM, member="domain"),
    query.text("company_status", "Companies with this status.", member="status"),
    EXTERNAL_ID,
    UPDATED_SINCE,
)


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """The format of the response, and the handling of an existing record."""

    flat: bool = False
    on_duplicate: str | None = None
    restore_erased: bool = False
    dry_run: bool = False


@lru_cache(maxsize=256)
def create_options(raw: bytes) -> RecordOptions:
    """Parse the parameters of a request that creates a record; others are ignored."""
    parameters = Parameters(raw, (RESTORE_ERASED, FLAT, ON_DUPLICATE_PARAMETER, DRY_RUN))
    parameters.done(strict=False)
    return RecordOptions(parameters[FLAT], parameters[ON_DUPLICATE_PARAMETER], parameters[RESTORE_ERASED], parameters[DRY_RUN])


@lru_cache(maxsize=256)
def get_options(raw: bytes) -> tuple[bool, Micros | None]:
    """Return whether the response has custom fields in the format FLAT, and the time of `as_of`; other parameters are ignored."""
    parameters = Parameters(raw, (FLAT, AS_OF))
    parameters.done(strict=False)
    return parameters[FLAT], parameters[AS_OF]


@lru_cache(maxsize=256)
def change_options(raw: bytes) -> RecordOptions:
    """Parse the parameters of a request that changes a record; others are ignored."""
    parameters = Parameters(raw, (FLAT, DRY_RUN))
    parameters.done(strict=False)
    return RecordOptions(parameters[FLAT], dry_run=parameters[DRY_RUN])
