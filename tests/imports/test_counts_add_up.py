"""Counts of an import: they add up to the rows of the file, and each has a list, whatever the file says."""

from __future__ import annotations

import csv
import io
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient
from tests.examples import examples
from tests.imports.jobs import COUNTS as IN_EVERY_IMPORT
from tests.imports.jobs import ROWS, finished, report, upload

COUNTS = (*IN_EVERY_IMPORT, "joined")
HEADER = ["Email", "E-mail 2", "LinkedIn", "Company", "Website", "Status", "Do Not Contact", "Last Contacted", "Size"]
ADDRESSES = [
    "ann@example.com",
    "Ann@Example.com",
    "ben@example.com",
    "cy@example.org",
    "ann@example.com; ben@example.com",
    "no address",
    "N/A",
    "",
]
CELLS = [
    st.sampled_from(ADDRESSES),
    st.sampled_from(["", "dan@example.com", "ann@example.com", "@"]),
    st.sampled_from(["", "linkedin.com/in/ann", "linkedin.com/company/acme", "https://www.linkedin.com/in/ben/", "none"]),
    st.sampled_from(["", "Acme", "acme", "Beta"]),
    st.sampled_from(["", "acme.com", "gmail.com", "http://", "beta.io"]),
    st.sampled_from(["", "Replied", "replied", "unsubscribed", "Do Not Contact", "x" * 300]),
    st.sampled_from(["", "no", "yes", "true", "complained"]),
    st.sampled_from(["", "2026-11-01", "13/12/2025", 'soon\r\n5,created,"1\r\n', "2090-01-01"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
]
ROW = st.one_of(
    st.tuples(*CELLS).map(list),
    st.sampled_from([HEADER, ["Total: 5"], ["Copyright 2026"], [""] * len(HEADER), ["ann@example.com"], ["ann@example.com", *["x"] * 12]]),
)
OPTIONS = st.fixed_dictionaries({"mode": st.sampled_from(["upsert", "create", "update"]), "dry_run": st.sampled_from(["true", "false"])})


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, min_size=1, max_size=12), options=OPTIONS, outcome=st.sampled_from(COUNTS))
async def test_any_file__has_counts_that_add_up_and_a_list_for_each(
    sqlite_call: ApiClient, rows: list[list[str]], options: dict[str, str], outcome: str
) -> None:
    file = io.StringIO()
    csv.writer(file).writerows([HEADER, *rows])

    job = await finished(sqlite_call, await upload(sqlite_call, file.getvalue().encode(), start="true", **options))

    lines = await report(sqlite_call, job)
    progress, listed = job["progress"], Counter(outcome for _, outcome, *_ in lines)
    assert job["state"] == "succeeded", job
    assert progress["rows"] == sum(progress[name] for name in ROWS) == len(rows)
    assert sorted(int(row) for row, outcome, *_ in lines if outcome in ROWS) == sorted(numbers(file.getvalue()))
    assert {name: listed[name] for name in COUNTS} == {name: progress[name] for name in COUNTS}
    assert set(listed) <= set(COUNTS)
    assert await report(sqlite_call, job, f"?outcome={outcome}") == [line for line in lines if line[1] == outcome]


def numbers(text: str) -> list[int]:
    """The numbers of the rows below the header, as a spreadsheet shows them."""
    return [number for number, cells in enumerate(csv.reader(io.StringIO(text, newline="")), 1) if number > 1 and cells]
