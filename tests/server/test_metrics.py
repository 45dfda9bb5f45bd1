"""Counting, and adding up what several processes have counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from touchbase.domain.ports import WorkReport
from touchbase.server.metrics import BUCKETS, HELP, Metrics, exposition
from touchbase.server.shared import Page, SharedPages, add_up


def lines_of(metrics: Metrics) -> list[str]:
    return exposition(metrics.counts, metrics.latencies).splitlines()


def test_a_repeated_delivery_counts_as_received_and_not_as_kept() -> None:
    metrics = Metrics()

    metrics.delivery_received("crm", repeated=False)
    metrics.delivery_received("crm", repeated=True)

    lines = lines_of(metrics)
    assert 'touchbase_deliveries_received_total{channel="crm"} 2' in lines
    assert 'touchbase_deliveries_kept_total{channel="crm"} 1' in lines
    assert 'touchbase_deliveries_repeated_total{channel="crm"} 1' in lines


def test_a_call_that_proves_nothing_is_counted_apart() -> None:
    metrics = Metrics()

    metrics.delivery_refused("crm", "hubspot", "not_verified")

    assert 'touchbase_deliveries_refused_total{channel="crm",tool="hubspot",cause="not_verified"} 1' in lines_of(metrics)


def test_what_the_worker_did_is_counted_by_the_state_it_ended_in() -> None:
    metrics = Metrics()

    metrics.worked(WorkReport(taken=5, ended={"applied": 3, "unrecognised": 1, "failed": 1}, created=2))
    metrics.worked(WorkReport(taken=1, ended={"applied": 1}, created=0))

    lines = lines_of(metrics)
    assert 'touchbase_deliveries_processed_total{state="applied"} 4' in lines
    assert 'touchbase_deliveries_processed_total{state="unrecognised"} 1' in lines
    assert 'touchbase_deliveries_processed_total{state="failed"} 1' in lines
    assert "touchbase_records_created_total 2" in lines


def test_latencies_are_counted_by_route_and_kind_of_status() -> None:
    metrics = Metrics()

    metrics.request_ended("contacts.post", 201, 0.0005)
    metrics.request_ended("contacts.post", 200, 0.004)
    metrics.request_ended("contacts.post", 422, 99.0)

    lines = lines_of(metrics)
    assert 'touchbase_request_seconds_bucket{route="contacts.post",status="2xx",le="0.001"} 1' in lines
    assert 'touchbase_request_seconds_bucket{route="contacts.post",status="2xx",le="0.005"} 2' in lines
    assert 'touchbase_request_seconds_bucket{route="contacts.post",status="2xx",le="+Inf"} 2' in lines
    assert 'touchbase_request_seconds_count{route="contacts.post",status="2xx"} 2' in lines
    assert 'touchbase_request_seconds_bucket{route="contacts.post",status="4xx",le="10.0"} 0' in lines
    assert 'touchbase_request_seconds_count{route="contacts.post",status="4xx"} 1' in lines


@given(st.lists(st.floats(0, 100)))
def test_every_latency_falls_into_the_first_bucket_that_holds_it(seconds: list[float]) -> None:
    metrics = Metrics()

    for each in seconds:
        metrics.request_ended("any", 200, each)

    lines = lines_of(metrics)
    for end in BUCKETS if seconds else ():
        held = sum(each <= end for each in seconds)
        assert f'touchbase_request_seconds_bucket{{route="any",status="2xx",le="{end}"}} {held}' in lines


def test_every_metric_is_explained_even_before_it_has_a_value() -> None:
    lines = lines_of(Metrics())

    assert [line.split()[2] for line in lines if line.startswith("# HELP")] == list(HELP)
    assert [line.split()[2] for line in lines if line.startswith("# TYPE")] == list(HELP)


def test_the_counters_of_several_processes_add_up() -> None:
    pages = SharedPages(2)
    pages.write(0, Page({"a_total": 1, "b_total": 2}, {"x": [1, 0, 0.5]}))
    pages.write(1, Page({"a_total": 10}, {"x": [2, 1, 1.5], "y": [1, 1, 1]}))

    total = add_up([pages.read(0), pages.read(1)])

    assert total == Page({"a_total": 11, "b_total": 2}, {"x": [3, 1, 2.0], "y": [1, 1, 1]})


def test_a_process_that_has_written_nothing_adds_nothing() -> None:
    pages = SharedPages(2)
    pages.write(0, Page({"a_total": 1}, {}))

    assert add_up([pages.read(0), pages.read(1)]) == Page({"a_total": 1}, {})


def test_counters_too_many_for_a_page_leave_the_last_ones_that_fitted() -> None:
    pages = SharedPages(1)
    pages.write(0, Page({"a_total": 1}, {}))

    pages.write(0, Page({f"series_{number}": 1 for number in range(100_000)}, {}))

    assert pages.read(0) == Page({"a_total": 1}, {})
