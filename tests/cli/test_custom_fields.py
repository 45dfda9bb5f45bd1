"""`touchbase custom-fields`: list, add, rename, merge, set-type, remove."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from touchbase.custom_fields import job

FILE = "email,Branch,Industry,Seats\njane@a.example,Bank,fintech,4\nann@a.example,IT,,many\n"


@pytest.fixture
def acme(store: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A store with a client and two contacts."""
    monkeypatch.setattr(job, "SETTLING_SECONDS", 0.0)
    store("clients", "add", "acme")
    Path("leads.csv").write_text(FILE)
    store("contacts", "import", "leads.csv", "--client", "acme")
    return store


def fields(run: Run, *more: str) -> dict[str, int]:
    """How many records have each field."""
    reply = run("custom-fields", "list", "--client", "acme", "--json", *more)
    assert reply.exit_code == 0, reply.output
    return {item["name"]: item["records"] for item in json.loads(reply.stdout)}


def test_list_and_add__show_types_and_use(acme: Run) -> None:
    created = acme("custom-fields", "add", "Tier", "--type", "select", "--option", "A", "--client", "acme", "--record", "companies")

    assert "select" in created.output
    assert fields(acme) == {"Branch": 2, "Industry": 1, "Seats": 2}
    assert fields(acme, "--record", "companies") == {"Tier": 0}
    shown = acme("custom-fields", "list", "--client", "acme")
    assert shown.output.splitlines()[0].split()[:3] == ["NAME", "TYPE", "RECORDS"]
    assert acme("custom-fields", "add", "Branch", "--client", "acme").output.startswith("Error: there is a custom field 'Branch' already")
    assert acme("custom-fields", "list", "--client", "acme", "--record", "none").exit_code == 2


def test_rename_and_merge__run_the_job_or_show_what_it_would_do(acme: Run) -> None:
    tried = acme("custom-fields", "rename", "Industry", "Sector", "--client", "acme", "--dry-run")
    assert "records" in tried.output
    assert "{'Industry': 'fintech', 'Sector': None} -> {'Industry': None, 'Sector': 'fintech'}" in tried.output
    assert "Sector" not in fields(acme)

    renamed = acme("custom-fields", "rename", "Industry", "Sector", "--client", "acme", "--json")
    merged = acme("custom-fields", "merge", "Branch", "Sector", "--client", "acme")
    spelt = acme("custom-fields", "merge-values", "Sector", "Fintech", "--value", "fintech", "--client", "acme", "--json")

    assert json.loads(renamed.stdout)["progress"] == {"records": 1, "total": 1, "percent": 100}
    assert "records  2" in merged.output
    assert json.loads(spelt.stdout)["state"] == "succeeded"
    assert fields(acme) == {"Sector": 2, "Seats": 2}
    missing = acme("custom-fields", "rename", "Industri", "x", "--client", "acme")
    assert missing.output == "Error: there is no custom field 'Industri': `touchbase custom-fields list` shows all\n"
    assert acme("custom-fields", "merge", "Sector", "Sector", "--client", "acme").exit_code == 2
    assert acme("verify").exit_code == 0


def test_set_type_and_remove__refuse_what_would_lose_values(acme: Run) -> None:
    tried = acme("custom-fields", "set-type", "Seats", "number", "--client", "acme", "--dry-run", "--json")
    refused = acme("custom-fields", "set-type", "Seats", "number", "--client", "acme")
    stored = acme("custom-fields", "set-type", "Seats", "number", "--client", "acme", "--keep-misfits", "--json")
    assert (json.loads(tried.stdout)["misfits"], json.loads(tried.stdout)["samples"][0]["value"]) == (1, "many")
    assert (refused.exit_code, "1 values are not of this type, such as 'many'" in refused.output) == (1, True)
    assert json.loads(stored.stdout)["type"] == "number"

    blocked = acme("custom-fields", "remove", "Seats", "--client", "acme")
    removed = acme("custom-fields", "remove", "Seats", "--values", "--client", "acme")
    assert blocked.output == "Error: 2 contacts have a value of 'Seats'; add --values to remove these too\n"
    assert removed.exit_code == 0, removed.output
    assert fields(acme) == {"Branch": 2, "Industry": 1}
    acme("custom-fields", "add", "Tier", "--client", "acme")
    assert acme("custom-fields", "remove", "Tier", "--client", "acme").exit_code == 0
    assert "Tier" not in fields(acme)
