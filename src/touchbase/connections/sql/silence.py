"""SQL of calls and silences: counts by hour, when a connection is judged next, and the silences of each."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from touchbase.common.timestamps import DAY, SECOND, Micros, to_text
from touchbase.connections.models import ConnectionSettings
from touchbase.connections.rhythm import (
    CHECK_INTERVAL,
    MAX_CHECK_GAP,
    MAX_SILENCES,
    CallStatistics,
    ClientCalls,
    Rhythm,
    Silence,
    keep_from,
)
from touchbase.event_log.models import SERVICE, EventType, LoggedEvent
from touchbase.event_log.sql.log import log_events
from touchbase.sql.cell_answers import SUMMED
from touchbase.sql.filters import Where
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

KEY: Columns = (("client", "bigint"), ("channel", "text"), ("tool", "text"))
_SAME = "t.client = p.client AND t.channel = p.channel AND t.tool = p.tool"
_CONNECTED = "EXISTS (SELECT 1 FROM connection t WHERE t.client = p.client AND t.channel = p.channel AND t.tool = p.tool)"
SILENCE: Columns = (
    *KEY, ("noticed_us", "bigint"), ("since_us", "bigint"), ("ended_us", "bigint"), ("week", "bigint"),
    ("usual_interval_s", "bigint"),
)  # fmt: skip
RECENT = 2_000
"""Newest deliveries of a client among which a call may be that was not counted, because a process was killed."""
MAX_WAIT: Micros = 60 * SECOND
"""A delivery that waits longer may be a call of any connection."""

ADD_CALLS = Statement(
    "add_calls",
    (*KEY, ("hour", "bigint"), ("calls", "bigint")),
    body=f"INSERT INTO connection_calls (client, channel, tool, hour, calls) SELECT * FROM p WHERE {_CONNECTED} "
    "ON CONFLICT (client, channel, tool, hour) DO UPDATE SET calls = connection_calls.calls + excluded.calls",
)
SET_LAST_CALL = Statement(
    "set_last_call",
    (*KEY, ("last_us", "bigint"), ("due_us", "bigint")),
    body=f"INSERT INTO connection_rhythm (client, channel, tool, last_us, due_us) SELECT * FROM p WHERE {_CONNECTED} "
    "ON CONFLICT (client, channel, tool) DO UPDATE SET due_us = COALESCE(connection_rhythm.due_us, excluded.due_us), last_us = "
    "CASE WHEN excluded.last_us > connection_rhythm.last_us THEN excluded.last_us ELSE connection_rhythm.last_us END",
)
"""A connection that was silent (no `due_us`) is judged again."""
END_SILENCE = Statement(
    "end_silence",
    (*KEY, ("ended_us", "bigint")),
    body="UPDATE connection_silence AS t SET ended_us = CASE WHEN p.ended_us > t.noticed_us THEN p.ended_us ELSE t.noticed_us END FROM p "
    f"WHERE {_SAME} AND t.ended_us IS NULL RETURNING {names(SILENCE, 't.')}",
)
LOCK_RHYTHM = Statement(
    "lock_rhythm", KEY, body=f"SELECT t.last_us, t.due_us FROM p JOIN connection_rhythm t ON {_SAME}", lock=" FOR UPDATE OF t", by_row=True
)
SET_DUE = Statement(
    "set_due",
    (*KEY, ("last_us", "bigint"), ("due_us", "bigint")),
    body=f"UPDATE connection_rhythm AS t SET last_us = p.last_us, due_us = p.due_us FROM p WHERE {_SAME}",
)
WATCH_AGAIN = Statement("watch_again", KEY, body=f"UPDATE connection_rhythm AS t SET due_us = 0 FROM p WHERE {_SAME}")
JUDGE_AGAIN = Statement(
    "judge_again", KEY, body=f"UPDATE connection_rhythm AS t SET due_us = 0 FROM p WHERE {_SAME} AND t.due_us IS NOT NULL"
)
INSERT_SILENCE = Statement(
    "insert_silence",
    SILENCE,
    body=f"INSERT INTO connection_silence ({names(SILENCE)}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
FORGET_HOURS = Statement(
    "forget_hours",
    (*KEY, ("hour", "bigint")),
    body=f"DELETE FROM connection_calls t USING p WHERE {_SAME} AND t.hour < p.hour",
    by_row=True,
)
TRIM_SILENCES = Statement(
    "trim_silences",
    (*KEY, ("most", "bigint")),
    body=f"DELETE FROM connection_silence t USING p WHERE {_SAME} AND t.noticed_us <= (SELECT o.noticed_us FROM connection_silence o "
    "WHERE o.client = p.client AND o.channel = p.channel AND o.tool = p.tool ORDER BY o.noticed_us DESC LIMIT 1 OFFSET p.most)",
    by_row=True,
)
FIRST_CHECK = Statement(
    "first_check",
    (("one", "bigint"), ("at", "bigint")),
    body="INSERT INTO silence_check (one, checked_us, since_us) SELECT p.one, 0, p.at FROM p WHERE true ON CONFLICT DO NOTHING",
)
CLAIM_CHECK = Statement(
    "claim_check",
    (("one", "bigint"), ("at", "bigint"), ("soonest", "bigint"), ("gap", "bigint")),
    body="UPDATE silence_check AS t SET since_us = CASE WHEN t.checked_us < p.gap OR t.checked_us > p.at THEN p.at ELSE t.since_us END, "
    "checked_us = p.at FROM p WHERE t.one = p.one AND (t.checked_us <= p.soonest OR t.checked_us > p.at) RETURNING since_us",
)
DELETE_CALLS = delete("delete_calls", "connection_calls", KEY)
DELETE_RHYTHM = delete("delete_rhythm", "connection_rhythm", KEY)
DELETE_SILENCES = delete("delete_silences", "connection_silence", KEY)
_settings = msgspec.json.Decoder(ConnectionSettings).decode


@command(client="calls.client", background=True)
def count_calls(calls: ClientCalls) -> Plan[list[Silence]]:
    """Add calls to the counts of their connections; return the silences that ended. Calls of tools not connected are left out."""
    client = calls.client
    hours = sorted((client, channel, tool, hour, count) for (channel, tool, hour), count in calls.hours.items())
    last = sorted((client, channel, tool, at) for (channel, tool), at in calls.last_us.items())
    # Every plan writes the rhythm first, whose row `judge_connection` locks, so that no two wait for each other.
    yield Execute(SET_LAST_CALL, [(*row, 0) for row in last])
    yield Execute(ADD_CALLS, hours)
    ended = yield Execute(END_SILENCE, last)
    yield from _log_ended(ended)
    return [Silence(*row) for row in ended]


@command(scope=ALL_CLIENTS, background=True)
def claim_check(at: Micros) -> Plan[Micros | None]:
    """Claim the next check for silences; None if another process has made one within `CHECK_INTERVAL`.

    Returns since when checks were made without a gap: a connection cannot be silent from before.
    """
    yield Execute(FIRST_CHECK, [(1, at)])
    rows = yield Execute(CLAIM_CHECK, [(1, at, at - CHECK_INTERVAL, at - MAX_CHECK_GAP)])
    return rows[0][0] if rows else None


@command(background=True)
def judge_connection(client: int, channel: str, tool: str, at: Micros, checked_since_us: Micros) -> Plan[Silence | None]:
    """Recognise a connection as silent, if it is; else store when to look again. Returns the silence if it begins now.

    While deliveries of its client wait for the worker, nothing is decided: they may be its calls.
    """
    key = (client, channel, tool)
    rows = yield Execute(LOCK_RHYTHM, [key])
    if not rows or rows[0][1] is None or rows[0][1] > at:
        return None  # another process was faster
    last_us: Micros = rows[0][0]
    if not (yield from _is_watched(key)):
        yield Execute(SET_DUE, [(*key, last_us, at + DAY)])
        return None
    if (yield from _waits(client, at)):
        return None
    rhythm = yield from _rhythm(key)
    due_us = rhythm.silent_from(max(last_us, checked_since_us))
    if due_us is not None and due_us <= at:
        last_us = max(last_us, (yield from _newest(key)))
        due_us = rhythm.silent_from(max(last_us, checked_since_us))
    yield Execute(FORGET_HOURS, [(*key, keep_from(last_us))])
    if due_us is None or due_us > at:
        # Once a day in any case: the rhythm changes.
        yield Execute(SET_DUE, [(*key, last_us, min(due_us or at + DAY, at + DAY))])
        return None
    yield Execute(SET_DUE, [(*key, last_us, None)])
    silence = Silence(*key, at, last_us, None, rhythm.week, rhythm.usual_interval_seconds(at))
    yield Execute(INSERT_SILENCE, [silence_row(silence)])
    yield Execute(TRIM_SILENCES, [(*key, MAX_SILENCES)])
    yield from log_events([_event(silence, EventType.CONNECTION_SILENT, at)])
    return silence


def forget_calls(key: Row) -> Plan[None]:
    """Remove all that is known of a connection's calls."""
    for statement in (DELETE_RHYTHM, DELETE_CALLS, DELETE_SILENCES):
        yield Execute(statement, [key])


def settings_changed(key: Row, settings: ConnectionSettings, at: Micros) -> Plan[None]:
    """Judge a connection again after a change; end its silence if the alarm was turned off."""
    if settings.silence_alarm:
        yield Execute(JUDGE_AGAIN, [key])
    else:
        yield Execute(WATCH_AGAIN, [key])
        yield from _log_ended((yield Execute(END_SILENCE, [(*key, at)])))


def _log_ended(rows: Iterable[Row]) -> Plan[None]:
    silences = [Silence(*row) for row in rows]
    yield from log_events([_event(silence, EventType.CONNECTION_RESUMED, silence.ended_us or silence.noticed_us) for silence in silences])


def _event(silence: Silence, what: EventType, at: Micros) -> LoggedEvent:
    ended = {"ended_at": to_text(silence.ended_us)} if silence.ended_us is not None else {}
    data = {
        "channel": silence.channel, "tool": silence.tool, "last_call_at": to_text(silence.since_us),
        "noticed_at": to_text(silence.noticed_us), **ended, "calls_of_week": silence.week,
        "usual_interval_seconds": silence.usual_interval_seconds,
    }  # fmt: skip
    return LoggedEvent(silence.client, what, at, cause={"origin": SERVICE}, data=data)


def silence_row(silence: Silence) -> Row:
    """Return the row of a silence, in the order of `SILENCE`."""
    times = silence.noticed_us, silence.since_us, silence.ended_us
    return (silence.client, silence.channel, silence.tool, *times, silence.week, silence.usual_interval_seconds)


def _is_watched(key: Row) -> Plan[bool]:
    rows = yield Select("SELECT settings FROM connection WHERE client = ? AND channel = ? AND tool = ?", key)
    return bool(rows) and _settings(rows[0][0]).silence_alarm


def _waits(client: int, at: Micros) -> Plan[bool]:
    """Return whether new deliveries of the client have waited for long. Failed ones, which are tried again later, do not count."""
    rows = yield Select(
        "SELECT received_us FROM delivery WHERE client = ? AND state = 'received' AND next_attempt_us = 0 ORDER BY id LIMIT 1",
        (client,),
    )
    return bool(rows) and rows[0][0] < at - MAX_WAIT


def _rhythm(key: Row) -> Plan[Rhythm]:
    rows = yield Select("SELECT hour, calls FROM connection_calls WHERE client = ? AND channel = ? AND tool = ?", key)
    return Rhythm(dict(rows))


def _newest(key: Row) -> Plan[Micros]:
    """Return when the newest delivery of a connection was received, among the newest of its client; 0 if none of them is."""
    rows = yield Select(
        "SELECT max(d.received_us) FROM (SELECT received_us, channel, tool FROM delivery WHERE client = ? ORDER BY id DESC LIMIT ?) d "
        "WHERE d.channel = ? AND d.tool = ?",
        (key[0], RECENT, *key[1:]),
    )
    return rows[0][0] or 0


@query(scope=ALL_CLIENTS)
def due_judgements(at: Micros) -> Plan[list[tuple[int, str, str]]]:
    """Client, channel and tool of the connections of active clients that may be silent by now."""
    rows = yield Select(
        "SELECT r.client, r.channel, r.tool FROM connection_rhythm r JOIN client c ON c.id = r.client AND c.state = 'active' "
        "WHERE r.due_us <= ? ORDER BY r.client, r.channel, r.tool",
        (at,),
    )
    return [(client, channel, tool) for client, channel, tool in rows]


@query
def list_calls(client: int, at: Micros) -> Plan[list[CallStatistics]]:
    """List call statistics of a client's connections, without connections that have never called."""
    hours: dict[tuple[str, str], dict[int, int]] = {}
    for channel, tool, hour, calls in (yield Select("SELECT channel, tool, hour, calls FROM connection_calls WHERE client = ?", (client,))):
        hours.setdefault((channel, tool), {})[hour] = calls
    rows = yield Select(
        "SELECT r.channel, r.tool, r.last_us, s.since_us FROM connection_rhythm r LEFT JOIN connection_silence s ON s.client = r.client "
        "AND s.channel = r.channel AND s.tool = r.tool AND s.ended_us IS NULL WHERE r.client = ? ORDER BY r.channel, r.tool",
        (client,),
    )
    statistics: list[CallStatistics] = []
    for channel, tool, last_us, since_us in rows:
        rhythm = Rhythm(hours.get((channel, tool), {}))
        statistics.append(CallStatistics(channel, tool, last_us, rhythm.week, rhythm.usual_interval_seconds(at), since_us))
    return statistics


@query
def list_silences(client: int, channel: str | None = None, tool: str | None = None) -> Plan[list[Silence]]:
    """The silences of a client's connections, or of one of them, newest first."""
    where = Where("client = ?", client)
    where.equal("channel", channel)
    where.equal("tool", tool)
    rows = yield Select(
        f"SELECT {names(SILENCE)} FROM connection_silence WHERE {where} ORDER BY noticed_us DESC, channel, tool", where.params
    )
    return [Silence(*row) for row in rows]


@query(scope=ALL_CLIENTS, merge=SUMMED)
def count_silent() -> Plan[dict[tuple[str, str], int]]:
    """How many connections of active clients are silent, by channel and tool."""
    rows = yield Select(
        "SELECT s.channel, s.tool, count(*) FROM connection_silence s JOIN client c ON c.id = s.client AND c.state = 'active' "
        "WHERE s.ended_us IS NULL GROUP BY s.channel, s.tool",
        (),
    )
    return {(channel, tool): count for channel, tool, count in rows}
