"""Blocking work has threads by kind, and the event loop's own pool is left to look-ups of names."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from touchbase.common.threads import close_threads, on_thread

VALUE: ContextVar[str] = ContextVar("VALUE", default="outside")


async def test_a_kind_of_work_that_hangs__holds_up_neither_another_kind_nor_names() -> None:
    ends = threading.Event()
    hanging = [asyncio.create_task(on_thread("exports", ends.wait)) for _ in range(50)]
    await asyncio.sleep(0)  # they begin
    try:
        async with asyncio.timeout(10):
            assert await on_thread("spool", threading.get_ident) != threading.get_ident()
            assert await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 80)
    finally:
        ends.set()
    assert await asyncio.gather(*hanging) == [True] * len(hanging)


async def test_work__has_the_arguments_and_context_of_its_caller() -> None:
    VALUE.set("inside")

    assert await on_thread("exports", lambda *args, **named: (args, named, VALUE.get()), 1, two=2) == ((1,), {"two": 2}, "inside")


async def test_an_error__is_raised_to_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        await on_thread("exports", lambda: 1 // 0)


async def test_closed_threads__finish_their_work_and_start_again_for_later_work() -> None:
    ends = threading.Event()
    waiting = asyncio.create_task(on_thread("exports", ends.wait))
    await asyncio.sleep(0)

    close_threads()
    ends.set()

    assert await waiting
    assert await on_thread("exports", lambda: "again") == "again"
