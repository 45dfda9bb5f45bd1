"""Exceptions: one for each code, and no response that breaks their making."""

from __future__ import annotations

import pickle
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import touchbase_client
from touchbase.http.problems import STATUS
from touchbase.server import error_responses
from touchbase.server.error_responses import ErrorResponse
from touchbase_client import BadRequest, ConnectionFailed, Forbidden, Invalid, JobFailed, Problem, ServerFault, Touchbase
from touchbase_client.errors import BY_CODE, problem_of

OF_SERVER = {item.code: item.status for item in vars(error_responses).values() if isinstance(item, ErrorResponse)}
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda item: st.lists(item, max_size=3), max_leaves=5)
BODIES = st.dictionaries(st.sampled_from(["code", "detail", "errors", "existing_id", "request_id", "deleted_at", "affected"]), JSON)


def test_codes__each_have_an_exception_that_says_what_to_do() -> None:
    assert BY_CODE.keys() - OF_SERVER.keys() <= STATUS.keys()
    assert STATUS.keys() <= BY_CODE.keys()
    assert [code for code, kind in BY_CODE.items() if not kind.next_step or not kind.__doc__] == []
    assert [kind.__name__ for kind in BY_CODE.values() if kind.__name__ not in touchbase_client.__all__] == []


def test_codes_of_the_server_alone__are_general_exceptions() -> None:
    created = {code: type(problem_of(status, {"code": code})) for code, status in OF_SERVER.items()}

    assert created["open_mode"] is Forbidden
    assert {created["malformed_request"], created["headers_too_large"], created["headers_too_slow"]} == {BadRequest}
    assert created["http_version"] is ServerFault


def test_invalid__names_every_fault() -> None:
    errors = [
        {"pointer": "/email", "code": "invalid", "detail": "is no address"},
        {"pointer": "?limit", "code": "invalid", "detail": "is 0"},
    ]

    created = problem_of(422, {"code": "invalid", "detail": "x", "request_id": "r1", "errors": errors})

    assert isinstance(created, Invalid)
    assert created.fields == ["email", "limit"]
    assert str(created).startswith("422 invalid: /email: is no address; ?limit: is 0. (request r1) Correct these values")


def test_errors__cross_processes() -> None:
    errors = [{"pointer": "/email", "code": "invalid", "detail": "is no address"}]
    created = problem_of(422, {"code": "invalid", "detail": "x", "request_id": "r1", "errors": errors})
    failed = JobFailed("job 5 failed", {"id": 5})

    again, failed_again = pickle.loads(pickle.dumps(created)), pickle.loads(pickle.dumps(failed))

    assert (type(again), str(again), again.fields) == (Invalid, str(created), ["email"])
    assert (str(failed_again), failed_again.job) == ("job 5 failed", {"id": 5})


@given(st.integers(300, 599), BODIES)
def test_problem__is_made_of_any_body(status: int, body: dict[str, object]) -> None:
    created = problem_of(status, body)

    assert isinstance(created, Problem)
    assert str(status) in str(created)


@pytest.mark.parametrize(
    "url", ["", "touchbase.example.com", "ftp://x", "https://", "https://me:secret@x", "https://x?a=1", "https://x:port", "https://x/#a"]
)
def test_touchbase__refuses_a_wrong_address_and_does_not_quote_it(url: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)url|port") as error:
        Touchbase(url)
    assert "secret" not in str(error.value)


def test_touchbase__refuses_other_wrong_values() -> None:
    with pytest.raises(ValueError, match="client_id"):
        Touchbase("https://x", client_id="a b")
    with pytest.raises(ValueError, match="timeout"):
        Touchbase("https://x", timeout=0)
    with pytest.raises(ValueError, match="Prefer"):
        Touchbase("https://x").contacts.list(prefer="a\nb")
    with pytest.raises(ValueError, match="time zone"):
        Touchbase("https://x").contacts.list(updated_since=datetime(2026, 1, 1))


def test_connection_failed__has_the_key_of_a_write_to_call_again() -> None:
    with Touchbase("http://127.0.0.1:1", retries=touchbase_client.NO_RETRIES) as tb, pytest.raises(ConnectionFailed) as error:
        tb.contacts.create({}, idempotency_key="my-key")

    assert error.value.idempotency_key == "my-key"
