"""What each metric counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.timestamps import SECOND
from touchbase.connections.fetch_state import FetchOutcome
from touchbase.events.work import WorkReport
from touchbase.server.exposition import Exposition, SharedMetrics
from touchbase.server.metrics import REQUEST_BUCKETS, Metrics

NOW = 1_800_000_000_000_000
REQUEST = {"route": "/public/v2/contacts", "method": "POST", "status": "201"}


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"touchbase_{name}", labels)


def test_delivery_received__counts_repeats_apart() -> None:
    metrics = Metrics()

    metrics.delivery_received("crm", repeated=False)
    metrics.delivery_received("crm", repeated=True)
    metrics.delivery_received("crm", repeated=True)

    assert value(metrics, "deliveries_received_total", channel="crm", outcome="stored") == 1
    assert value(metrics, "deliveries_received_total", channel="crm", outcome="repeated") == 2
    assert value(metrics, "deliveries_received_total", channel="email_campaign", outcome="stored") == 0


def test_delivery_refused__counts_by_channel_tool_and_cause() -> None:
    metrics = Metrics()

    metrics.delivery_refused("crm", "hubspot", "not_verified")
    metrics.delivery_refused("crm", None, "rate")

    assert value(metrics, "deliveries_refused_total", channel="crm", tool="hubspot", cause="not_verified") == 1
    assert value(metrics, "deliveries_refused_total", channel="crm", tool="", cause="rate") == 1


def test_worked__counts_deliveries_by_channel_tool_and_outcome() -> None:
    metrics = Metrics()

    metrics.worked(WorkReport(taken=5, outcomes={("crm", "hubspot", "applied"): 3, ("crm", "", "unrecognised"): 2}, created=2))
    metrics.worked(WorkReport(taken=1, outcomes={("crm", "hubspot", "applied"): 1}, problems={"time_ahead": 1}))

    assert value(metrics, "deliveries_processed_total", channel="crm", tool="hubspot", outcome="applied") == 4
    assert value(metrics, "deliveries_processed_total", channel="crm", tool="", outcome="unrecognised") == 2
    assert value(metrics, "delivery_problems_total", code="time_ahead") == 1
    assert value(metrics, "records_created_total") == 2


def test_worked__measures_how_long_applied_deliveries_waited() -> None:
    metrics = Metrics(lambda: NOW)

    metrics.worked(WorkReport(applied_since_us=[NOW - SECOND // 2, NOW - 20 * SECOND, NOW + SECOND]))

    assert value(metrics, "delivery_apply_delay_seconds_count") == 3
    assert value(metrics, "delivery_apply_delay_seconds_sum") == 20.5
    assert value(metrics, "delivery_apply_delay_seconds_bucket", le="0.5") == 2
    assert value(metrics, "delivery_apply_delay_seconds_bucket", le="30.0") == 3


def test_fetched__counts_calls_and_records() -> None:
    metrics = Metrics()

    metrics.fetched(FetchOutcome("hubspot", "records", 7))
    metrics.fetched(FetchOutcome("hubspot", "failed"))

    assert value(metrics, "fetch_calls_total", tool="hubspot", outcome="records") == 1
    assert value(metrics, "fetch_calls_total", tool="hubspot", outcome="failed") == 1
    assert value(metrics, "records_fetched_total", tool="hubspot") == 7


@given(st.lists(st.floats(0, 100)))
def test_request_ended__counts_into_every_bucket_that_holds_the_duration(seconds: list[float]) -> None:
    metrics = Metrics()

    for each in seconds:
        metrics.request_ended("/public/v2/contacts", "POST", 201, each)

    for end in REQUEST_BUCKETS if seconds else ():
        held = sum(each <= end for each in seconds)
        assert value(metrics, "http_request_duration_seconds_bucket", le=str(end), **REQUEST) == held


def test_request_ended__makes_no_series_for_methods_that_a_caller_invents() -> None:
    metrics = Metrics()

    for method in ("PROPFIND", "MKCOL"):
        metrics.request_ended("unmatched", method, 405, 0.001)

    assert value(metrics, "http_request_duration_seconds_count", route="unmatched", method="other", status="405") == 2


def test_set_load__counts_only_new_dropped_lines() -> None:
    metrics = Metrics()

    metrics.set_load(connections=3, requests=1, queued=2, dropped=5)
    metrics.set_load(connections=4, requests=1, queued=0, dropped=6)

    assert value(metrics, "http_connections") == 4
    assert value(metrics, "store_queue_depth") == 0
    assert value(metrics, "log_lines_dropped_total") == 6


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

    _, page = Exposition(Metrics(), "1.2.3", shared).text("", [])

    shared.remove()
    assert b'touchbase_build_info{version="1.2.3"} 1.0' in page
