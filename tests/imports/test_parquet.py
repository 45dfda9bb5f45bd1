"""Reading of Parquet files, and their import over HTTP on both engines."""

from __future__ import annotations

import io
import sys
import tracemalloc
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tests.asgi_client import ApiClient
from tests.imports.jobs import bad_rows, contacts, counts, finished, upload

from touchbase.clients.models import Client, ClientSettings
from touchbase.imports import parquet_rows
from touchbase.imports.columns import Mapping
from touchbase.imports.file_tasks import RowSource, read_table
from touchbase.imports.job import ImportSettings
from touchbase.imports.table import Row, TableLimits, UnreadableFile

NOON = datetime(2026, 11, 26, 12, 0, 0, 500_000)
LEADS = {
    "E-mail": ["jane@example.com", "joe@example.com", None, "JANE@example.com"],
    "First name": ["Jane", "=Joe", "Ann", "J"],
    "Website": ["x.example", None, "y.example", None],
    "Last reply": pa.array([datetime(2026, 5, 1, 10, tzinfo=UTC), None, None, None], pa.timestamp("ns", tz="Europe/Berlin")),
    "Seats": [12, None, 3, 4],
}


def written(columns: Any, **how: Any) -> io.BytesIO:
    """A file with these columns."""
    file = io.BytesIO()
    parquet.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), file, **how)
    return file


def mixed(rows: int, **how: Any) -> bytes:
    """A file with columns of several types."""
    columns = {"text": ["a", None, "bb"] * rows, "number": list(range(3 * rows)), "time": pa.array(range(3 * rows), pa.timestamp("us"))}
    return written(columns, **how).getvalue()


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        (["a", None, ""], pa.string(), ["a", "", ""]),
        (["a", None, "'=1"], pa.large_string(), ["a", "", "'=1"]),
        (["a", None, "a"], pa.dictionary(pa.int8(), pa.string()), ["a", "", "a"]),
        (["é".encode(), None, b"\xff"], pa.binary(), ["é", "", "\udcff"]),
        ([b"ab", None], pa.binary(2), ["ab", ""]),
        ([1, None, -(2**63)], pa.int64(), ["1", "", "-9223372036854775808"]),
        ([2**64 - 1], pa.uint64(), ["18446744073709551615"]),
        ([1.0, None, 1.5, float("nan"), 1e300], pa.float64(), ["1", "", "1.5", "", "1e+300"]),
        ([True, None, False], pa.bool_(), ["true", "", "false"]),
        ([Decimal("12.50"), None], pa.decimal128(10, 2), ["12.50", ""]),
        ([date(2026, 11, 26), None], pa.date32(), ["2026-11-26", ""]),
        ([time(9, 30), None], pa.time64("ns"), ["09:30:00", ""]),
        ([NOON, None], pa.timestamp("ns"), ["2026-11-26T12:00:00.500000", ""]),
        ([NOON.replace(tzinfo=UTC), None], pa.timestamp("us", tz="Europe/Berlin"), ["2026-11-26T12:00:00.500000Z", ""]),
        ([UUID(int=1).bytes], pa.uuid(), [str(UUID(int=1))]),
        ([None], pa.null(), [""]),
    ],
)
def test_read_parquet__shows_values_as_text(values: list[object], kind: pa.DataType, texts: list[str]) -> None:
    read = read_table(written({"a": pa.array(values, kind)}))

    assert (read.format, read.header, read.row_count) == ("parquet", ["a"], len(values))
    assert list(read.rows) == [Row(number, [text]) for number, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([["a"]], pa.list_(pa.string()), r"the column 'tags' holds lists or structures \(list<element: string>\); write it as text"),
        ([{"a": 1}], pa.struct({"a": pa.int8()}), "the column 'tags' holds lists or structures"),
        ([[("a", 1)]], pa.map_(pa.string(), pa.int8()), "the column 'tags' holds lists or structures"),
        ([1], pa.duration("s"), "the column 'tags' holds durations"),
        ([2**62], pa.timestamp("us"), "row 1: this row, or one soon after it, cannot be read"),
    ],
)
def test_read_parquet__refuses_columns_that_are_no_text(values: list[object], kind: pa.DataType, message: str) -> None:
    with pytest.raises(UnreadableFile, match=message):
        list(read_table(written({"email": ["a@b.co"], "tags": pa.array(values, kind)})).rows)


def test_read_parquet__has_unique_names_of_columns() -> None:
    columns = pa.Table.from_arrays([pa.array(["x"])] * 4, names=["a", "", "a", " a  b "])

    assert read_table(written(columns)).header == ["a", "Column B", "a (2)", " a  b "]


def test_read_parquet__bounds_columns_rows_and_their_characters() -> None:
    wide, long = written({str(number): [1] for number in range(6)}), written({"a": ["x" * 90, "y" * 300, "z"] + ["z"] * 1_000})
    same = written({"a": ["x" * 200] * 5_000})
    limits = TableLimits(columns=5, row_characters=100, rows=4_000)

    for file, message in (
        (wide, "has 6 columns; a table may have at most 5"),
        (long, "row 2: is too long: a row may have 100 characters"),
        (same, "the file has 5000 rows; a file may have at most 4000, so import it in parts"),
        (written({"a": ["x" * 200] * 3_000}), "row 1: is too long"),
        (written(pa.table({})), "no row with names"),
    ):
        with pytest.raises(UnreadableFile, match=message):
            list(read_table(file, limits).rows)


def test_read_parquet__of_damaged_bytes_is_an_error_or_rows() -> None:
    full = {compression: mixed(5, compression=compression) for compression in ("none", "snappy", "zstd")}

    @given(st.sampled_from(sorted(full)), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=6))
    def damaged(compression: str, changes: list[tuple[float, int]]) -> None:
        data = bytearray(full[compression])
        for place, byte in changes:
            data[4 + int(place * (len(data) - 5))] = byte
        try:
            list(read_table(io.BytesIO(data)).rows)
        except UnreadableFile:
            return

    damaged()
    for cut in (b"PAR1", b"PAR1PAR1", full["none"][:-9], b"PAR1" + b"\xff" * 60 + b"PARE"):
        with pytest.raises(UnreadableFile, match="damaged or encrypted"):
            read_table(io.BytesIO(cut))


def test_read_parquet__needs_no_more_memory_for_more_rows_of_a_row_group() -> None:
    def peak(rows: int) -> int:
        data = {"a": [f"person {number * 7_919 % 1_000_003}" for number in range(rows)], "b": list(range(rows))}
        file = written(data, row_group_size=rows, use_dictionary=False, data_page_size=10_000, compression="none")
        del data
        tracemalloc.start()  # the bytes that are read are Python's
        before = pa.total_allocated_bytes()
        top = max(pa.total_allocated_bytes() - before for _ in read_table(file).rows) + tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(20_000) < peak(5_000) + 100_000


def test_read_parquet__without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    file = written({"a": ["x"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(UnreadableFile, match=r"Parquet files need pyarrow.*: pip install touchbase\[parquet\]$"):
        read_table(file)


def test_row_source__says_how_much_it_has_read_by_rows() -> None:
    file = written({"email": [f"p{number}@x.example" for number in range(8)], "note": ["x" * 9_000] * 8})
    source = RowSource(file, ImportSettings(Mapping("contact", {"email": "email"})), Client(1, "c", 0, ClientSettings()), 0)

    assert [source.next(2).percent for _ in range(5)] == [25, 50, 75, 99, 99]


async def test_import__of_a_parquet_file_previews_imports_and_counts(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "BATCH", 2)
    data = written(LEADS).getvalue()

    observed = await upload(call, data)
    assert observed["preview"]["format"] == "parquet"
    assert observed["preview"]["rows"][0] == ["jane@example.com", "Jane", "x.example", "2026-05-01T10:00:00Z", "12"]
    assert (await call.post(f"/public/v2/jobs/{observed['id']}/start", {})).status == 200
    job = await finished(call, observed)
    again = await finished(call, await upload(call, data, start="true"))

    assert counts(job) == {"created": 2, "duplicate_in_file": 1, "invalid": 1}
    assert counts(again) == {"unchanged": 2, "duplicate_in_file": 1, "invalid": 1}
    jane, joe = await contacts(call)
    assert (jane["first_name"], jane["last_reply_received"], jane["company_id"]) == ("Jane", "2026-05-01T10:00:00Z", 1)
    assert (jane["contact_custom_fields"], joe["first_name"]) == ({"Seats": "12"}, "=Joe")
    (bad,) = await bad_rows(call, job)
    assert (bad["First name"], bad["Seats"], bad["row"]) == ("Ann", "3", "3")


async def test_import__of_a_nested_or_damaged_file_is_refused(call: ApiClient) -> None:
    nested = written({"email": ["a@b.co"], "tags": [["x"]]}).getvalue()

    for data, words in ((nested, "the column 'tags' holds lists"), (nested[:-30], "damaged or encrypted")):
        reply = await call("POST", "/public/v2/contacts/imports", raw=data)
        assert (reply.status, reply.problem["code"]) == (400, "malformed_body")
        assert words in reply.problem["detail"]
