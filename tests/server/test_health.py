"""Metrics and health over a real store."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from docs import build
from tests.server.conftest import RawConnection, Start, dispatched

from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.deliveries.delivery import Delivery
from touchbase.errors import Overloaded, UnrecognisedPayload
from touchbase.history.events import Event, Translation
from touchbase.inbox.sql.commands import store_delivery
from touchbase.server.health import Operations
from touchbase.server.logs import LineWriter
from touchbase.server.metrics import ProcessMetrics
from touchbase.sql.store import Store

NOW = 1_800_000_000_000_000


@pytest.fixture
def operations(memory: Store) -> Operations:
    return Operations(memory, lambda: NOW, ProcessMetrics(), version="0.0.7")


async def get(caller: RawConnection, path: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
    await caller.send(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    status, headers, body = await caller.response()
    return status, headers, body.decode()


async def test_get_metrics__returns_the_prometheus_text_format(start: Start, operations: Operations) -> None:
    caller = await (await start(dispatched(operations))).call()

    status, headers, text = await get(caller, "/metrics")

    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert '\ntouchbase_build_info{version="0.0.7"} 1.0\n' in text
    assert "\ntouchbase_store_queue_depth 0.0\n" in text
    assert '\ntouchbase_inbox_oldest_delivery_age_seconds{state="received"} 0.0\n' in text


async def test_metrics__are_those_that_the_page_lists(start: Start, operations: Operations) -> None:
    caller = await (await start(dispatched(operations))).call()

    _, _, text = await get(caller, "/metrics")

    shown = {(line.split()[2], line.split()[3]) for line in text.splitlines() if line.startswith("# TYPE")}
    page = build.render((build.DOCS / "reference" / "metrics.md").read_text(encoding="utf-8"))
    assert shown == set(re.findall(r"^\| `(\w+)`[^|]*\| (\w+) \|", page, re.MULTILINE))


@pytest.mark.parametrize(
    ("accept", "content_type", "end"),
    [
        (
            "application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "# EOF\n",
        ),
        ("text/plain", "text/plain; version=0.0.4; charset=utf-8", "\n"),
        ("text/plain;version=new", "text/plain; version=0.0.4; charset=utf-8", "\n"),
    ],
)
async def test_metrics__have_the_format_that_is_asked_for(
    start: Start, operations: Operations, accept: str, content_type: str, end: str
) -> None:
    caller = await (await start(dispatched(operations))).call()

    await caller.send(f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n".encode())
    status, headers, body = await caller.response()

    assert (status, headers["content-type"].partition("; escaping")[0]) == (200, content_type)
    assert body.decode().endswith(end)


async def test_publish__counts_only_new_dropped_lines(operations: Operations, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        operations.writer = LineWriter(file.fileno())
        for operations.writer.dropped in (5, 6):
            operations.publish()
        operations.writer.close()

    assert operations.metrics.registry.get_sample_value("touchbase_log_lines_dropped_total") == 6


async def test_metrics__are_there_without_those_of_the_inbox_where_it_cannot_be_read(
    start: Start, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(query: object) -> None:
        raise Overloaded("the disk is full")

    monkeypatch.setattr(operations.store, "read", full)
    caller = await (await start(dispatched(operations))).call()

    status, _, text = await get(caller, "/metrics")

    assert status == 200
    assert "\ntouchbase_store_queue_depth 0.0\n" in text
    assert "\ntouchbase_inbox_deliveries{" not in text


async def test_get_metrics__reports_the_number_and_oldest_age_of_deliveries_by_state(
    start: Start, operations: Operations, memory: Store
) -> None:
    client = (await memory.write(ensure_client("acme", NOW))).number
    parked = Translation("test", [Event("contact.updated", object_id="7")])
    puzzled, broken = UnrecognisedPayload("a riddle"), ZeroDivisionError("a fault")
    for number, (age, outcome) in enumerate([(50, parked), (40, parked), (30, puzzled), (20, broken), (10, None)]):
        await memory.write(store_delivery(client, "crm", bytes([number] * 16), b"{}", "", b"{}", NOW - age * SECOND))

        def translate(delivery: Delivery, outcome: Any = outcome) -> Translation:
            if isinstance(outcome, Exception):
                raise outcome
            return outcome  # type: ignore[no-any-return]

        if outcome is not None:
            await memory.work(client, 10, translate, NOW)
    caller = await (await start(dispatched(operations))).call()

    _, _, text = await get(caller, "/metrics")

    rsplits = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("touchbase_inbox_"))
    assert rsplits == {
        'touchbase_inbox_deliveries{state="failed"}': "0.0",
        'touchbase_inbox_deliveries{state="parked"}': "2.0",
        'touchbase_inbox_deliveries{state="received"}': "2.0",
        'touchbase_inbox_deliveries{state="unrecognised"}': "1.0",
        'touchbase_inbox_oldest_delivery_age_seconds{state="failed"}': "0.0",
        'touchbase_inbox_oldest_delivery_age_seconds{state="parked"}': "50.0",
        'touchbase_inbox_oldest_delivery_age_seconds{state="received"}': "20.0",
        'touchbase_inbox_oldest_delivery_age_seconds{state="unrecognised"}': "30.0",
    }


async def test_get_health_live__returns_live(start: Start, operations: Operations) -> None:
    caller = await (await start(dispatched(operations))).call()

    status, _, body = await get(caller, "/health/live")

    assert (status, json.loads(body)) == (200, {"status": "live"})


async def test_get_health_ready__returns_ready_when_the_store_can_write(start: Start, operations: Operations) -> None:
    caller = await (await start(dispatched(operations))).call()

    status, _, body = await get(caller, "/health/ready")

    assert (status, json.loads(body)) == (200, {"status": "ready"})


async def test_get_health_ready__returns_503_when_the_store_is_full_and_live_stays_200(
    start: Start, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full() -> None:
        raise Overloaded("the disk is full")

    monkeypatch.setattr(operations.store, "check", full)
    caller = await (await start(dispatched(operations))).call()

    ready, headers, body = await get(caller, "/health/ready")
    live, _, _ = await get(caller, "/health/live")

    assert (ready, headers["retry-after"], json.loads(body)["detail"]) == (503, "1", "the disk is full")
    assert live == 200


async def test_get_health_ready__returns_503_during_shutdown(start: Start, operations: Operations) -> None:
    operations.stopping = lambda: True
    caller = await (await start(dispatched(operations))).call()

    status, _, body = await get(caller, "/health/ready")

    assert (status, json.loads(body)["code"]) == (503, "shutting_down")


@pytest.mark.parametrize("path", ["/metrics", "/health/live", "/health/ready"])
async def test_operations_routes__allow_get_and_head_only(start: Start, operations: Operations, path: str) -> None:
    caller = await (await start(dispatched(operations))).call()

    status, headers, _ = await get(caller, path, "DELETE")

    assert (status, headers["allow"]) == (405, "GET, HEAD")


async def test_operations_routes__pass_other_paths_to_the_application(start: Start, operations: Operations) -> None:
    caller = await (await start(dispatched(operations))).call()

    await caller.send(b"POST /metrics/more HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")
    response: Any = await caller.response()

    assert (response[0], response[2]) == (200, b"hello")


async def test_store_warnings__appear_in_health_ready_and_in_metrics(start: Start, operations: Operations, memory: Any) -> None:
    caller = await (await start(dispatched(operations))).call()
    _, _, before = await get(caller, "/health/ready")
    memory.warnings = ["the role is a superuser"]

    status, _, ready = await get(caller, "/health/ready")
    _, _, metrics = await get(caller, "/metrics")

    assert json.loads(before) == {"status": "ready"}
    assert (status, json.loads(ready)) == (200, {"status": "ready", "warnings": ["the role is a superuser"]})
    assert "\ntouchbase_store_warnings 1.0\n" in metrics


async def test_hide_details__leaves_the_reason_to_the_log(
    start: Start, memory: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full() -> None:
        raise Overloaded("the disk is full")

    caller = await (await start(dispatched(Operations(memory, lambda: NOW, ProcessMetrics(), hide_details=True)))).call()
    memory.warnings = ["the role is a superuser"]
    status, _, ready = await get(caller, "/health/ready")
    with monkeypatch.context() as broken:
        broken.setattr(memory, "check", full)
        refused, _, said = await get(caller, "/health/ready")

    assert (status, json.loads(ready)) == (200, {"status": "ready"})
    assert (refused, "disk" in said) == (503, False)
    assert "not ready: the disk is full" in caplog.text


async def test_get_health_ready__logs_the_reason_once_and_the_recovery(
    start: Start, operations: Operations, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full() -> None:
        raise Overloaded("the disk is full")

    caller = await (await start(dispatched(operations))).call()
    with monkeypatch.context() as broken, caplog.at_level("INFO", "touchbase"):
        broken.setattr(operations.store, "check", full)
        for _ in range(2):
            status, _, _ = await get(await (await start(dispatched(operations))).call(), "/health/ready")
            assert status == 503
        broken.undo()
        await get(caller, "/health/ready")

    assert [record.message for record in caplog.records if "ready" in record.message] == ["not ready: the disk is full", "ready again"]
