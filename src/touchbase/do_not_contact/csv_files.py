"""CSV files of do-not-contact lists, as other tools read them; `list_reader` reads them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from touchbase.common.formulas import harmless
from touchbase.common.timestamps import to_text
from touchbase.do_not_contact.models import Entry

COLUMNS = ("kind", "value", "reason", "source", "since", "until", "note")
"""The columns of an exported file."""


def write_rows(entries: Iterable[Entry]) -> list[tuple[str, ...]]:
    """Return the rows of an exported file; entries of erased persons have no address and are left out.

    A note that a spreadsheet would take for a formula begins with an apostrophe; addresses are never changed.
    """
    return [
        (
            entry.kind, entry.value, entry.reason, entry.source, to_text(entry.since_us),
            "" if entry.until_us is None else to_text(entry.until_us), harmless(entry.note),
        )
        for entry in entries
        if entry.value is not None
    ]  # fmt: skip


def to_csv(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as CSV (RFC 4180)."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()
