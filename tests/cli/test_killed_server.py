"""A server that is killed without warning, and callers who send their requests again until each is answered."""

from __future__ import annotations

import json
import urllib.request
from http.client import HTTPException
from threading import Event, Thread
from typing import Any

import pytest
from tests.cli.test_serve import Serve, Server, serve  # noqa: F401

pytestmark = pytest.mark.slow

CONTACTS = "/public/v2/contacts"
EACH = 15
MOST_TRIES = 50


def create(server: Server, key: str) -> tuple[int, bool, dict[str, Any]]:
    """Create a contact that only its key tells from others; status, whether the answer was a kept one, and the body."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{CONTACTS}", json.dumps({"first_name": key}).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.headers["Idempotency-Replayed"] == "true", json.load(answer)


def contacts(server: Server) -> list[dict[str, Any]]:
    item: list[dict[str, Any]] = json.loads(server.get(f"{CONTACTS}?limit=200")[1])["data"]
    return item


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> list[str]:
    """What `serve` is told of its store."""
    return [] if request.param == "sqlite" else ["--database", request.getfixturevalue("postgres_url")]


def test_killed_server__repeats_a_stored_response_after_the_restart(serve: Serve, database: list[str]) -> None:  # noqa: F811
    first = serve(*database)
    created = create(first, "k")
    first.process.kill()
    first.process.wait(10)

    second = serve(*database)
    again = create(second, "k")

    assert (created[:2], again[:2]) == ((201, False), (201, True))
    assert created[2] == again[2]
    assert contacts(second) == [created[2]]


def test_killed_server__neither_loses_nor_duplicates_retried_requests(
    serve: Serve, database: list[str]  # noqa: F811
) -> None:  # fmt: skip
    servers = [serve(*database)]
    answers: dict[str, dict[str, Any]] = {}

    for crash in range(3):
        enough, up = Event(), Event()
        callers = [Thread(target=_send, args=(servers, f"{crash}-{caller}", answers, enough, up)) for caller in range(4)]
        for caller in callers:
            caller.start()
        assert enough.wait(60)
        servers[-1].process.kill()
        servers[-1].process.wait(10)
        servers.append(serve(*database))
        up.set()
        for caller in callers:
            caller.join(60)

    result = contacts(servers[-1])
    assert len(answers) == 3 * 4 * EACH
    assert {contact["first_name"]: contact for contact in result} == answers
    assert len(result) == len(answers)


def _send(servers: list[Server], name: str, answers: dict[str, dict[str, Any]], enough: Event, up: Event) -> None:
    """Send so many requests, each again and again until it is answered."""
    tries = 0
    for number in range(EACH):
        key = f"{name}-{number}"
        while key not in answers and tries < MOST_TRIES:
            tries += 1
            try:
                _, _, answers[key] = create(servers[-1], key)
            except (OSError, HTTPException):
                up.wait(60)
        if number == EACH // 4:
            enough.set()
