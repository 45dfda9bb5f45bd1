"""`touchbase statuses`: define, rename and merge statuses on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from touchbase.statuses import job as status_job

ACME = ("--client", "acme")
PEOPLE = "email,status\nann@example.com,replied\nben@example.com,replied\neve@example.com,Lead\n"


@pytest.fixture
def people(store: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A store with a client that has three contacts; no other process may write."""
    monkeypatch.setattr(status_job, "SETTLED", 0)
    assert store("clients", "add", "acme").exit_code == 0
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    result = store("contacts", "import", str(file), *ACME, "--map", "status=contact_status")
    assert result.exit_code == 0, result.output
    return store


def listed(run: Run, *options: str) -> dict[str, Any]:
    result = run("statuses", "list", *ACME, *options, "--json")
    assert result.exit_code == 0, result.output
    return {item["name"]: item for item in json.loads(result.stdout)}


def test_rename__shows_what_would_change_then_changes_it(people: Run) -> None:
    preview = people("statuses", "rename", *ACME, "replied", "Interested", "--dry-run")
    before = listed(people)
    done = people("statuses", "rename", *ACME, "replied", "Interested")
    table = people("statuses", "list", *ACME).output

    assert "from now on Touchbase sets 'Interested' in place of 'replied'" in preview.output
    assert "Interested" not in before
    assert "'replied' is 'Interested' from now on: job " in done.output
    assert "succeeded, 2 records changed" in done.output
    assert (listed(people)["Interested"]["records"], listed(people)["Interested"]["stands_for"]) == (2, ["replied"])
    assert "Interested" in table
    assert people("verify").exit_code == 0


def test_rename__without_waiting_leaves_the_job_to_a_worker(people: Run) -> None:
    started = json.loads(people("statuses", "rename", *ACME, "replied", "Interested", "--no-wait", "--json").stdout)
    during = people("verify")

    assert started["job"]["state"] == "queued"
    assert during.exit_code == 0
    assert f"job {started['job']['id']} is giving records the new name of a status" in during.stderr
    assert listed(people)["Interested"]["renaming"] == 2


def test_statuses_commands__merge_add_and_remove(people: Run) -> None:
    refused = people("statuses", "add", *ACME, "Won")
    added = people("statuses", "add", *ACME, "Won", "--start-set")
    in_use = people("statuses", "remove", *ACME, "Lead")
    merged = json.loads(people("statuses", "merge", *ACME, "Lead", "Won", "--json").stdout)
    removed = people("statuses", "remove", *ACME, "bounced")

    assert "start_set" in refused.output
    assert added.output == "'Won' is a status of contacts\n"
    assert "merge it into another one first" in in_use.output
    assert (merged["job"]["kind"], merged["job"]["progress"]["changed"]) == ("contacts.merge_statuses", 1)
    assert removed.output == "removed: bounced\n"
    assert [name for name, value in listed(people).items() if value["declared"]] == ["Won", "contacted", "do_not_contact", "replied"]
    assert people("statuses", "rename", *ACME, "Won", " ").exit_code == 2
    assert listed(people, "--kind", "companies")["replied"]["records"] == 0
