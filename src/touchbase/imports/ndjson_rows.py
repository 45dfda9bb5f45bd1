"""NDJSON: a JSON object per line; members are columns, inner ones `outer.inner`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from touchbase.imports.table import Row, Table, TableLimits, TooManyBlankRows, UnreadableFile, check_columns, check_names, value_text

_BYTES = 4
"""The most that one character of a line takes in UTF-8."""


def read_ndjson(file: BinaryIO, limits: TableLimits) -> Table:
    """Read NDJSON. The whole file is read once for the names of its columns, since any line may have another one."""
    names: dict[str, int] = {}
    for row, members in _objects(file, limits):
        if not members.keys() <= names.keys():
            if len(members) > limits.columns:
                check_columns(len(members), row, limits)
            check_names(members, row, limits)
            for name in members:
                names.setdefault(name, len(names))
            check_columns(len(names), row, limits)
    check_columns(len(names), None, limits)
    return Table("ndjson", list(names), _rows(file, names, limits), encoding="utf-8")


def _rows(file: BinaryIO, names: dict[str, int], limits: TableLimits) -> Iterator[Row]:
    for number, members in _objects(file, limits):
        cells = [""] * len(names)
        for name, value in members.items():
            cells[names[name]] = value
        yield Row(number, cells)


def _objects(file: BinaryIO, limits: TableLimits) -> Iterator[tuple[int, dict[str, str]]]:
    """Return number and members of each line that is not blank."""
    file.seek(0)
    decode, longest, number = msgspec.json.Decoder().decode, limits.row_characters * _BYTES, 0
    last = 0
    while line := file.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise UnreadableFile(f"is too long: a line may have {limits.row_characters} characters", number)
        if number == 1 and line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        if not line.strip():
            if number - last > limits.blank_rows:
                raise TooManyBlankRows(limits)
            continue
        last = number
        try:
            value = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableFile(f"is not JSON: {error}. Each line must be one JSON object", number) from None
        if not isinstance(value, dict):
            raise UnreadableFile("is not a JSON object; each line must be one", number)
        yield number, {name: value_text(member) for name, member in _flat(value)}


def _flat(members: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the members of an object, and of the objects in it; a list of custom fields is an object of them, too."""
    for name, value in members.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) and "field_name" in item for item in value):
            value = {str(item["field_name"]): item.get("field_value") for item in value}  # noqa: PLW2901
        if isinstance(value, dict):
            for inner, below in value.items():
                yield f"{name}.{inner}", below
        else:
            yield name, value
