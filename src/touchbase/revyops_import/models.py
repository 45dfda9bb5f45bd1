"""What an import reads, counts and stores in its journal."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

ListName = Literal["contacts", "companies", "emails"]
Stage = Literal["import", "compare"]
EMAILS: Final = "emails"
RECORD_LISTS: tuple[ListName, ...] = ("companies", "contacts")
"""Companies first: contacts name theirs by its id."""
LISTS: tuple[ListName, ...] = (*RECORD_LISTS, EMAILS)
RECORDS: dict[ListName, Literal["contact", "company"]] = {"contacts": "contact", "companies": "company"}
IMPORT: Final = "import"
COMPARE: Final = "compare"


class Counts(msgspec.Struct, omit_defaults=False):
    """Counts of one client's records of one list. In the first stage each record is in one of `created` to `deleted`."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    """Not imported: another record of theirs has the same address."""
    refused: int = 0
    erased: int = 0
    """Not imported: the person was erased here."""
    deleted: int = 0
    """E-mails that are not imported: their message was deleted here."""
    suppressed: int = 0
    """Imported, and on a do-not-contact list."""
    late_refused: int = 0
    """Refused or duplicates that only the comparison has read, less e-mails that were refused and that it has stored."""
    compared: int = 0
    missing: int = 0
    """There and, at the end, not here."""
    different: int = 0
    """Records with at least one difference."""

    def add(self, other: Counts) -> None:
        """Add the counts of another page."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def read(self) -> int:
        """The number of records that were read."""
        return self.created + self.updated + self.unchanged + self.duplicates + self.refused + self.erased + self.deleted


class Refused(msgspec.Struct, array_like=True):
    """A record that was not imported."""

    client: str
    """Their id of the client."""
    id: str
    """Their id of the record."""
    values: dict[str, str]
    reason: str


class Difference(msgspec.Struct, array_like=True):
    """A value that differs after the import; `field` is blank for a record that is not here."""

    client: str
    list: ListName
    id: str
    """Their id of the record."""
    ours: int | None
    """Our id of the record."""
    key: str
    """E-mail address, LinkedIn address or domain."""
    field: str
    theirs: str
    here: str


class Entry(msgspec.Struct, omit_defaults=True):
    """A finished page: a line of the journal."""

    stage: Stage
    name: ListName
    page: int
    is_last: bool
    """Whether the list ends with it."""
    pages: int = 0
    """Pages of the list; 0: not known."""
    count: int | None = None
    """Records of the list, as the page says."""
    is_cut: bool = False
    """Whether the list may go on, and the server does not give more of it."""
    repeated: int = 0
    """Records that an earlier page had."""
    left_out: int = 0
    """Records of clients that are not imported."""
    counts: dict[str, Counts] = {}
    """By their id of the client."""
    seen: list[list[Any]] = []
    """For each new record the number and the digests of its keys (`seen.py`)."""
    domains: dict[str, str] = {}
    """Domains of companies, by `company_key`."""
    refused: list[Refused] = []
    accepted: list[str] = []
    """Their ids of e-mails that the first reading refused, and that this page of the second one has stored."""
    differences: list[Difference] = []
    notices: dict[str, int] = {}
    """What was left out or read in an unusual way, with the number of times."""
