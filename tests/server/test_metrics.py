"""What each metric counts, through the definitions of `touchbase.metrics`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.timestamps import SECOND
from touchbase.connections.fetch_state import FetchOutcome
from touchbase.deliveries.work import WorkReport
from touchbase.enrichment.worker import count_fetch
from touchbase.inbox.worker import count_report
from touchbase.metrics import (
    DELIVERIES_RECEIVED,
    HTTP_CONNECTIONS,
    HTTP_REQUEST_DURATION,
    METRICS,
    RECORDS_CREATED,
    REQUEST_BUCKETS,
    Counter,
    Histogram,
)
from touchbase.server.metrics import Exposition, ProcessMetrics, SharedMetrics

NOW = 1_800_000_000_000_000
REQUEST = {"route": "/public/v2/contacts", "method": "POST", "status": "201"}


def value(metrics: ProcessMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"touchbase_{name}", labels)


def test_count__adds_per_value_of_the_labels() -> None:
    metrics = ProcessMetrics()

    metrics.count(DELIVERIES_RECEIVED, "crm", "stored")
    metrics.count(DELIVERIES_RECEIVED, "crm", "repeated")
    metrics.count(DELIVERIES_RECEIVED, "crm", "repeated", amount=2)
    metrics.count(RECORDS_CREATED, amount=4)

    assert value(metrics, "deliveries_received_total", channel="crm", outcome="stored") == 1
    assert value(metrics, "deliveries_received_total", channel="crm", outcome="repeated") == 3
    assert value(metrics, "deliveries_received_total", channel="email_campaign", outcome="stored") == 0
    assert value(metrics, "records_created_total") == 4


def test_set__replaces_a_gauge() -> None:
    metrics = ProcessMetrics()

    metrics.set(HTTP_CONNECTIONS, 3)
    metrics.set(HTTP_CONNECTIONS, 2)

    assert value(metrics, "http_connections") == 2


def test_count__refuses_an_undefined_metric_and_missing_labels() -> None:
    metrics = ProcessMetrics()
    undefined = Counter("touchbase_undefined_total", "Not in the table.", ())

    with pytest.raises(KeyError):
        metrics.count(undefined)
    with pytest.raises(ValueError, match="label"):
        metrics.count(DELIVERIES_RECEIVED, "crm")  # type: ignore[misc]


def test_definitions__follow_the_naming_of_prometheus() -> None:
    names = [metric.name for metric in METRICS]

    assert len(names) == len(set(names))
    assert all(name.startswith("touchbase_") for name in names)
    assert [metric.name.endswith("_total") for metric in METRICS] == [isinstance(metric, Counter) for metric in METRICS]
    assert all(metric.name.endswith("_seconds") for metric in METRICS if isinstance(metric, Histogram))


def test_count_report__counts_deliveries_by_channel_tool_and_outcome() -> None:
    metrics = ProcessMetrics()

    count_report(metrics, lambda: NOW, WorkReport(outcomes={("crm", "hubspot", "applied"): 3, ("crm", "", "unrecognised"): 2}, created=2))
    count_report(metrics, lambda: NOW, WorkReport(outcomes={("crm", "hubspot", "applied"): 1}, problems={"time_ahead": 1}))

    assert value(metrics, "deliveries_processed_total", channel="crm", tool="hubspot", outcome="applied") == 4
    assert value(metrics, "deliveries_processed_total", channel="crm", tool="", outcome="unrecognised") == 2
    assert value(metrics, "delivery_problems_total", code="time_ahead") == 1
    assert value(metrics, "records_created_total") == 2


def test_count_report__measures_how_long_applied_deliveries_waited() -> None:
    metrics = ProcessMetrics()

    count_report(metrics, lambda: NOW, WorkReport(applied_since_us=[NOW - SECOND // 2, NOW - 20 * SECOND, NOW + SECOND]))

    assert value(metrics, "delivery_apply_delay_seconds_count") == 3
    assert value(metrics, "delivery_apply_delay_seconds_sum") == 20.5
    assert value(metrics, "delivery_apply_delay_seconds_bucket", le="0.5") == 2
    assert value(metrics, "delivery_apply_delay_seconds_bucket", le="30.0") == 3


def test_count_fetch__counts_calls_and_records() -> None:
    metrics = ProcessMetrics()

    count_fetch(metrics, FetchOutcome("hubspot", "records", 7))
    count_fetch(metrics, FetchOutcome("hubspot", "failed"))

    assert value(metrics, "fetch_calls_total", tool="hubspot", outcome="records") == 1
    assert value(metrics, "fetch_calls_total", tool="hubspot", outcome="failed") == 1
    assert value(metrics, "records_fetched_total", tool="hubspot") == 7


@given(st.lists(st.floats(0, 100)))
def test_observe__counts_into_every_bucket_that_holds_the_duration(seconds: list[float]) -> None:
    metrics = ProcessMetrics()

    for entry in seconds:
        metrics.observe(HTTP_REQUEST_DURATION, entry, *REQUEST.values())

    for end in REQUEST_BUCKETS if seconds else ():
        held = sum(item <= end for item in seconds)
        assert value(metrics, "http_request_duration_seconds_bucket", le=str(end), **REQUEST) == held


def test_ended__removes_the_gauges_of_that_process_alone() -> None:
    shared = SharedMetrics()
    for name in ("counter_1.db", "gauge_livesum_1.db", "gauge_livesum_11.db", "1.pid", "11.pid"):
        (shared.folder / name).touch()

    shared.ended(1)

    left = {file.name for file in shared.folder.iterdir()}
    shared.remove()
    assert left == {"counter_1.db", "gauge_livesum_11.db", "11.pid"}
    assert not shared.folder.exists()


def test_text__leaves_out_a_file_that_a_process_is_just_making() -> None:
    shared = SharedMetrics()
    (shared.folder / "counter_2.db").touch()

    _, page = Exposition(ProcessMetrics(), "1.2.3", shared).text("", [])

    shared.remove()
    assert b'touchbase_build_info{version="1.2.3"} 1.0' in page
