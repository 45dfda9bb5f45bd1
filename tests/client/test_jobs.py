"""Files in both directions, and waiting for the jobs that read and write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from touchbase_client import AsyncTouchbase, JobFailed, JobTimeout, Touchbase
from touchbase_client.job_watch import JobWatch

CSV = b"email,first_name\n" + b"".join(b"%d@example.com,Ann\n" % number for number in range(30))


def test_import__of_a_file_is_waited_for_with_its_progress(tb: Touchbase, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(CSV)
    observed: list[str] = []

    preview = tb.imports.contacts(tmp_path / "people.csv")
    with pytest.raises(JobFailed, match=r"imports\.start"):
        tb.jobs.wait(preview["id"])
    tb.imports.start(preview["id"], {"mode": "upsert"})
    job = tb.jobs.wait(preview["id"], seconds=60, progress=lambda job: observed.append(job["state"]))

    assert (job["state"], job["progress"]["created"], observed[-1]) == ("succeeded", 30, "succeeded")
    assert job["settings"]["file_name"] == "people.csv"
    assert len([*tb.contacts.iterate(limit=200)]) == 30


async def test_async_import_and_export__of_bytes(atb: AsyncTouchbase, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(CSV)
    imported = await atb.imports.contacts(tmp_path / "people.csv", start=True, mode="upsert")
    await atb.jobs.wait(imported["id"], seconds=60)
    export = await atb.exports.start_contacts(format="csv", fields=["email"])
    job = await atb.jobs.wait(export["id"], seconds=60)
    pieces = [piece async for piece in atb.jobs.result.stream(job["id"])]

    assert b"".join(pieces) == await atb.jobs.result(job["id"])
    assert b"".join(pieces).count(b"@example.com") == 30


def test_export__is_read_in_pieces_or_at_once(tb: Touchbase) -> None:
    tb.contacts.create({"email": "ann@example.com"})

    assert b"ann@example.com" in tb.exports.contacts(format="csv")
    assert b"".join(tb.exports.contacts.stream(format="csv")) == tb.exports.contacts(format="csv")


def job(state: str, **more: Any) -> Any:
    return {"id": 5, "kind": "contacts.import", "state": state, "progress": {}, "error": None, **more}


def test_wait__says_how_a_job_ended() -> None:
    with pytest.raises(JobFailed, match="failed: no room"):
        JobWatch(None, None).look(job("failed", error="no room"))
    with pytest.raises(JobFailed, match="was cancelled") as cancelled:
        JobWatch(None, None).look(job("cancelled"))

    assert cancelled.value.job["id"] == 5
    assert JobWatch(None, None).look(job("succeeded")) is None


def test_wait__ends_in_time_and_looks_less_and_less_often() -> None:
    now = 0.0
    observed: list[dict[str, object]] = []
    watch = JobWatch(lambda job: observed.append(job["progress"]), 30.0, lambda: now)
    pauses: list[float] = []

    def wait() -> None:
        nonlocal now
        while (pause := watch.look(job("running", progress={"rows": int(now) // 11}))) is not None:
            pauses.append(pause)
            now += pause

    with pytest.raises(JobTimeout, match="still running after 30 s"):
        wait()

    assert pauses[0] == 0.1
    assert max(pauses) == 3.0
    assert now == 30.0
    assert observed == [{"rows": 0}, {"rows": 1}, {"rows": 2}]
