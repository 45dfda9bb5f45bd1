"""The peers that are of no use to anybody, without a server of ours."""

from __future__ import annotations

import asyncio

from fault_tests.slow_clients import KINDS, SlowClients


async def test_disconnected_slow_clients__do_not_reconnect_after_the_run() -> None:
    there: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: there.append(writer), "127.0.0.1", 0)
    strangers = SlowClients(*server.sockets[0].getsockname(), slow=1)
    await strangers.connect_all(0)

    await strangers.run(asyncio.create_task(asyncio.sleep(0, "0")))
    server.close()
    for writer in there:
        writer.transport.abort()
    for peer in strangers.open:
        peer.transport.resume_reading()  # the deaf do not hear that they were cut
    while strangers.cut.total() < len(KINDS):  # noqa: ASYNC110 - they count it, and tell nobody
        await asyncio.sleep(0)

    assert asyncio.all_tasks() == {asyncio.current_task()}
