"""Exports of ten products as they leave them, after their real headers, with dirt: imported without a mapping, on both engines.

They have footers, blank lines, words for nothing, two addresses in a cell, and pages of companies where profiles and domains should be. No
person, company or opt-out is lost, and the same file again changes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.imports.jobs import ROWS, contacts, finished, report, upload

FOLDER = Path(__file__).parent / "exports"
PEOPLE = {
    # Product: rows, people, companies, opt-outs, cells left out, rows that are none or have no identity.
    "hubspot": (6, 4, 3, 1, 4, 1),
    "salesforce": (9, 3, 2, 1, 1, 6),
    "apollo": (3, 3, 2, 1, 0, 0),
    "phantombuster": (4, 2, 2, 0, 0, 1),
    "clay": (3, 3, 3, 0, 2, 0),
    "instantly": (3, 3, 2, 1, 0, 0),
    "smartlead": (3, 3, 2, 1, 1, 0),
    "google": (3, 2, 2, 0, 0, 1),
    "outlook": (3, 2, 2, 0, 0, 1),
    "airtable": (4, 3, 2, 1, 0, 1),
}


async def all_records(call: ApiClient, path: str) -> Any:
    return (await call.get(f"/public/v2/{path}?limit=200")).json()["data"]


@pytest.mark.parametrize("product", PEOPLE)
async def test_an_export__loses_no_person_company_or_opt_out(call: ApiClient, product: str) -> None:
    rows, people, companies, opt_outs, cells, others = PEOPLE[product]
    data = (FOLDER / f"{product}.csv").read_bytes()

    job = await finished(call, await upload(call, data, start="true"))
    before = [await all_records(call, path) for path in ("contacts", "companies", "suppressions")]
    call.clock.move(60)
    again = await finished(call, await upload(call, data, start="true"))

    counts, second = job["progress"], again["progress"]
    assert job["state"] == again["state"] == "succeeded"
    assert [len(item) for item in before[:2]] == [people, companies]
    assert (counts["rows"], counts["created"], counts["opt_outs_taken"], counts["cells_left_out"]) == (rows, people, opt_outs, cells)
    assert counts["invalid"] + counts["not_a_row"] == others
    assert sum(counts[name] for name in ROWS) == rows
    assert (second["unchanged"], second["opt_outs_taken"]) == (people, 0)
    assert [await all_records(call, path) for path in ("contacts", "companies", "suppressions")] == before


@pytest.mark.parametrize("product", PEOPLE)
async def test_the_report_of_an_export__lists_what_its_counts_count(call: ApiClient, product: str) -> None:
    job = await finished(call, await upload(call, (FOLDER / f"{product}.csv").read_bytes(), start="true"))

    lines = await report(call, job)

    listed = {name: sum(1 for line in lines if line[1] == name) for name in (*ROWS, "cells_left_out", "opt_outs_taken", "suppressed")}
    assert listed == {name: job["progress"][name] for name in listed}
    assert all(line[4] for line in lines if line[1] not in ("created", "unchanged"))


async def test_a_table_of_companies_without_domains__gets_in(call: ApiClient) -> None:
    data = (FOLDER / "airtable-companies.csv").read_bytes()

    job = await finished(call, await upload(call, data, path="companies/imports", start="true"))

    result = await all_records(call, "companies")
    assert {name: count for name, count in job["progress"].items() if count} == {
        "created": 2, "duplicate_in_file": 1, "not_a_row": 1, "rows": 4, "percent": 100,
    }  # fmt: skip
    assert [(item["domain"], item["name"]) for item in result] == [("", "Acme Inc"), ("", "Beta")]


async def test_an_export_of_hubspot__takes_what_its_columns_say(call: ApiClient) -> None:
    job = await finished(call, await upload(call, (FOLDER / "hubspot.csv").read_bytes(), start="true"))

    ann, bob, cy, dee = sorted(await contacts(call), key=lambda contact: contact["first_name"] or "Cy")
    lines = await report(call, job)

    assert (ann["contact_status"], bob["contact_status"], cy["contact_status"]) == ("New", "Open", "New")
    assert (cy["email"], dee["linkedin_url"], bob["last_name"]) == ("cy@gamma.co", "linkedin.com/in/dee-ray", "")
    assert cy["emails"] == ["cy@gamma.co", "cy@home.net"]
    assert ann["emails"] == ["ann@acme.com", "ann.lee@acme.com", "ann@old-acme.com"]
    assert ("7", "duplicate_in_file", "", "", "is the same contact as row 2") in lines
    assert [line[2] for line in lines if line[:2] == ("5", "cells_left_out")] == ["Email"]
