"""Query parameters of the calls of the RevyOps API, and the searches that they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchbase.clients.models import Client
from touchbase.common.field_limits import NAME
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid
from touchbase.http import query_parameters as query
from touchbase.http.query_parameters import Parameter, Parameters
from touchbase.records.api.resource_type import ResourceType
from touchbase.revyops.numbered_pages import LONGEST_PAGE
from touchbase.search.api.all_clients import ORDER
from touchbase.search.api.parameters import filters_of
from touchbase.search.queries import RecordSearch
from touchbase.search.service import SearchRequest, prepare

LAST_PAGE = 10_000_000
PAGE_NUMBER = query.integer_or("page", 1, LAST_PAGE, "The number of the page, from 1.", is_old=True)
PAGE_SIZE = query.integer_or("page_size", LONGEST_PAGE, LONGEST_PAGE, "Records in a page.", is_old=True)
NUMBERED: tuple[Parameter[Any], ...] = (PAGE_NUMBER, PAGE_SIZE)
"""Either of them makes the response of our own lists a numbered page."""
FIELD_NAME = query.text("field_name", "The name of the custom field.", required=True)
FIELD_VALUE = query.text("field_value", "Its value, without regard to the case of letters.", required=True)
LOOKUP: tuple[Parameter[Any], ...] = (FIELD_NAME, FIELD_VALUE)
NAMED_FILTERS: dict[str, tuple[Parameter[Any], ...]] = {
    "contact": (
        query.text("email", "The e-mail address, in its normal form."),
        query.text("firstname", "The first name, without regard to the case of letters."),
        query.text("lastname", "The last name, without regard to the case of letters."),
        query.text("linkedin_url", "The LinkedIn address, in its normal form."),
        query.text("domain", "The domain of the contact's company; contacts without a company are left out."),
    ),
    "company": (
        query.text("domain", "The domain, in its normal form."),
        query.text("name", "The name, without regard to the case of letters."),
        query.text("industry", "The custom field `industry` or `Industry`, without regard to the case of letters."),
    ),
}
"""Filters of the RevyOps API, by type of record. Lists take the filters of searches too."""
_SEARCHED_AS: dict[str, dict[str, str]] = {
    "contact": {"firstname": "first_name", "lastname": "last_name", "domain": "company.domain"},
    "company": {},
}
"""By type of record, filters with other names than in searches."""
_CUSTOM_FIELDS: dict[str, dict[str, tuple[str, ...]]] = {"contact": {}, "company": {"industry": ("industry", "Industry")}}
"""By type of record, filters that are custom fields; any of these names counts."""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Filter of a call: makes the search among the records of each client."""

    kind: ResourceType[Any, Any, Any]
    parameters: Sequence[tuple[str, str]]
    custom_fields: Sequence[tuple[str, tuple[str, ...], str]] = ()
    """Parameter, names and value of custom fields."""
    faults: Sequence[Fault] = ()
    also: Sequence[str] = ()
    """Names of the other parameters of the call."""
    _pointers: Mapping[str, str] = field(default_factory=dict)

    def search(self, client: Client, now: Micros) -> RecordSearch[Any]:
        """Return the search among one client's records, in the order of creation; raise `Invalid` with all faults."""
        # The operator ends the name: a name may have brackets itself.
        trees = [{"any": [{f"cf.{name}[eq]": value} for name in names]} for _, names, value in self.custom_fields]
        request = SearchRequest(self.parameters, {"all": trees} if trees else None, sort=ORDER, also=self.also)
        try:
            return prepare(self.kind.type, client, request, now, self.faults).search
        except Invalid as invalid:
            raise Invalid([self._as_sent(fault) for fault in invalid.faults], invalid.more) from None

    @property
    def key(self) -> tuple[object, ...]:
        """Return the filter's identity."""
        return (self.kind.type.name, tuple(self.parameters), tuple(self.custom_fields))

    def _as_sent(self, fault: Fault) -> Fault:
        """Return a fault with the name of the parameter as it was sent."""
        if fault.pointer.startswith("/where/all/"):
            pointer = f"?{self.custom_fields[int(fault.pointer.split('/')[3])][0]}"
        else:
            pointer = self._pointers.get(fault.pointer, fault.pointer)
        return Fault(pointer, fault.code, fault.detail)


def filter_of(kind: ResourceType[Any, Any, Any], query: Parameters, declared: Sequence[Parameter[Any]]) -> RecordFilter:
    """Return the filter of a list: its parameters that are not `declared`."""
    names, customs = _SEARCHED_AS[kind.type.name], _CUSTOM_FIELDS[kind.type.name]
    parameters: list[tuple[str, str]] = []
    custom_fields: list[tuple[str, tuple[str, ...], str]] = []
    for name, value in filters_of(query, declared):
        if name in customs:
            custom_fields.append((name, customs[name], value))
        else:
            parameters.append((names.get(name, name), value))
    also = [name.name for name in (*declared, *NAMED_FILTERS[kind.type.name])]
    pointers = {f"?{ours}": f"?{theirs}" for theirs, ours in names.items()}
    return RecordFilter(kind, parameters, custom_fields, query.faults, also, pointers)


def lookup_of(kind: ResourceType[Any, Any, Any], parameters: Parameters) -> RecordFilter:
    """Return the filter of a lookup by a custom field; a missing parameter and an unknown one are faults."""
    name, value = parameters[FIELD_NAME], parameters[FIELD_VALUE]
    faulty = {fault.pointer for fault in parameters.faults}
    missing = [f"?{name.name}" for name in LOOKUP if parameters[name] is None]
    parameters.faults += [Fault(pointer, "required", "must be given") for pointer in missing if pointer not in faulty]
    if name is not None and len(name) > NAME:
        parameters.faults.append(Fault("?field_name", "too_long", f"may have at most {NAME} characters"))
    parameters.done()
    return RecordFilter(kind, (), [(FIELD_VALUE.name, (str(name),), str(value))])
