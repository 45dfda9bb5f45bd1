"""Bodies of requests about one type of record: decoded, with unknown members found and companies named by their domain looked up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from touchbase.clients.models import Client
from touchbase.common import normalize
from touchbase.common.slices import in_slices
from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound
from touchbase.http.headers import HANDLING, STRICT, applied
from touchbase.http.request_body import Rules
from touchbase.records.api.members import MemberCheck, Members, ignored_header
from touchbase.records.api.resource_type import ResourceType
from touchbase.records.api.schemas import OTHER_NAMES, CompanyRequest, ContactRequest, CustomFieldInput, CustomFieldOut, given
from touchbase.records.create import creation_of
from touchbase.records.models import Company, Contact
from touchbase.records.sql import lookup as sql_lookup
from touchbase.records.update import RecordChange, update_of
from touchbase.sql.store import Store

A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)
Body = TypeVar("Body", bound=msgspec.Struct)

COMPANY = "company_id"
STRICTLY = applied(f"{HANDLING}={STRICT}")


@dataclass(slots=True)
class Read(Generic[Body]):
    """A decoded body, and the names of its ignored members."""

    asked: Body
    ignored: tuple[str, ...] = ()
    strict: bool = False

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The response headers that say how the body was read."""
        return STRICTLY if self.strict else ignored_header(self.ignored)


class RecordBodies(Generic[A, C, R]):
    """Reads the bodies of one type of record."""

    def __init__(self, kind: ResourceType[A, C, R]) -> None:
        self._kind: ResourceType[A, C, R] = kind
        self._create_decoder: msgspec.json.Decoder[A] = msgspec.json.Decoder(kind.request)
        self._change_decoder: msgspec.json.Decoder[C] = msgspec.json.Decoder(kind.change)
        self.members = MemberCheck(_members(kind))

    def creation(self, body: bytes, client: Client, at: Micros, *, strict: bool = False, thorough: bool = True) -> Read[A]:
        """Decode the body of a creation; raise `Invalid` with every fault if a type or a name is wrong."""
        kind = self._kind
        rules = lambda partly: creation_of(kind.type, partly, client, at)  # noqa: E731
        return Read(*self.members.read(body, self._create_decoder, kind.request, rules, strict=strict, thorough=thorough), strict)

    def change(
        self, body: bytes, client: Client, at: Micros, *, strict: bool = False, rules: Rules[C] | None = None, thorough: bool = True
    ) -> Read[C]:
        """Decode the body of a change, as `creation`; `rules` are those of an update if they are not given."""
        kind = self._kind
        usual = lambda partly: update_of(kind.type, client, 0, self.change_of(partly), at)  # noqa: E731
        read = self.members.read(body, self._change_decoder, kind.change, rules or usual, strict=strict, thorough=thorough)
        return Read(*read, strict)

    def change_of(self, asked: Any, if_updated_us: Micros | None = None) -> RecordChange:
        """Return the change that a body asks for."""
        fields = given(asked)
        custom = fields.pop(self._kind.type.custom_fields, ())
        return RecordChange(fields, custom, if_updated_us, asked.custom_pointer, asked.body_faults)


def _members(kind: ResourceType[Any, Any, Any]) -> Members:
    writable = frozenset(kind.request.__struct_fields__)
    name = kind.type.custom_fields
    custom = frozenset(CustomFieldInput.__struct_fields__) | frozenset(CustomFieldOut.__struct_fields__)
    read_only = frozenset(kind.response.__struct_fields__) - writable
    return Members(kind.type.name, writable, read_only, name, {name: custom, OTHER_NAMES[name]: custom})


async def find_companies(store: Store, client: int, bodies: Iterable[msgspec.Struct]) -> Mapping[str, int]:
    """Return the ids of the companies that these bodies name by a domain, by the text of the body; unknown ones are left out."""
    texts = {text for body in bodies if isinstance(text := getattr(body, COMPANY, None), str) and text.strip()}
    domains = {text: normalize.company_domain(text) async for text in in_slices(texts)}
    found = await store.read(sql_lookup.find_companies(client, sorted({*domains.values()}))) if domains else {}
    return {text: found[domain] for text, domain in domains.items() if domain in found}


def company_of(body: msgspec.Struct, found: Mapping[str, int]) -> int | None:
    """Return the id of the company that a body names by a domain; None for a blank one. Raises `NotFound` for an unknown one."""
    text = str(getattr(body, COMPANY))
    if not text.strip():
        return None
    if text not in found:
        raise NotFound(f"there is no company with the domain {normalize.company_domain(text)}; create it first, or leave company_id out")
    return found[text]


def names_company(body: msgspec.Struct) -> bool:
    """Return whether a body names a company by a domain."""
    return isinstance(getattr(body, COMPANY, None), str)
