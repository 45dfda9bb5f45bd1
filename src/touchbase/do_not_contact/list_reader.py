"""Reader of do-not-contact lists in CSV files. Only the command line reads them, on the machine of its user; no server does."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from touchbase.common.field_limits import InvalidText, why_not_storable
from touchbase.common.formulas import restored
from touchbase.common.timestamps import Micros, from_text
from touchbase.do_not_contact.addresses import kind_of, normal_form
from touchbase.do_not_contact.models import DOMAIN, EMAIL, KINDS, LINKEDIN_URL, NOTE_LENGTH, REASONS, NewEntry

HEADERS = {
    **dict.fromkeys(("value", "address"), ""),
    **dict.fromkeys(("email", "e-mail", "email address", "email_address"), EMAIL),
    **dict.fromkeys(("domain", "website", "company domain", "company_domain"), DOMAIN),
    **dict.fromkeys(("linkedin_url", "linkedin", "linkedin url", "linkedin profile"), LINKEDIN_URL),
}
"""Headers of columns with addresses (case ignored), and the kind of their addresses; empty: recognised by the text."""
_DELIMITERS = ",;\t|"


def read_rows(lines: Iterable[str], defaults: NewEntry, now: Micros) -> Iterator[tuple[int, NewEntry | str]]:
    """Yield each line of a file with its entry, or with what to correct; empty rows and empty addresses are left out.

    The first row may name the columns: `COLUMNS` of an export, or one of `HEADERS`. Without names the first column has the addresses.
    `defaults` has the reason, source and note of rows without their own.
    """
    following = iter(lines)
    first = next(following, "").removeprefix("\ufeff")
    reader = csv.reader(chain([first], following), delimiter=_delimiter(first))
    names: list[str] | None = None
    try:
        for row in reader:
            if names is None:
                names = _header(row)
                if names is not None:
                    continue
                names = ["value"]
            cells = {name: cell.strip() for name, cell in zip(names, row, strict=False)}
            yield from ((reader.line_num, entry) for entry in _entries(cells, defaults, now))
    except csv.Error as error:
        yield (reader.line_num, f"cannot be read as CSV: {error}; the rows after it were not read")


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=lambda mark: (line.count(mark), -_DELIMITERS.index(mark)))


def _header(row: Sequence[str]) -> list[str] | None:
    names = [cell.strip().casefold() for cell in row]
    return names if any(name in HEADERS for name in names) else None


def _entries(cells: Mapping[str, str], defaults: NewEntry, now: Micros) -> Iterator[NewEntry | str]:
    for name, kind in HEADERS.items():
        if value := cells.get(name, ""):
            try:
                yield _entry(cells, kind or cells.get("kind", "") or kind_of(value), value, defaults, now)
            except InvalidText as refused:
                yield refused.detail


def _entry(cells: Mapping[str, str], kind: str, value: str, defaults: NewEntry, now: Micros) -> NewEntry:
    if kind not in KINDS:
        raise InvalidText("kind", f"kind {kind[:40]!r} must be one of {', '.join(KINDS)}")
    reason = cells.get("reason", "") or defaults.reason
    if reason not in REASONS:
        raise InvalidText("reason", f"reason {reason[:40]!r} must be one of {', '.join(REASONS)}")
    try:
        form = normal_form(kind, value)
    except InvalidText as refused:
        raise InvalidText(refused.code, f"{value[:100]!r} {refused.detail}") from None
    since, until = _time(cells, "since"), _time(cells, "until")
    if since is not None and since > now:
        raise InvalidText("since", "since lies in the future")
    if until is not None and until <= (since or 0):
        raise InvalidText("until", "until must lie after since")
    note = restored(cells.get("note", "")) or defaults.note
    if len(note) > NOTE_LENGTH or (why_not_storable(note) is not None):
        raise InvalidText("note", f"note must have at most {NOTE_LENGTH} characters, and no NUL")
    return NewEntry(kind, form, reason, defaults.source, note, since, until)


def _time(cells: Mapping[str, str], name: str) -> Micros | None:
    text = cells.get(name, "")
    if not text:
        return None
    try:
        return from_text(text.upper())
    except (ValueError, OverflowError):
        raise InvalidText(name, f"{name} {text[:40]!r} is no time such as 2026-11-20T09:30:00Z or 2026-11-20") from None
