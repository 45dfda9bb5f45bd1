"""Look-ups of host names: what a name server does that is silent, slow or wrong."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from touchbase.enrichment import http_pool
from touchbase.enrichment.http_connection import ConnectionLost
from touchbase.enrichment.http_pool import NameLookup


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The moment from which the name servers of *.slow.example answer; the others always do."""
    answers = threading.Event()

    def getaddrinfo(host: str, port: int, **more: Any) -> list[Any]:
        if host.endswith("slow.example"):
            answers.wait()
        if host.startswith("none."):
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("8.8.8.8", "8.8.4.4", "8.8.8.8")]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return answers


async def test_names_without_an_answer__hold_up_no_other_name(answers: threading.Event) -> None:
    names = NameLookup()
    waiting = [asyncio.ensure_future(names.addresses(f"h{number}.slow.example", 443)) for number in range(100)]
    await asyncio.sleep(0)

    addresses = await names.addresses("good.example", 443)
    is_waiting = not any(item.done() for item in waiting)
    answers.set()
    slow = await asyncio.gather(*waiting)

    assert (addresses, is_waiting, slow) == (["8.8.8.8", "8.8.4.4"], True, [addresses] * 100)


async def test_name_without_an_answer__is_looked_up_once_and_fails_in_time(
    answers: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_pool, "LOOKUP_SECONDS", 0.0)
    monkeypatch.setattr(http_pool, "MAX_LOOKUPS", 1)
    names = NameLookup()

    for _ in range(3):
        with pytest.raises(ConnectionLost, match="no name server has answered"):
            await names.addresses("slow.example", 443)
    with pytest.raises(ConnectionLost, match="1 names are being looked up"):
        await names.addresses("good.example", 443)
    answers.set()


async def test_name__that_does_not_exist_is_an_error_each_time(answers: threading.Event) -> None:
    names = NameLookup()

    for _ in range(2):
        with pytest.raises(socket.gaierror, match="not known"):
            await names.addresses("none.example", 443)
