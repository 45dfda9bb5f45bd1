"""Fields that a search can filter and sort by, made from the record types.

Names are those of the JSON members. `cf.<name>` is a custom field, `company.<field>` a field of a contact's company.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from touchbase.clients.models import ClientSettings
from touchbase.common.field_limits import NAME
from touchbase.common.misspelt import LONGEST_COMPARED, suggest
from touchbase.do_not_contact.sql import conditions
from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.fields import ID, NUMBER, OWNER_ID, TEXT, TIME, UPDATED, Field
from touchbase.records.record_type import COMPANY_TYPE, RECORD_TYPES, RecordType
from touchbase.search import counted
from touchbase.search.counted import Counted

CUSTOM = "cf."
OF_COMPANY = "company."


class FieldKind(Enum):
    """How values of a field are compared."""

    TEXT = "text"
    """Without regard to the case of letters (`folded`)."""
    KEY = "key"
    """By the normal form, which the column has already."""
    NUMBER = "number"
    TIME = "time"
    """Microseconds."""
    CUSTOM = "custom"
    """Text of a custom field, in a separate row."""
    FLAG = "flag"
    """True or false, by a special condition (`Flag`)."""
    COUNTED = "counted"
    """The people of one number of a report."""


@dataclass(frozen=True, slots=True)
class Flag:
    """The condition on the record `t` by which a flag is true, for each engine; every `?` in it stands for the time of the search.

    It names the client: `EXISTS (SELECT 1 FROM x WHERE x.client = t.client AND ...)`.
    """

    sqlite: str
    postgres: str


@dataclass(frozen=True, slots=True)
class SearchField:
    """One field: how it is named, and where its value is."""

    name: str
    kind: FieldKind
    column: str
    """The column of the record's table; the custom field's name if it is one."""
    nullable: bool = True
    record_kind: int = CONTACT
    """The kind of the record that has the value."""
    through_company: bool = False
    """Whether the value is of the company of the contact that is searched."""
    flag: Flag | None = None
    counted: Counted | None = None
    """Whose people are searched for, in a condition."""
    declared: str = ""
    """The type that the client declared for a custom field; empty for none."""

    @property
    def is_custom(self) -> bool:
        """Return whether it is a custom field."""
        return self.kind is FieldKind.CUSTOM


_KINDS = {TEXT: FieldKind.TEXT, NUMBER: FieldKind.NUMBER, TIME: FieldKind.TIME}


def _own_fields(kind: RecordType[Any]) -> dict[str, SearchField]:
    created = SearchField("created_time", FieldKind.TIME, "created_us", nullable=False, record_kind=kind.kind)
    own = [_own_field(kind.kind, field) for field in kind.members if field.kind in _KINDS]
    return {field.name: field for field in (own[0], created, *own[1:])}


def _own_field(kind: int, field: Field) -> SearchField:
    is_set = field in (ID, UPDATED) or field.required
    is_key = bool(field.key) or field is OWNER_ID  # ids are compared as they are
    compared, column = (FieldKind.KEY, field.key or field.column) if is_key else (_KINDS[field.kind], field.column)
    return SearchField(field.name, compared, column, nullable=not is_set, record_kind=kind)


OWN_FIELDS: Mapping[int, Mapping[str, SearchField]] = {number: _own_fields(kind) for number, kind in RECORD_TYPES.items()}
"""By kind of record, the fields of the record itself."""

FLAGS: dict[int, dict[str, SearchField]] = {CONTACT: {}, COMPANY: {}}
"""By kind of record, fields that other capabilities add: whether a contact is suppressed, say."""
INDEXED_TIMES = {
    CONTACT: frozenset({"created_us", "updated_us", "last_sent_us", "last_reply_us"}),
    COMPANY: frozenset({"created_us", "updated_us"}),
}
"""By kind of record, the columns of times with an index."""

SEARCH_KEYS: Mapping[str, Callable[[str], str]] = {
    field.name: field.search_key for kind in RECORD_TYPES.values() for field in kind.members if field.search_key is not None
}
"""By field, the function that returns the normal form to look for; it raises `InvalidText` for text that has none."""


def add_flag(kind: int, name: str, flag: Flag) -> None:
    """Add a field that is true or false to the searches of one kind of record."""
    FLAGS[kind][name] = SearchField(name, FieldKind.FLAG, name, nullable=False, record_kind=kind, flag=flag)


add_flag(CONTACT, "suppressed", Flag(conditions.CONTACT_SUPPRESSED_SQLITE, conditions.CONTACT_SUPPRESSED_POSTGRES))
add_flag(COMPANY, "suppressed", Flag(conditions.COMPANY_SUPPRESSED_SQLITE, conditions.COMPANY_SUPPRESSED_POSTGRES))
FLAGS[CONTACT][counted.NAME] = SearchField(counted.NAME, FieldKind.COUNTED, counted.NAME, nullable=False)


class SearchFields:
    """The fields of one kind of record, for one client."""

    def __init__(self, kind: RecordType[Any], settings: ClientSettings) -> None:
        self.kind = kind.kind
        self._settings = settings

    def find(self, name: str) -> SearchField | None:
        """Return the field of this name; None if there is none."""
        if self.kind == CONTACT and name.startswith(OF_COMPANY):
            field = SearchFields(COMPANY_TYPE, self._settings).find(name.removeprefix(OF_COMPANY))
            return field and replace(field, name=name, through_company=True, nullable=True)
        if name.startswith(CUSTOM):
            return self._custom(name)
        return OWN_FIELDS[self.kind].get(name) or FLAGS[self.kind].get(name)

    def nearest(self, name: str, also: Collection[str] = ()) -> str | None:
        """Return the known name that is most like this one."""
        names = [*OWN_FIELDS[self.kind], *FLAGS[self.kind], *also]
        names += [f"{CUSTOM}{field_kind}" for field_kind in RECORD_TYPES[self.kind].field_types(self._settings)]
        if self.kind == CONTACT:
            names += [f"{OF_COMPANY}{own_field}" for own_field in OWN_FIELDS[COMPANY]]
        by_folded = {_letters(candidate): candidate for candidate in reversed(names)}
        near = suggest(_letters(name[: 2 * LONGEST_COMPARED]), by_folded, cutoff=0.5)
        return near and by_folded[near]

    def _custom(self, name: str) -> SearchField | None:
        custom = name.removeprefix(CUSTOM)
        if not custom.strip() or len(custom) > NAME:
            return None
        kind = RECORD_TYPES[self.kind]
        custom = kind.field_names(self._settings).get(custom, custom)
        declared = kind.field_types(self._settings).get(custom)
        return SearchField(name, FieldKind.CUSTOM, custom, record_kind=self.kind, declared=declared.type if declared else "")


def folded(text: str) -> str:
    """Return the text with the ASCII letters in lower case: both engines can do the same in a statement."""
    return text.lower() if text.isascii() else "".join(char.lower() if char.isascii() else char for char in text)


def spellings(text: str) -> tuple[str, ...]:
    """Return the folded forms under which a text is looked for: as given, in lower and upper case, and capitalised.

    The engines fold ASCII letters only, so other letters match in these usual spellings.
    """
    if text.isascii():
        return (text.lower(),)
    return tuple(dict.fromkeys(folded(spelling) for spelling in (text, text.lower(), text.upper(), text.title(), text.capitalize())))


def status_spellings(status: str, used: Iterable[str]) -> list[str]:
    """Return which statuses in use are this one: letters' case does not count, in every list, search and export."""
    wanted = set(spellings(status))
    return [status for status in used if spellings(status)[0] in wanted]


def _letters(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum() or char == ".")
