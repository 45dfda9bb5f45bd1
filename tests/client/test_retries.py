"""Repetitions: a broken connection never doubles a write, and no call waits for what will not pass."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.conftest import QUICK, Served
from tests.client.proxy import Proxy, response

from touchbase_client import (
    NO_RETRIES,
    AsyncTouchbase,
    ConnectionFailed,
    IncompleteDownload,
    NotFound,
    RateLimited,
    Retries,
    Touchbase,
    Unauthorized,
    UnexpectedAnswer,
)
from touchbase_client.core import Wire
from touchbase_client.request import Request
from touchbase_client.retries import Attempts, Broken, Received


def through(proxy: Proxy, tb: Touchbase, **options: Any) -> Touchbase:
    """The same client, through the proxy."""
    core = tb._core
    assert core.key is not None
    return Touchbase(proxy.url, core.key.reveal(), client_id=core.client_id, **{"retries": QUICK, **options})


def keys(proxy: Proxy) -> list[bytes]:
    return [re.findall(rb"(?i)idempotency-key: (\S+)", request)[0] for request in proxy.requests]


def lose_first(number: int, _: bytes) -> str:
    return "lose" if number == 0 else "pass"


def test_create__after_a_response_that_was_lost_makes_one_contact(served: Served, tb: Touchbase) -> None:
    """The server has committed; its response never arrives."""
    tb.contacts.create({"email": "ann@example.com"})
    with Proxy(served.port, lambda number, _: "lose" if number < 2 else "pass") as proxy, through(proxy, tb) as unlucky:
        answer = unlucky.messages.create.response({"direction": "received", "contact_email": "ann@example.com", "subject": "Hi"})

    assert answer.replayed
    assert len([*tb.messages.iterate()]) == 1
    assert len(proxy.requests) == 3
    assert len(set(keys(proxy))) == 1


async def test_async_create__after_a_response_that_was_lost_makes_one_contact(served: Served, tb: Touchbase, client_id: str) -> None:
    with Proxy(served.port, lambda number, _: "lose" if number < 2 else "pass") as proxy:
        async with AsyncTouchbase(proxy.url, served.key, client_id=client_id, retries=QUICK) as unlucky:
            created = await unlucky.contacts.create({"email": "ann@example.com"})

    assert [item["id"] for item in tb.contacts.iterate()] == [created["id"]]
    assert len(set(keys(proxy))) == 1


def test_two_calls__have_two_idempotency_keys_and_a_given_one_is_sent(served: Served, tb: Touchbase) -> None:
    with Proxy(served.port) as proxy, through(proxy, tb) as passed:
        passed.contacts.create({"email": "ann@example.com"})
        passed.contacts.create({"email": "ben@example.com"})
        passed.contacts.create({"email": "cid@example.com"}, idempotency_key="my-key")

    assert len(set(keys(proxy))) == 3
    assert keys(proxy)[2] == b"my-key"


def test_delete__after_a_lost_response_says_that_the_call_itself_may_have_deleted(served: Served, tb: Touchbase) -> None:
    created = tb.contacts.create({"email": "ann@example.com"})
    with Proxy(served.port, lose_first) as proxy, through(proxy, tb) as unlucky, pytest.raises(NotFound) as error:
        unlucky.contacts.delete(created["id"])

    assert error.value.lost_attempt
    assert "may have been carried out" in str(error.value)


def test_change_by_filters__is_not_repeated_if_its_outcome_is_unknown(served: Served, tb: Touchbase) -> None:
    with Proxy(served.port, lambda number, _: "lose") as proxy, through(proxy, tb) as unlucky, pytest.raises(ConnectionFailed) as error:
        unlucky.contacts.update_matching({"first_name": "Ann"}, contact_status="new")

    assert error.value.outcome_unknown
    assert "may have been carried out" in str(error.value)
    assert len(proxy.requests) == 1


def test_read__is_repeated_after_errors_that_pass(served: Served, tb: Touchbase) -> None:
    answers = {0: response(502, b"<html>"), 1: response(429, b"{}", "Retry-After: 0"), 2: b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"}
    with Proxy(served.port, answers=answers) as proxy, through(proxy, tb) as unlucky:
        assert unlucky.contacts.list()["data"] == []

    assert len(proxy.requests) == 4


def test_errors_that_do_not_pass__are_raised_at_once(served: Served, tb: Touchbase) -> None:
    limited = json.dumps({"code": "rate_limited", "detail": "slow down", "status": 429}).encode()
    problem = "Content-Type: application/problem+json"
    answers = {
        0: response(429, limited, problem, "Retry-After: 3600"),
        1: response(502, b"<html>"),
        2: response(301, b"", "Location: https://x/"),
    }
    with Proxy(served.port, answers=answers) as proxy:
        with through(proxy, tb) as patient, pytest.raises(RateLimited, match="slow down"):
            patient.contacts.list()
        with through(proxy, tb, retries=NO_RETRIES) as once, pytest.raises(UnexpectedAnswer, match="502"):
            once.contacts.list()
        with through(proxy, tb) as redirected, pytest.raises(UnexpectedAnswer, match="https://x/"):
            redirected.contacts.list()
        with Touchbase(proxy.url, "tb_wrong") as stranger, pytest.raises(Unauthorized, match="Check the key"):
            stranger.contacts.list()

    assert len(proxy.requests) == 4


def test_server_that_is_not_there__is_an_error_that_names_it() -> None:
    with Proxy(0) as gone:
        url = gone.url
    with Touchbase(url, retries=QUICK) as tb, pytest.raises(ConnectionFailed, match=f"{url} in 5 attempts") as error:
        tb.contacts.create({"email": "ann@example.com"})

    assert not error.value.outcome_unknown


def test_other_program__is_an_error_and_no_answer(served: Served) -> None:
    page = response(200, b"<html>welcome</html>", "Content-Type: text/html")
    with Proxy(served.port, answers={0: page}) as proxy, Touchbase(proxy.url) as tb, pytest.raises(UnexpectedAnswer, match="text/html"):
        tb.contacts.list()


def test_download__that_breaks_is_an_error_and_no_short_file(served: Served, tb: Touchbase) -> None:
    tb.contacts.create({"email": "ann@example.com"})
    with Proxy(served.port, lambda number, _: "cut") as proxy, through(proxy, tb) as unlucky, pytest.raises(IncompleteDownload):
        b"".join(unlucky.exports.contacts.stream(format="csv"))


class FailingOnce:
    """A transport without connections; its first request fails."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def response(self, wire: Wire) -> tuple[int, list[tuple[bytes, bytes]]]:
        self.urls.append(wire.url)
        if len(self.urls) == 1:
            raise Broken("it cannot be reached", sent=False)
        return 200, [(b"Content-Type", b"application/json")]


class SyncFailingOnce(FailingOnce):
    @contextmanager
    def stream(self, wire: Wire) -> Iterator[tuple[int, list[tuple[bytes, bytes]], Iterator[bytes]]]:
        yield *self.response(wire), iter([b'{"data":', b"[]}"])

    def close(self) -> None: ...


class AsyncFailingOnce(FailingOnce):
    @asynccontextmanager
    async def stream(self, wire: Wire) -> AsyncIterator[tuple[int, list[tuple[bytes, bytes]], AsyncIterator[bytes]]]:
        async def pieces() -> AsyncIterator[bytes]:
            for piece in (b'{"data":', b"[]}"):
                yield piece

        yield *self.response(wire), pieces()

    async def aclose(self) -> None: ...


async def test_transport_of_a_program__is_used_in_place_of_connections() -> None:
    transport, in_async = SyncFailingOnce(), AsyncFailingOnce()

    page = Touchbase("http://here", retries=QUICK, transport=transport).jobs.list()
    page_in_async = await AsyncTouchbase("http://here", retries=QUICK, transport=in_async).jobs.list()

    assert page["data"] == page_in_async["data"] == []
    assert transport.urls == in_async.urls == ["http://here/public/v2/jobs"] * 2


def ends(status: int, code: str = "") -> Received:
    return Received(status, {}, b"", code)


@pytest.mark.parametrize(
    ("ended", "repeatable", "others"),
    [
        (Broken("x", sent=False), True, True),
        (Broken("x", sent=True), True, False),
        (ends(429, "rate_limited"), True, True),
        (ends(503, "overloaded"), True, True),
        (ends(409, "request_in_progress"), True, True),
        (ends(503, "outcome_unknown"), True, False),
        (ends(503), True, False),
        (ends(502), True, False),
        (ends(409, "duplicate"), False, False),
        (ends(500, "internal_error"), False, False),
        (ends(200), False, False),
    ],
)
def test_outcome__decides_on_a_repetition(ended: Broken | Received, repeatable: bool, others: bool) -> None:
    assert (Attempts(QUICK, True).pause(ended) is not None, Attempts(QUICK, False).pause(ended) is not None) == (repeatable, others)


ENDINGS = st.one_of(
    st.builds(Broken, st.just("x"), st.booleans()),
    st.builds(
        Received,
        st.sampled_from([200, 404, 409, 422, 429, 500, 502, 503, 504]),
        st.sampled_from([{}, {"retry-after": "1"}, {"retry-after": "99"}, {"retry-after": "soon"}]),
        st.just(b""),
        st.sampled_from(["", "rate_limited", "overloaded", "outcome_unknown", "request_in_progress", "duplicate"]),
    ),
)


@given(st.lists(ENDINGS, min_size=1), st.booleans(), st.integers(1, 6))
def test_attempts__for_any_outcomes_are_bounded_and_never_double(endings: list[Broken | Received], repeatable: bool, most: int) -> None:
    attempts = Attempts(Retries(attempts=most, longest_pause=8.0), repeatable)
    for ended in endings:
        pause = attempts.pause(ended)
        if pause is None:
            break
        assert 0 <= pause <= 8.0
        assert repeatable or not attempts.lost

    assert attempts.number <= most


@given(st.text(max_size=20), st.text(min_size=1, max_size=20), st.integers())
def test_target__for_any_text_stays_one_path_segment_and_one_parameter(query: str, name: str, number: int) -> None:
    request: Request[None] = Request("x", "GET", "/a/{name}/b", in_path={"name": name}, query={"q": query, "n": number, "none": None})
    if name in (".", ".."):
        with pytest.raises(ValueError, match="name"):
            _ = request.target
        return
    if "\ud800" <= max(query + name) <= "\udfff":
        return
    path, _, result = request.target.partition("?")

    assert path.count("/") == 3
    assert result.count("&") == 1
    assert request.target.isascii()
