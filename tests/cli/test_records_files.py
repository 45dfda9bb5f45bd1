"""`touchbase contacts, companies import, export` and `touchbase jobs`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run

FILE = "E-mail,First name,Website\njane@example.com,Jane,x.example\nbad,Joe,y.example\n"


def test_import__prints_counts_writes_bad_rows_and_ends_with_1(store: Run) -> None:
    store("clients", "add", "acme")
    Path("leads.csv").write_text(FILE)

    first = store("contacts", "import", "leads.csv", "--client", "acme", "--bad-rows", "bad.csv")
    again = store("contacts", "import", "leads.csv", "--client", "acme", "--json")

    assert first.exit_code == 1
    assert "created            1\n" in first.output
    assert "1 row was refused: in bad.csv" in first.output
    assert Path("bad.csv").read_text().splitlines()[1].startswith("bad,Joe,y.example,3,E-mail: ")
    progress = json.loads(again.stdout)["progress"]
    assert (progress["unchanged"], progress["invalid"], progress["percent"]) == (1, 1, 100)


def test_import__previews_maps_and_runs_dry(store: Run) -> None:
    store("clients", "add", "acme")
    Path("leads.csv").write_text(FILE)

    observed = store("contacts", "import", "leads.csv", "--client", "acme", "--preview", "--map", "Website=cf.Web")
    dry = store("contacts", "import", "leads.csv", "--client", "acme", "--dry-run")
    wrong = store("contacts", "import", "leads.csv", "--client", "acme", "--map", "Emial=email")

    assert "Website     cf.Web      x.example" in observed.output
    assert "created            1\n" in dry.output
    assert store("contacts", "export", "--client", "acme").stdout.count("\n") == 1
    assert wrong.exit_code == 2
    assert "the file has no column 'Emial'; it has 'E-mail'" in wrong.output


def test_import__reads_another_row_with_another_encoding_and_reports_every_row(store: Run) -> None:
    store("clients", "add", "acme")
    Path("leads.csv").write_bytes("a#b#c#d\nE-mail#First#Status#Last mailed\njane@example.com#Zoë#Contacted#11/12/2025\n".encode("cp850"))
    read = ("contacts", "import", "leads.csv", "--client", "acme", "--header-row", "2", "--encoding", "cp850", "--delimiter", "#")

    observed = store(*read, "--preview")
    done = store(*read, "--report", "report.csv", "--no-join-statuses", "--repeated", "last")
    shown = store("contacts", "list", "--client", "acme", "--json")

    assert "dates of 'Last mailed' such as 11/12/2025: left out: state --day-order" in observed.output
    assert "one status: Contacted -> contacted" in observed.output
    assert "cells_left_out     1\n" in done.output
    assert Path("report.csv").read_text("utf-8-sig").splitlines()[0] == "row,outcome,id,column,value,reason"
    assert "3,cells_left_out,,Last mailed,11/12/2025," in Path("report.csv").read_text()
    assert '"Zoë"' in shown.stdout
    assert '"Contacted"' in shown.stdout


def test_import__takes_the_opt_outs_of_the_named_columns(store: Run) -> None:
    store("clients", "add", "acme")
    Path("leads.csv").write_text("email,DNC,Notes\nann@example.com,yes,\nbob@example.com,,unsubscribed\n")
    command = ("contacts", "import", "leads.csv", "--client", "acme", "--dry-run")

    assert "opt-outs by 'DNC': 1 row, such as yes" in store(*command, "--preview").output
    assert "opt_outs_taken     1\n" in store(*command).output
    assert "opt_outs_taken     2\n" in store(*command, "--opt-outs", "DNC", "--opt-outs", "Notes").output
    assert "opt_outs_taken     0\n" in store(*command, "--no-opt-outs").output


def test_import__names_columns_where_a_mapping_has_faults(store: Run) -> None:
    store("clients", "add", "acme")
    Path("leads.csv").write_text("E-mail,Web/Page\njane@example.com,x\n")

    wrong = store("contacts", "import", "leads.csv", "--client", "acme", "--map", "Web/Page=website", "--time-zone", "Mars")

    assert "Error: the column 'Web/Page' cannot become 'website', which is no field of a contact" in wrong.output
    assert "--time-zone: 'Mars' is not an IANA time zone" in wrong.output


def test_export__begins_with_the_mark_for_spreadsheets_in_files(store: Run) -> None:
    store("clients", "add", "acme")

    for options, has_mark in (((), True), (("--no-bom",), False)):
        store("contacts", "export", "--client", "acme", "--out", "out.csv", *options)
        assert Path("out.csv").read_bytes().startswith(b"\xef\xbb\xbf") == has_mark
    assert store("contacts", "export", "--client", "acme").stdout.startswith("id,")


def test_export__writes_what_was_imported(store: Run) -> None:
    store("clients", "add", "acme")
    Path("leads.csv").write_text(FILE)
    store("contacts", "import", "leads.csv", "--client", "acme")

    store("contacts", "export", "--client", "acme", "--format", "ndjson", "--out", "out.ndjson")
    companies = store("companies", "export", "--client", "acme")

    assert json.loads(Path("out.ndjson").read_text())["email"] == "jane@example.com"
    assert companies.stdout.splitlines()[1].split(",")[2] == "x.example"


def test_parquet__is_exported_and_imported_into_another_client(store: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for client in ("acme", "other"):
        store("clients", "add", client)
    Path("leads.csv").write_text(FILE)
    store("contacts", "import", "leads.csv", "--client", "acme")

    for record in ("companies", "contacts"):
        assert store(record, "export", "--client", "acme", "--format", "parquet", "--out", f"{record}.parquet").exit_code == 0
        done = json.loads(store(record, "import", f"{record}.parquet", "--client", "other", "--json").stdout)["progress"]
        assert (done["created"], done["invalid"]) == (1, 0)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    export = store("contacts", "export", "--client", "acme", "--format", "parquet")

    assert store("companies", "export", "--client", "other").stdout.splitlines()[1].split(",")[2] == "x.example"
    assert export.exit_code == 2
    assert "not installed where Touchbase runs: pip install touchbase[parquet]" in export.output


def test_jobs__are_listed_shown_and_cancelled_by_their_ids(store: Run) -> None:
    store("clients", "add", "acme")
    Path("leads.csv").write_text(FILE)
    store("contacts", "import", "leads.csv", "--client", "acme")

    (job,) = json.loads(store("jobs", "list", "--json").stdout)
    shown = store("jobs", "show", str(job["id"]))
    cancelled = store("jobs", "cancel", str(job["id"]))

    assert (job["client_id"], job["kind"], job["state"]) == ("acme", "contacts.import", "succeeded")
    assert "leads.csv" in store("jobs", "list").output
    assert "succeeded" in shown.output
    assert cancelled.output == f"job {job['id']} is succeeded\n"
    assert store("jobs", "show", "999").output == "Error: there is no job with id 999: `touchbase jobs list` shows all\n"
    assert store("jobs", "list", "--client", "acme", "--state", "failed").output == "no job matches\n"
