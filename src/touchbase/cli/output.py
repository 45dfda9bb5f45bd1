"""Output: JSON, and tables and records as text, which fit the terminal and have colours on one.

Without a terminal nothing is shortened or left out; `COLUMNS` sets a width there too. An id is never shortened.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click

UNCUT = "whole"
"""A column that is never shortened: ids, states, times."""
SHORT = "short"
"""A column that may be shortened to `MIN_SHORT` cells: names."""
SPARE = "spare"
"""A column that is left out where it does not fit, the last one first."""
NOTE = "note"
"""A sentence in the last column: shortened to `MIN_NOTE` cells, and below its row where less is free."""
MIN_SHORT = 8
MIN_NOTE = 30
GAP = "  "
INDENT = "    "
COLOURS = {
    **dict.fromkeys(("active", "applied", "idle", "ok", "set", "working"), "green"),
    **dict.fromkeys(("deleting", "expired", "note", "parked", "suspended", "unrecognised", "waiting"), "yellow"),
    **dict.fromkeys(("failed", "problem", "revoked", "stopped"), "red"),
}
"""Colours of states; other words have none."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)(\.\d+)?Z")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its title, and how it is shortened where the table does not fit."""

    title: str
    fit: str = UNCUT


@contextmanager
def output_file(path: Path | None, mode: str = "w") -> Iterator[IO[Any]]:
    """Yield standard output, or a file that only its owner can read and that gets its name when it is complete."""
    encoding = None if "b" in mode else "utf-8"
    if path is None or str(path) == "-" or (path.exists() and not path.is_file()):
        with click.open_file(str(path or "-"), mode, encoding=encoding) as file:
            yield file
            file.flush()
        return
    from touchbase.common.atomic_file import part_of

    try:
        with part_of(path) as part:
            with part.open(mode, encoding=encoding) as file:
                yield file
            os.replace(part, path)
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror or error}") from error


def print_json(value: object) -> None:
    """Print a value as JSON, structs included."""
    import msgspec

    click.echo(json_text(msgspec.to_builtins(value), indent=2))


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a value as JSON, with the characters of `escape_controls` escaped as JSON does."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, indent=indent, ensure_ascii=False))


def print_table(columns: Sequence[Column | str], rows: Iterable[Sequence[object]], *, empty: str = "nothing to list") -> None:
    """Print rows in columns, numbers to the right; without rows, print the sentence `empty` to standard error."""
    all_columns = [Column(column) if isinstance(column, str) else column for column in columns]
    table = [list(row) for row in rows]
    if not table:
        click.echo(empty, err=True)
        return
    texts = [[_cell(value) for value in row] for row in table]
    right = [_is_numeric([row[index] for row in table]) for index in range(len(all_columns))]
    shown, below = _layout(all_columns, texts, output_width())

    def line(cells: Sequence[str], style: str | None = None) -> str:
        parts = []
        for index, width in shown.items():
            text = (cut if all_columns[index].fit == NOTE else shorten)(cells[index], width)
            space = " " * (width - cells_of(text))
            text = f"{space}{text}" if right[index] else f"{text}{space}"
            parts.append(_styled(text, style or COLOURS.get(cells[index])))
        return GAP.join(parts).rstrip()

    echo(line([column.title.upper() for column in all_columns], "bold"))
    for cells in texts:
        echo(line(cells))
        if below is not None and cells[below[0]] != "-":
            echo(INDENT + cut(cells[below[0]], below[1]))


def print_list(
    items: Sequence[Any],
    columns: Sequence[Column | str],
    row: Sequence[str] | Callable[[Any], Sequence[object]],
    *,
    as_json: bool,
    empty: str = "nothing to list",
    more: str = "",
) -> None:
    """Print items as JSON or in columns; `row`: the shown members of an item, or a function of its cells; `more`: how to go on."""
    if as_json:
        print_json(items)
        return
    print_table(columns, map(row, items) if callable(row) else ([item[name] for name in row] for item in items), empty=empty)
    if more:
        click.echo(more, err=True)


def print_values(values: Mapping[str, object], *, as_json: bool) -> None:
    """Print an object as JSON, or as names and values."""
    print_json(values) if as_json else print_record(values)


def print_record(values: Mapping[str, object], indent: str = "") -> None:
    """Print names and values, one per line; members of a value below its name, indented."""
    width = max((len(name) for name, value in values.items() if not (isinstance(value, Mapping) and value)), default=0)
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            echo(f"{indent}{escape_controls(name)}")
            print_record(value, f"{indent}  ")
        else:
            text = _text(value, seconds=True).replace("\n", f"\n{indent}{' ' * width}{GAP}")  # so that a text cannot pose as further lines
            echo(f"{indent}{escape_controls(name).ljust(width)}{GAP}{_styled(text, COLOURS.get(text))}".rstrip())


def _layout(columns: Sequence[Column], texts: Sequence[Sequence[str]], most: int | None) -> tuple[dict[int, int], tuple[int, int] | None]:
    """Return the width of each shown column by its index, and the index and width of the column below its row."""
    widths = {index: max(len(column.title), *(cells_of(row[index]) for row in texts)) for index, column in enumerate(columns)}
    if most is None:
        return widths, None

    def least(index: int) -> int:
        lowest = {SHORT: MIN_SHORT, NOTE: MIN_NOTE}.get(columns[index].fit, widths[index])
        return min(widths[index], max(lowest, len(columns[index].title)))

    def excess(columners: Iterable[int]) -> int:
        widest = list(columners)
        return sum(widest) + len(GAP) * (len(widest) - 1) - most

    below = None
    for index in [*(index for index in reversed(widths) if columns[index].fit == SPARE)]:
        if excess(map(least, widths)) > 0:
            del widths[index]
    last = max(widths)
    if columns[last].fit == NOTE and excess(map(least, widths)) > 0:
        del widths[last]
        below = (last, max(MIN_NOTE, most - len(INDENT)))
    floor = {index: least(index) for index in widths}
    while excess(widths.values()) > 0 and (shrinkable := [index for index in widths if widths[index] > floor[index]]):
        widest = max(shrinkable, key=lambda index: widths[index])
        widths[widest] -= 1
    return widths, below


def output_width() -> int | None:
    """Return the most cells of a line: `COLUMNS`, else the terminal's width; None if standard output is no terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    return shutil.get_terminal_size((100, 24)).columns if is_terminal() else None


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def has_colours() -> bool:
    """Return whether output has colours: on a terminal that can, unless `NO_COLOR` is set (https://no-color.org)."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def echo(text: str) -> None:
    """Print a line, without its colours where output has none."""
    click.echo(text, color=has_colours())


def styled(word: str) -> str:
    """Return a word, and the spaces behind it, in the colour of its state."""
    return _styled(word, COLOURS.get(word.strip()))


def _styled(text: str, style: str | None) -> str:
    if style is None or not has_colours():
        return text
    return click.style(text, bold=True) if style == "bold" else click.style(text, fg=style)


def escape_controls(text: str) -> str:
    """Escape characters of received text that could move a terminal's cursor or change its lines."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


def shorten(text: str, most: int) -> str:
    """Shorten a text to at most so many cells; a shortened one ends with an ellipsis."""
    return text if cells_of(text) <= most else f"{_begin(text, most - 1)}…"


def cut(text: str, most: int) -> str:
    """Shorten a text like `shorten`, but between two words."""
    if cells_of(text) <= most:
        return text
    begin = _begin(text, most - 1)
    return f"{begin.rpartition(' ')[0] or begin}…"


def cells_of(text: str) -> int:
    """Return the cells of a terminal that a text takes: wide characters (East Asian, emoji) take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    return 0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")


def _begin(text: str, most: int) -> str:
    """Return as much of the beginning as fits."""
    if text.isascii():
        return text[:most]
    left, end = most, 0
    while end < len(text) and (left := left - _cells(text[end])) >= 0:
        end += 1
    return text[:end]


def _cell(value: object) -> str:
    return " ".join(_text(value).split("\n")).replace("\t", " ") or "-"


def _text(value: object, *, seconds: bool = False) -> str:
    """Format a value as text: times without letters (UTC), yes and no, lists with commas, `-` for nothing."""
    if value is None or (isinstance(value, str | Sequence | Mapping) and not value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        match = _TIME.fullmatch(value)
        return escape_controls(value) if match is None else f"{match[1]} {match[2]}{match[3] if seconds else ''}"
    if isinstance(value, Sequence) and all(isinstance(item, str | int) for item in value):
        return ", ".join(_text(item) for item in value)
    return escape_controls(json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | Sequence) else str(value))


def _is_numeric(values: Sequence[object]) -> bool:
    numbers = [value for value in values if value is not None]
    return bool(numbers) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers)
