"""Tables and records for people: they fit the terminal, and are coloured on one.

Where standard output is no terminal, nothing is shortened or left out; `COLUMNS` sets a width there too. An id is never shortened.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import click

WHOLE = "whole"
"""A column that is never shortened: ids, states, times."""
SHORT = "short"
"""A column that may be shortened to `LEAST`: names."""
SPARE = "spare"
"""A column that is left out where there is no room for it; the last one goes first."""
NOTE = "note"
"""A sentence in the last column: shortened to `NOTE_LEAST`, and below its row where there is less room."""
LEAST = 8
NOTE_LEAST = 30
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
    """One column: its title, and what becomes of it where there is little room."""

    title: str
    fit: str = WHOLE


def print_table(columns: Sequence[Column | str], rows: Iterable[Sequence[object]], *, empty: str = "nothing to list") -> None:
    """Print rows in columns, numbers to the right; where there are none, the sentence `empty` goes to standard error."""
    named = [Column(each) if isinstance(each, str) else each for each in columns]
    found = [list(row) for row in rows]
    if not found:
        click.echo(empty, err=True)
        return
    texts = [[_cell(value) for value in row] for row in found]
    right = [_is_numeric([row[place] for row in found]) for place in range(len(named))]
    shown, below = _layout(named, texts, output_width())

    def line(cells: Sequence[str], style: str | None = None) -> str:
        parts = []
        for place, width in shown.items():
            text = (cut if named[place].fit == NOTE else shorten)(cells[place], width)
            space = " " * (width - cells_of(text))
            text = f"{space}{text}" if right[place] else f"{text}{space}"
            parts.append(_styled(text, style or COLOURS.get(cells[place])))
        return GAP.join(parts).rstrip()

    echo(line([each.title.upper() for each in named], "bold"))
    for cells in texts:
        echo(line(cells))
        if below is not None and cells[below[0]] != "-":
            echo(INDENT + cut(cells[below[0]], below[1]))


def print_record(values: Mapping[str, object], indent: str = "") -> None:
    """Print names and values, one a line; what a value holds stands below its name."""
    width = max((len(name) for name, value in values.items() if not (isinstance(value, Mapping) and value)), default=0)
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            echo(f"{indent}{harmless(name)}")
            print_record(value, f"{indent}  ")
        else:
            text = _text(value, seconds=True)
            echo(f"{indent}{harmless(name).ljust(width)}{GAP}{_styled(text, COLOURS.get(text))}".rstrip())


def _layout(columns: Sequence[Column], texts: Sequence[Sequence[str]], room: int | None) -> tuple[dict[int, int], tuple[int, int] | None]:
    """The columns that are shown with their widths, and the one that goes below its row with its width."""
    widths = {place: max(len(each.title), *(cells_of(row[place]) for row in texts)) for place, each in enumerate(columns)}
    if room is None:
        return widths, None

    def least(place: int) -> int:
        most = {SHORT: LEAST, NOTE: NOTE_LEAST}.get(columns[place].fit, widths[place])
        return min(widths[place], max(most, len(columns[place].title)))

    def too_wide(taken: Iterable[int]) -> int:
        many = list(taken)
        return sum(many) + len(GAP) * (len(many) - 1) - room

    below = None
    for place in [*(place for place in reversed(widths) if columns[place].fit == SPARE)]:
        if too_wide(map(least, widths)) > 0:
            del widths[place]
    last = max(widths)
    if columns[last].fit == NOTE and too_wide(map(least, widths)) > 0:
        del widths[last]
        below = (last, max(NOTE_LEAST, room - len(INDENT)))
    lowest = {place: least(place) for place in widths}
    while too_wide(widths.values()) > 0 and (open_ := [place for place in widths if widths[place] > lowest[place]]):
        widest = max(open_, key=lambda place: widths[place])
        widths[widest] -= 1
    return widths, below


def output_width() -> int | None:
    """How wide a line may be: what `COLUMNS` says, else the terminal's width; None where standard output is no terminal."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    return shutil.get_terminal_size((100, 24)).columns if is_terminal() else None


def is_terminal() -> bool:
    """Whether standard output goes to a terminal."""
    return sys.stdout.isatty()


def has_colours() -> bool:
    """Whether output is coloured: on a terminal that can, unless `NO_COLOR` is set (https://no-color.org)."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def echo(text: str) -> None:
    """Print a line; its colours stay where output is coloured."""
    click.echo(text, color=has_colours())


def styled(word: str) -> str:
    """A word, and the spaces behind it, in the colour of a state."""
    return _styled(word, COLOURS.get(word.strip()))


def _styled(text: str, style: str | None) -> str:
    if style is None or not has_colours():
        return text
    return click.style(text, bold=True) if style == "bold" else click.style(text, fg=style)


def harmless(text: str) -> str:
    """Received text, for a terminal: characters that could move its cursor or rewrite its lines stand as escapes."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def shorten(text: str, most: int) -> str:
    """A text that takes at most so many cells; where some of it is missing it ends with an ellipsis."""
    return text if cells_of(text) <= most else f"{_begin(text, most - 1)}…"


def cut(text: str, most: int) -> str:
    """The same, cut between two words."""
    if cells_of(text) <= most:
        return text
    begin = _begin(text, most - 1)
    return f"{begin.rpartition(' ')[0] or begin}…"


def cells_of(text: str) -> int:
    """How many cells of a terminal a text takes: wide characters (East Asian, emoji) take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(character: str) -> int:
    return 0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")


def _begin(text: str, most: int) -> str:
    """As much of the beginning as fits."""
    if text.isascii():
        return text[:most]
    room, end = most, 0
    while end < len(text) and (room := room - _cells(text[end])) >= 0:
        end += 1
    return text[:end]


def _cell(value: object) -> str:
    return " ".join(_text(value).split("\n")).replace("\t", " ") or "-"


def _text(value: object, *, seconds: bool = False) -> str:
    """A value for people: times without letters (UTC), yes and no, lists with commas, `-` for nothing."""
    if value is None or (isinstance(value, str | Sequence | Mapping) and not value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        found = _TIME.fullmatch(value)
        return harmless(value) if found is None else f"{found[1]} {found[2]}{found[3] if seconds else ''}"
    if isinstance(value, Sequence) and all(isinstance(each, str | int) for each in value):
        return ", ".join(_text(each) for each in value)
    return harmless(json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | Sequence) else str(value))


def _is_numeric(values: Sequence[object]) -> bool:
    numbers = [value for value in values if value is not None]
    return bool(numbers) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in numbers)
