"""Reading of NDJSON files."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.imports.file_tasks import read_table
from touchbase.imports.table import Row, TableLimits, UnreadableFile

TEXT = st.text(st.characters(codec="utf-8"))


def file(*lines: str | dict[str, object]) -> io.BytesIO:
    return io.BytesIO("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines).encode())


@given(st.lists(st.dictionaries(TEXT, TEXT, min_size=1), min_size=1))
def test_read_ndjson__reads_any_objects_of_texts(objects: list[dict[str, str]]) -> None:
    read = read_table(file(*objects))  # type: ignore[arg-type]

    rows = [{name: cell for name, cell in zip(read.header, row.cells, strict=True) if cell} for row in read.rows]
    assert rows == [{name: cell for name, cell in item.items() if cell} for item in objects]


def test_read_ndjson__has_a_column_for_each_member_of_any_line() -> None:
    read = read_table(file({"a": 1}, "", {"b": "x", "a": None}))

    assert (read.header, list(read.rows)) == (["a", "b"], [Row(1, ["1", ""]), Row(3, ["", "x"])])


@pytest.mark.parametrize(
    ("value", "text"),
    [(12, "12"), (1.5, "1.5"), (True, "true"), (None, ""), (["a", "b"], "a, b"), ([1, {"x": 2}], '[1,{"x":2}]'), ([], "")],
)
def test_read_ndjson__shows_values_as_text(value: object, text: str) -> None:
    assert next(read_table(file({"a": value, "b": "x"})).rows).cells[0] == text


def test_read_ndjson__reads_custom_fields_in_both_structures() -> None:
    flat = {"email": "a@b.co", "contact_custom_fields": {"Seats": 5, "City": "Bath"}}
    nested = {"email": "a@b.co", "contact_custom_fields": [{"id": 1, "field_name": "Seats", "field_value": "5"}]}

    read = read_table(file(flat, nested))

    assert read.header == ["email", "contact_custom_fields.Seats", "contact_custom_fields.City"]
    assert [row.cells for row in read.rows] == [["a@b.co", "5", "Bath"], ["a@b.co", "5", ""]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"a": 1}', '{"a": 1'], "row 2: is not JSON"),
        (['{"a": 1}', "[1]"], "row 2: is not a JSON object"),
        (['{"a": "' + "x" * 5_000_000 + '"}'], "row 1: is too long"),
        (['{"a": 1}', json.dumps({f"m{n}": n for n in range(1_000)})], "row 2: has 1001 columns"),
        (["{}", "{}"], "no row with names"),
        (['{"a": ' + '{"a": ' * 100_000], "row 1: is not JSON"),
    ],
)
def test_read_ndjson__says_which_line_is_wrong(lines: list[str], message: str) -> None:
    with pytest.raises(UnreadableFile, match=message):
        list(read_table(file(*lines)).rows)


def test_read_ndjson__refuses_bytes_that_are_not_utf8() -> None:
    with pytest.raises(UnreadableFile, match="row 2"):
        read_table(io.BytesIO(b'{"a": "x"}\n{"a": "\xe9"}\n'))


def test_read_ndjson__ignores_a_byte_order_mark() -> None:
    assert read_table(io.BytesIO(b'\xef\xbb\xbf{"a": "x"}\n')).header == ["a"]


def test_read_ndjson__needs_no_more_memory_for_more_rows() -> None:
    def peak(rows: int) -> int:
        created = io.BytesIO(b'{"email": "jane@example.com"}\n' * rows)
        tracemalloc.start()
        assert sum(1 for _ in read_table(created, TableLimits()).rows) == rows
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(20_000) < peak(4_000) + 20_000
