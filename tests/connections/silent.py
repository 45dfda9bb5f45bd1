"""A connection that has called for weeks, and then falls silent."""

from __future__ import annotations

from touchbase.common.timestamps import DAY, Micros
from touchbase.connections.rhythm import HOUR, ClientCalls, Silence
from touchbase.connections.sql.silence import count_calls, judge_connection
from touchbase.sql.operation import Command
from touchbase.sql.store import Store


def calls_until(last: Micros, client: int, channel: str = "crm", tool: str = "hubspot") -> Command[list[Silence]]:
    """Two weeks of four calls an hour, day and night, up to this time."""
    hours = {(channel, tool, last // HOUR - hour): 4 for hour in range(2 * 168 + 1)}
    return count_calls(ClientCalls(client, hours, {(channel, tool): last}))


async def fall_silent(store: Store, client: int, last: Micros = 100 * DAY) -> Silence:
    """Let the client's HubSpot fall silent after this call; its client has no delivery that waits."""
    await store.write(calls_until(last, client))
    silence = await store.write(judge_connection(client, "crm", "hubspot", last + DAY, 0))
    assert silence is not None
    return silence
