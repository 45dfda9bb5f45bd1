"""Bodies of requests about one type of record: decoded, with unknown members found and companies named by their domain looked up.

Members of a body that its record does not have: typing errors are faults, others are ignored and named in a header.

A typing error is a name that differs from a known one in case or separators (`Email`, `firstName`), by one letter
(`contact_custom_field`), or by its first or last word (`status`, `linkedin`, `contact_email`). Read-only members are
ignored without a word, so that a response can be sent back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import UNSET
from msgspec.structs import astuple

from touchbase.auth.users import list_users
from touchbase.clients.models import Client
from touchbase.common import normalize
from touchbase.common.misspelt import LONGEST_COMPARED, nearest, squashed
from touchbase.common.slices import in_slices
from touchbase.common.timestamps import Micros
from touchbase.errors import COUNTED, Fault, Invalid, NotFound
from touchbase.history.events import CONTACT
from touchbase.http.body_errors import escaped
from touchbase.http.headers import HANDLING, STRICT, applied
from touchbase.http.request_body import NUL, Rules, read_struct
from touchbase.records.api.resource_type import ResourceType
from touchbase.records.api.schemas import SECOND_NAMES, CompanyRequest, ContactRequest, CustomFieldInput, CustomFieldOut, sent_fields
from touchbase.records.create import creation_of
from touchbase.records.fields import OWNER_ID
from touchbase.records.models import Company, Contact
from touchbase.records.sql import lookup as sql_lookup
from touchbase.records.update import RecordChange, update_of
from touchbase.records.writes import Creation, RecordUpdate, RecordUpsert
from touchbase.sql.store import Store

S = TypeVar("S", bound=msgspec.Struct)

IGNORED = b"touchbase-ignored"
"""The response header that names ignored members."""
MOST_EXAMINED = 50
"""Unknown members of one body that are compared with the known ones; more are ignored."""
MOST_NAMED = 20
"""Ignored members that the header names."""
LONGEST_NAMED = 100
"""Characters of a name in the header."""
_SUFFIXES = ("_url", "_input")
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


@dataclass(frozen=True, slots=True)
class Members:
    """The members that a body may have."""

    record: str
    """The record's name: the first word of some members."""
    writable: frozenset[str]
    read_only: frozenset[str]
    custom_fields: str
    """The first of the two names of the custom fields."""
    lists: Mapping[str, frozenset[str]]
    """Members that are lists of objects -> the members of these, read-only ones included; only `handling=strict` looks at them."""

    @property
    def names(self) -> frozenset[str]:
        """All members."""
        return self.writable | self.read_only


@dataclass(frozen=True, slots=True)
class Unknown:
    """The unknown members of one body."""

    ignored: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()


NONE = Unknown()


class MemberCheck:
    """Finds unknown members in the bodies of one type of record."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._names = members.names
        self._near = lru_cache(maxsize=2048)(self._search)
        ordered = sorted(members.writable, key=lambda name: (name == members.custom_fields, name))  # of equal forms the last counts
        self._forms = {squashed(form): name for name in ordered for form in _forms(name, members.record)}
        self._forms |= {squashed(name): name for name in members.writable}
        self._silent = {squashed(name) for name in members.read_only}

    def unknown(self, body: bytes | msgspec.Raw, *, strict: bool = False, thorough: bool = True) -> Unknown:
        """Return the unknown members of a body; none if it is not an object, which decoding reports.

        If all unknown members are faults, only the first one is one unless the body is read `thorough`ly.
        """
        try:
            members = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return NONE
        if not strict and members.keys() <= self._names:
            return NONE
        names = [name for name in members if name not in self._names]
        examined = names[: MOST_EXAMINED if thorough or not strict else 1]
        # A longer name is none misspelt, and would stay in the cache.
        right = {name: near for name in examined if len(name) <= LONGEST_COMPARED and (near := self._near(name)) is not None}
        faults = [Fault(f"/{escaped(name)}", "unknown", self._detail(name, right.get(name))) for name in (examined if strict else right)]
        if strict and (thorough or not faults):
            faults += self._in_lists(members)
        return Unknown(tuple(name for name in names if name not in right), tuple(faults))

    def read(
        self, body: bytes, decoder: msgspec.json.Decoder[S], wanted: type[S], rules: Rules[S], *, strict: bool = False,
        thorough: bool = True,
    ) -> tuple[S, tuple[str, ...]]:  # fmt: skip
        """Decode a body as `read_struct` does, and return the names of its ignored members; typing errors are faults too."""
        if not strict and NUL not in body:
            # Most bodies are right and have known members only: they are decoded once.
            try:
                return _without_unknown(wanted).decode(body), ()
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # decoded again for its faults
        unknown = self.unknown(body, strict=strict, thorough=thorough)
        if not unknown.faults:
            return read_struct(body, decoder, wanted, rules, thorough=thorough), unknown.ignored
        faults: list[Fault] = []
        try:
            rules(read_struct(body, decoder, wanted, rules, thorough=thorough))
        except Invalid as invalid:
            faults += [*invalid.faults, *[COUNTED] * invalid.more]
        raise Invalid([*faults, *unknown.faults])

    def _detail(self, name: str, near: str | None) -> str:
        if near is not None:
            return f"is no member of a {self._members.record}; the member is called {near}"
        return f"is no member of a {self._members.record}; handling=strict allows {', '.join(sorted(self._members.writable))}"

    def _search(self, name: str) -> str | None:
        name_squashed = squashed(name)
        if name_squashed in self._silent:
            return None  # it would be ignored under its right name too
        return nearest(name_squashed, self._forms)

    def _in_lists(self, members: Mapping[str, msgspec.Raw]) -> Iterable[Fault]:
        for member, names in self._members.lists.items():
            if member not in members:
                continue
            try:
                items = _decode_list(members[member])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            detail = f"is no member of a custom field; handling=strict allows {', '.join(sorted(names))}"
            odd = ((index, name) for index, item in enumerate(items) for name in item if name not in names)
            for index, name in islice(odd, MOST_EXAMINED):
                yield Fault(f"/{member}/{index}/{escaped(name)}", "unknown", detail)


@cache
def _without_unknown(wanted: type[S]) -> msgspec.json.Decoder[S]:
    """Return a decoder that refuses members which the type does not have."""
    return msgspec.json.Decoder(msgspec.defstruct(wanted.__name__, (), bases=(wanted,), forbid_unknown_fields=True))


def ignored_header(names: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """Return the response header that names ignored members; none without any."""
    shown = [quote(name[:LONGEST_NAMED], safe="!#$&'*+^`|~ ", errors="replace") for name in islice(names, MOST_NAMED)]
    return [(IGNORED, ", ".join(shown).encode("ascii"))] if shown else []


def _forms(name: str, record: str) -> Iterable[str]:
    """Yield other names that callers use for a member: without the record's name or a suffix, or with the record's name in front."""
    prefix = f"{record}_"
    short = [name] + [name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)]
    for form in short:
        yield form
        yield form.removeprefix(prefix) if form.startswith(prefix) else prefix + form


A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)
Body = TypeVar("Body", bound=msgspec.Struct)

COMPANY = "company_id"
MOST_USERS = 10_000
"""Users among whom owners are looked up."""
NO_PERSON = (
    "names no person: send at least one of email, linkedin_url, first_name, last_name and external_id as members of the body, such as "
    '{"email": "jane@example.com"}; members inside of others, such as HubSpot\'s `properties`, are not read'
)
STRICTLY = applied(f"{HANDLING}={STRICT}")


@dataclass(slots=True)
class Read(Generic[Body]):
    """A decoded body, and the names of its ignored members."""

    request: Body
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
        read = Read(*self.members.read(body, self._create_decoder, kind.request, rules, strict=strict, thorough=thorough), strict)
        if kind.type.kind == CONTACT and not any(map(_has_value, astuple(read.request))):
            raise Invalid([Fault("", "required", NO_PERSON)])
        return read

    def change(
        self, body: bytes, client: Client, at: Micros, *, strict: bool = False, rules: Rules[C] | None = None, thorough: bool = True
    ) -> Read[C]:
        """Decode the body of a change, as `creation`; `rules`: by default the rules of an update."""
        kind = self._kind
        usual = lambda partly: update_of(kind.type, client, 0, self.change_of(partly), at)  # noqa: E731
        read = self.members.read(body, self._change_decoder, kind.change, rules or usual, strict=strict, thorough=thorough)
        return Read(*read, strict)

    def change_of(self, body: Any, if_updated_us: Micros | None = None) -> RecordChange:
        """Return the change that a body asks for."""
        fields = sent_fields(body)
        custom = fields.pop(self._kind.type.custom_fields, ())
        return RecordChange(fields, custom, if_updated_us, body.custom_pointer, body.body_faults)


def _has_value(value: object) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None and value is not UNSET and value != []


def _members(kind: ResourceType[Any, Any, Any]) -> Members:
    writable = frozenset(kind.request.__struct_fields__)
    name = kind.type.custom_fields
    custom = frozenset(CustomFieldInput.__struct_fields__) | frozenset(CustomFieldOut.__struct_fields__)
    read_only = frozenset(kind.response.__struct_fields__) - writable
    return Members(kind.type.name, writable, read_only, name, {name: custom, SECOND_NAMES[name]: custom})


@dataclass(frozen=True, slots=True)
class References:
    """What bodies name by something else than an id, by the text of the body; what is unknown is left out."""

    companies: Mapping[str, int]
    """Ids of companies by domains."""
    owners: Mapping[str, str]
    """Ids of users by their ids and e-mail addresses."""

    def set_in(self, write: Creation[Any] | RecordUpdate[Any] | RecordUpsert[Any], body: msgspec.Struct) -> None:
        """Put the ids in place of what the body names. Raises `NotFound` for an unknown company, `Invalid` for an unknown owner."""
        values: dict[str, int | str | None] = {}
        if isinstance(getattr(body, COMPANY, None), str):
            values[COMPANY] = self._company(str(getattr(body, COMPANY)))
        if (owner := _owner_of(body)) is not None:
            if owner not in self.owners:
                raise Invalid([Fault(f"/{OWNER_ID.name}", "user", f"there is no user {owner[:60]!r} who may see the client; {OF_USERS}")])
            values[OWNER_ID.name] = self.owners[owner]
        for part in (write.create, write.update) if isinstance(write, RecordUpsert) else (write,):
            if isinstance(part, RecordUpdate):
                part.changes |= values
            else:
                for name, value in values.items():
                    setattr(part.record, name, value)

    def _company(self, text: str) -> int | None:
        if not text.strip():
            return None
        if text not in self.companies:
            domain = normalize.company_domain(text)
            raise NotFound(f"there is no company with the domain {domain}; create it first, or leave company_id out")
        return self.companies[text]


OF_USERS = "GET /team/v1/users lists all, by id and e-mail address"


def names_reference(body: msgspec.Struct) -> bool:
    """Return whether a body names a company by a domain, or an owner."""
    return isinstance(getattr(body, COMPANY, None), str) or _owner_of(body) is not None


def _owner_of(body: msgspec.Struct) -> str | None:
    owner = getattr(body, OWNER_ID.name, None)
    return owner.strip() or None if isinstance(owner, str) else None


async def find_references(store: Store, client: int, bodies: Sequence[msgspec.Struct]) -> References:
    """Return the ids of the companies and owners that these bodies name."""
    owners = {owner for body in bodies if (owner := _owner_of(body)) is not None}
    return References(await _companies(store, client, bodies), await find_owners(store, client, owners) if owners else {})


async def find_owners(store: Store, client: int, names: Collection[str] | None = None) -> dict[str, str]:
    """Return the ids of users who may see a client, suspended ones too, by ids and e-mail addresses: of these, or of all in lower case."""
    users = await store.read(list_users(MOST_USERS, sharing=[client]))
    ids = {name: user.id for user in users for name in (user.id, user.email.lower())}
    return ids if names is None else {name: ids[name.lower()] for name in names if name.lower() in ids}


async def put_references(
    store: Store, client: int, write: Creation[Any] | RecordUpdate[Any] | RecordUpsert[Any], body: msgspec.Struct
) -> None:
    """Put ids in place of the company and owner that a body names. Raises as `References.set_in`."""
    if names_reference(body):
        (await find_references(store, client, [body])).set_in(write, body)


async def _companies(store: Store, client: int, bodies: Iterable[msgspec.Struct]) -> Mapping[str, int]:
    texts = {text for body in bodies if isinstance(text := getattr(body, COMPANY, None), str) and text.strip()}
    domains = {text: normalize.company_domain(text) async for text in in_slices(texts)}
    numbers = await store.read(sql_lookup.find_companies(client, sorted({*domains.values()}))) if domains else {}
    return {text: numbers[domain] for text, domain in domains.items() if domain in numbers}
