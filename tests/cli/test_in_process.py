"""Commands without a server: the application runs inside the command's process."""

from __future__ import annotations

import gc
import json
import threading
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from touchbase.statuses import job as status_job
from touchbase_client import Touchbase

ACME = ("--client", "acme")


@pytest.fixture
def acme(store: Run) -> Run:
    assert store("clients", "add", "acme").exit_code == 0
    return store


def test_command__needs_no_key_although_the_server_does(acme: Run) -> None:
    created = acme("contacts", "create", "email=ann@example.com", "cf.Seats=40", *ACME, "--json", env={"TOUCHBASE_AUTH": "api-key"})
    shown = acme("contacts", "get", str(json.loads(created.stdout)["id"]), *ACME, "--json")

    assert json.loads(shown.stdout)["contact_custom_fields"] == {"Seats": "40"}


def test_command__makes_no_client_and_works_for_a_suspended_one(acme: Run) -> None:
    unknown = acme("contacts", "create", "email=ann@example.com", "--client", "nobody")
    acme("clients", "suspend", "acme")
    created = acme("contacts", "create", "email=ann@example.com", *ACME)

    assert (unknown.exit_code, unknown.output) == (1, "Error: there is no client 'nobody': `touchbase clients list` shows all\n")
    assert created.exit_code == 0, created.output
    assert [item["client_id"] for item in json.loads(acme("clients", "list", "--json").stdout)] == ["acme"]


def test_command__stores_no_response_and_leaves_no_thread(acme: Run) -> None:
    before = {*threading.enumerate()}

    acme("contacts", "create", "email=ann@example.com", *ACME)
    erased = json.loads(acme("persons", "erase", "--email", "ann@example.com", *ACME, "--yes", "--json").stdout)

    assert erased["removed"].get("kept_answers", 0) == 0
    assert [item.name for item in {*threading.enumerate()} - before if item.name == "application"] == []


def test_fault__names_the_option_and_is_a_usage_error(acme: Run) -> None:
    wrong = acme("events", "list", *ACME, "--after", "x")
    body = acme("contacts", "create", "emial=ann@example.com", *ACME)

    assert (wrong.exit_code, "Error: --after: " in wrong.output) == (2, True)
    assert (body.exit_code, "Error: /emial: " in body.output) == (2, True)


def test_store_that_cannot_be_opened__leaves_garbage_collection_on(store: Run, tmp_path: Path) -> None:
    failed = store("contacts", "list", *ACME, "--database", f"sqlite:///{tmp_path}/missing.db")

    assert (failed.exit_code, "there is no store at" in failed.output) == (1, True)
    assert gc.isenabled()


def test_unexpected_error__reaches_the_command(acme: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def fail(*arguments: object) -> None:
        raise ZeroDivisionError("in the application")

    monkeypatch.setattr("touchbase.http.endpoint.Call.client", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    failed = acme("contacts", "list", *ACME)

    assert (failed.exit_code, "ZeroDivisionError" in failed.output) == (1, True)


def test_job__that_is_interrupted_goes_on_in_a_worker(acme: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_job, "SETTLED", 0)
    acme("contacts", "create", "email=ann@example.com", "contact_status=open", *ACME)

    def interrupt(tb: Touchbase, seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr("touchbase.jobs.worker.JobWorker.run_job", _not_run)
        stopped.setattr(Touchbase, "sleep", interrupt)
        result = acme("statuses", "rename", "open", "begun", *ACME)
    acme("worker", "--once")

    assert result.exit_code == 130
    assert "continues in a running server, or with `touchbase worker`" in result.output
    assert acme("contacts", "list", "--filter", "contact_status=begun", *ACME, "--json").stdout != "[]\n"


async def _not_run(worker: object, client: int, job_id: int) -> bool:
    """Leave a job to another process."""
    return False


def test_list__goes_on_behind_an_id(acme: Run) -> None:
    for name in "abc":
        acme("suppressions", "add", f"{name}@example.com", *ACME)

    first = acme("suppressions", "list", *ACME, "--limit", "2")
    ids = [item["id"] for item in json.loads(acme("suppressions", "list", *ACME, "--json").stdout)]
    last = json.loads(acme("suppressions", "list", *ACME, "--after", str(ids[1]), "--json").stdout)

    assert first.stderr == f"there are more: --after {ids[1]}\n"
    assert [item["id"] for item in last] == [ids[2]]
