"""The faults find nothing on a whole server, and find what is wrong with a broken one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fault_tests.__main__ import main
from fault_tests.crash_points import ANSWER_POINTS

pytestmark = pytest.mark.serial

PATIENT = "15"
"""Seconds without any progress: a client whose turn met a full disk is left alone for ten."""


def report_of(folder: Path, *arguments: str, engine: str = "sqlite") -> tuple[int, list[dict[str, Any]]]:
    """The status and the rows of a short run on SQLite, or on PostgreSQL."""
    # Without a fault the wait ends with the last delivery; a cold start of the server and its processes takes seconds on a busy machine.
    still = "2" if "--broken" in arguments else PATIENT
    mounts = [] if {"disk", "pgdisk", "spool"} & {*arguments} else ["--no-mounts"]  # these skip by themselves where nothing can be mounted
    status = main(["--still", still, *arguments, "--short", "--engine", engine, "--out", str(folder), "--seed", "7", *mounts])
    return status, json.loads((folder / "report.json").read_text())["rows"]


def harm(row: dict[str, Any]) -> list[str]:
    """What is wrong. Goals of speed, told last, are for `make fault-tests`: a machine that tests is busy."""
    complaints: list[str] = row["complaints"]
    return complaints[: len(complaints) - row["missed"]]


def test_killed_server__loses_nothing(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "kill", "--rounds", "1")

    assert (status, harm(row), row["survived"]) == (0, [], True)
    assert row["acknowledged"] > 20


@pytest.mark.weekly
def test_response_before_commit__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "kill", "--rounds", "3", "--broken", "no-flush")

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] + row["twice"] > 0, "a number whose write was lost is given again, which counts as applied twice"


@pytest.mark.parametrize("fault", ["duplicates", "apply"])
def test_sound_server__passes_the_duplicates_and_apply_faults(tmp_path: Path, fault: str) -> None:
    status, (row,) = report_of(tmp_path, "--only", fault, "--rounds", "1")

    assert (status, harm(row), row["survived"]) == (0, [], True)


@pytest.mark.weekly
def test_missing_deduplication__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "duplicates", "--rounds", "1", "--broken", "no-dedup")

    assert (status, row["twice"]) == (1, 62)


@pytest.mark.weekly
def test_missing_polling__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "apply", "--rounds", "1", "--broken", "no-polling")

    assert (status, row["lost"]) == (1, row["acknowledged"])
    assert "deliveries of apply-0 are never applied" in row["complaints"]


@pytest.mark.parametrize("fault", ["power", "io", "points", "clock"])
def test_sound_server__passes_the_disk_and_clock_faults(tmp_path: Path, fault: str) -> None:
    status, (row,) = report_of(tmp_path, "--only", fault, "--rounds", "1")

    assert (status, harm(row), row["survived"]) == (0, [], True)
    assert row["acknowledged"] > 20


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("fault", "way"),
    [("power", "no-sync"), ("io", "no-refusal"), ("points", "no-polling"), ("points", "no-apply"), ("clock", "no-event-times")],
)
def test_broken_server__is_detected_by_the_disk_and_clock_faults(tmp_path: Path, fault: str, way: str) -> None:
    status, (row,) = report_of(tmp_path, "--only", fault, "--rounds", "1", "--broken", way)

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] > 0 or fault == "clock"


@pytest.mark.parametrize("fault", ["postgres", "failover"])
def test_killed_postgresql__loses_nothing(tmp_path: Path, fault: str) -> None:
    status, (row,) = report_of(tmp_path, "--only", fault, "--rounds", "1", engine="postgresql")

    assert (status, harm(row), row["survived"]) == (0, [], True)
    assert row["acknowledged"] > 20
    assert row["more"]["refused"] > 0


@pytest.mark.weekly
@pytest.mark.parametrize("fault", ["postgres", "failover"])
def test_response_before_commit__is_detected_on_postgresql(tmp_path: Path, fault: str) -> None:
    # Several rounds, as it has happened that no response was under way when the server was killed.
    status, (row,) = report_of(tmp_path, "--only", fault, "--rounds", "3", "--broken", "no-flush", engine="postgresql")

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] > 0


def test_hostile_bodies__cost_a_server_little(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "budget")

    assert (status, harm(row), row["survived"]) == (0, [], True)


@pytest.mark.weekly
def test_parsing_inside_the_server__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "budget", "--broken", "no-sandbox")

    assert (status, row["survived"]) == (1, False)
    assert any("of one thread of the server" in complaint for complaint in row["complaints"])


@pytest.mark.weekly
def test_lost_response_reported_as_refusal__is_detected(tmp_path: Path) -> None:
    # Several rounds, as it has happened that a kill met no call whose answer was late.
    status, (row,) = report_of(tmp_path, "--only", "postgres", "--rounds", "3", "--broken", "no-unknown-outcome", engine="postgresql")

    assert (status, row["survived"]) == (1, False)
    assert any(complaint.endswith("was refused and is there") for complaint in row["complaints"])


def test_full_postgresql_disk__is_refused_with_a_reason(tmp_path: Path) -> None:
    status, rows = report_of(tmp_path, "--only", "pgdisk", "--rounds", "1", engine="postgresql")

    if not rows:
        pytest.skip("no file system can be mounted here")
    assert (status, harm(rows[0])) == (0, [])
    assert rows[0]["more"]["refused"] > 0


@pytest.mark.weekly
def test_full_disk_reported_as_server_error__is_detected(tmp_path: Path) -> None:
    status, rows = report_of(tmp_path, "--only", "pgdisk", "--rounds", "1", "--broken", "no-transient-errors", engine="postgresql")

    if not rows:
        pytest.skip("no file system can be mounted here")
    assert status == 1
    assert any("500" in complaint for complaint in rows[0]["complaints"])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_webhooks_of_a_store_that_is_away__are_stored_once_with_their_times(tmp_path: Path, engine: str) -> None:
    status, rows = report_of(tmp_path, "--only", "spool", "--rounds", "2", engine=engine)

    if not rows:
        pytest.skip("no PostgreSQL can be started here")
    assert (status, harm(rows[0])) == (0, [])
    assert rows[0]["more"]["spooled"] >= 120


@pytest.mark.slow
@pytest.mark.parametrize("engine", [pytest.param("sqlite", marks=pytest.mark.weekly), "postgresql"])
def test_split_that_is_killed__loses_and_doubles_nothing(tmp_path: Path, engine: str) -> None:
    status, rows = report_of(tmp_path, "--only", "split", engine=engine)

    if not rows:
        pytest.skip("no PostgreSQL can be started here")
    assert (status, [harm(row) for row in rows]) == (0, [[], []])
    assert all(row["acknowledged"] > 100 for row in rows)


@pytest.mark.weekly
@pytest.mark.slow
def test_split_without_a_fence__is_detected(tmp_path: Path) -> None:
    status, rows = report_of(tmp_path, "--only", "split", "--broken", "no-fence")

    if not rows:
        pytest.skip("no PostgreSQL can be started here")
    assert (status, any(harm(row) for row in rows)) == (1, True)


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "rounds", "says"),
    [
        ("no-spool-flush", "1", "lost: webhook about"),
        ("no-spool-times", "1", "has not the time of its receipt"),
        ("no-spool-refusal", "2", "webhooks are not refused on the full disk of the spool"),
    ],
)
def test_spool_that_breaks_a_promise__is_detected(tmp_path: Path, broken: str, rounds: str, says: str) -> None:
    status, rows = report_of(tmp_path, "--only", "spool", "--rounds", rounds, "--broken", broken, engine="postgresql")

    if not rows or "of the spool was not tested" in (tmp_path / "report.json").read_text():
        pytest.skip("no PostgreSQL can be started here, or no file system be mounted")
    assert status == 1
    assert any(says in complaint for complaint in rows[0]["complaints"])


def test_slow_clients__are_disconnected_and_others_are_served(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "peers")

    assert (status, row["wrong"], row["lost"]) == (0, 0, 0)
    assert row["acknowledged"] > 20
    assert row["more"]["idle connections"] == 20
    assert row["more"]["cut"] >= 20


@pytest.mark.weekly
def test_missing_deadline__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "peers", "--broken", "no-deadline")

    assert status == 1
    assert "5 peers with slow headers were never cut" in row["complaints"]


def test_graceful_stop__completes_accepted_requests(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "stop", "--rounds", "1")

    assert (status, harm(row), row["survived"]) == (0, [], True)
    assert row["acknowledged"] > 20


@pytest.mark.weekly
def test_missing_graceful_stop__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "stop", "--rounds", "3", "--broken", "no-graceful-stop")

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] > 0


def test_overload__is_refused_without_loss(tmp_path: Path) -> None:
    status, rows = report_of(tmp_path, "--only", "overload")

    assert (status, [(row["wrong"], row["lost"]) for row in rows]) == (0, [(0, 0)] * 2)
    assert rows[1]["more"]["refused"] > 0


@pytest.mark.weekly
def test_missing_request_limit__is_detected(tmp_path: Path) -> None:
    status, rows = report_of(tmp_path, "--only", "overload", "--broken", "no-limit")

    assert (status, [row["wrong"] for row in rows]) == (1, [0, 1])


@pytest.mark.parametrize(("broken", "status"), [((), 0), (("--broken", "no-refusal"), 1)])
def test_full_disk__reveals_a_server_that_acknowledges_lost_writes(tmp_path: Path, broken: tuple[str, ...], status: int) -> None:
    result, rows = report_of(tmp_path, "--only", "disk", "--rounds", "1", "--still", PATIENT, *broken)

    if not rows:
        pytest.skip("no file system can be mounted here")
    assert (result, rows[0]["lost"] > 0) == (status, status == 1)


def test_single_delivery__is_applied_before_the_backlog_of_another_client(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "neighbour")

    assert (status, row["wrong"], row["lost"]) == (0, 0, 0)
    assert row["more"]["others before the first"] < row["more"]["backlog"]


@pytest.mark.weekly
def test_missing_fair_queueing__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "neighbour", "--broken", "no-fair-queueing")

    assert (status, row["wrong"]) == (1, 1)
    assert row["more"]["others before the first"] == row["more"]["backlog"]


def test_killed_import__does_every_row_once(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "import", "--still", PATIENT)

    assert (status, harm(row), row["survived"]) == (0, [], True)
    assert row["more"]["kills"] > 1


def test_killed_sender_of_webhooks__loses_and_reorders_nothing(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "outgoing", "--still", PATIENT)

    assert (status, harm(row), row["survived"]) == (0, [], True)
    assert row["more"]["kills"] > 1


@pytest.mark.weekly
def test_webhooks_without_rows_for_failures__are_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "outgoing", "--still", PATIENT, "--broken", "no-pending-webhooks")

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] > 0


@pytest.mark.parametrize(("fault", "engine"), [("receivers", "sqlite"), ("results", "sqlite"), ("senders", "postgresql")])
def test_sound_server__passes_the_faults_around_sent_webhooks(tmp_path: Path, fault: str, engine: str) -> None:
    status, (row,) = report_of(tmp_path, "--only", fault, "--still", PATIENT, engine=engine)

    assert (status, harm(row), row["survived"]) == (0, [], True)
    assert row["acknowledged"] > 20


@pytest.mark.parametrize(
    ("fault", "way", "engine", "count"),
    [
        ("receivers", "no-failed-attempts", "sqlite", "lost"), ("results", "no-refused-results", "sqlite", "lost"),
        ("senders", "no-webhook-leases", "postgresql", "twice"),
    ],
)  # fmt: skip
@pytest.mark.weekly
def test_broken_server__is_detected_by_the_faults_around_sent_webhooks(
    tmp_path: Path, fault: str, way: str, engine: str, count: str
) -> None:  # fmt: skip
    status, (row,) = report_of(tmp_path, "--only", fault, "--still", PATIENT, "--broken", way, engine=engine)

    assert (status, row["survived"]) == (1, False)
    assert row[count] > 0


@pytest.mark.weekly
def test_checkpoint_before_its_rows__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "import", "--still", PATIENT, "--broken", "no-job-transaction")

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] > 0


def test_killed_server__sends_no_answer_twice_and_loses_none(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "answers", "--rounds", "1")

    assert (status, harm(row), row["survived"], row["acknowledged"]) == (0, [], True, len(ANSWER_POINTS))


@pytest.mark.weekly
def test_answer_that_is_queued_again__is_detected(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "answers", "--rounds", "1", "--broken", "answers-again")

    assert (status, row["survived"]) == (1, False)
    assert row["twice"] > 0
