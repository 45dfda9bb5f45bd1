"""`touchbase suppressions` through the API of a server."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from touchbase.cli.output import output_file
from touchbase.cli.remote import PAGE
from touchbase.cli.store import now_us
from touchbase.common.timestamps import to_text

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.do_not_contact.models import NewEntry

Values = dict[str, Any]


def list_of(tb: Touchbase, installation: bool) -> Any:
    """Return the operations of a server on the client's list, or on that of the installation."""
    return tb.admin.suppressions if installation else tb.suppressions


def save_at_server(group: Any, entries: list[NewEntry]) -> list[Values]:
    """Store entries; return each as it is now, with what became of it."""
    bodies = [
        {
            "kind": each.kind, "value": each.value, "reason": each.reason, "source": each.source, "note": each.note,
            "since": None if each.since_us is None else to_text(each.since_us),
            "until": None if each.until_us is None else to_text(each.until_us),
        }
        for each in entries
    ]  # fmt: skip
    saved = group.save({"entries": bodies})["data"] if bodies else []
    if wrong := [fault["detail"] for each in saved for fault in each["errors"]]:
        raise click.ClickException("; ".join(wrong))
    return [{**each["entry"], "outcome": each["outcome"]} for each in saved]


def import_at_server(group: Any, file: IO[str], reason: str, note: str) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Store the rows of a file; return the number of rows by outcome, and the bad rows."""
    from touchbase.do_not_contact.list_reader import BadRow, read_rows
    from touchbase.do_not_contact.models import MAX_ENTRIES, NewEntry

    counts, bad = Counter[str](), list[tuple[int, str]]()
    rows = read_rows(file, NewEntry("", "", reason, "import", note.strip()), now_us())
    while batch := list(islice(rows, MAX_ENTRIES)):
        bad += [(each.line, each.detail) for each in batch if isinstance(each, BadRow)]
        saved = save_at_server(group, [each for each in batch if isinstance(each, NewEntry)])
        counts.update(each["outcome"] for each in saved)
    return counts, bad


def remove_at_server(group: Any, asked: list[tuple[str, str, str]]) -> list[Values]:
    """Remove entries by their ids, or by kind and address; return them as they were."""
    removed: list[Values] = []
    for text, kind, value in asked:
        found = group.list(kind=kind, value=value, limit=1)["data"] if kind else [group.get(int(text))]
        if not found:
            raise click.ClickException(f"{text} is not on this list: `touchbase suppressions list` shows all")
        group.remove(found[0]["id"])
        removed.append(found[0])
    return removed


def export_at_server(group: Any, filters: Values, out: Path | None, as_json: bool) -> None:
    """Write the entries of a list as CSV or JSON."""
    from touchbase.common.formulas import harmless
    from touchbase.do_not_contact.csv_files import COLUMNS, to_csv

    with output_file(out) as file:
        file.write("[" if as_json else plain_lines(to_csv([COLUMNS])))
        between = "\n"
        for each in group.iterate(limit=PAGE, **filters):
            if as_json:
                file.write(between + json.dumps(each, ensure_ascii=False))
                between = ",\n"
            elif each["value"] is not None:
                row = {**each, "note": harmless(each["note"])}
                file.write(plain_lines(to_csv([[row[name] or "" for name in COLUMNS]])))
        if as_json:
            file.write("\n]\n")


def plain_lines(text: str) -> str:
    """Return CSV with the line ends of text files, which the platform's file adds."""
    return text.replace("\r\n", "\n")
