"""Store deliveries, recognise repeats by their dedupe keys, replay deliveries, and delete expired dedupe keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import DEDUPE_WINDOW, RECEIVED, UNDATED_DEDUPE_WINDOW, replay_attempt_us
from touchbase.deliveries.sql import statements as inbox_sql
from touchbase.deliveries.sql.statements import DEDUPE_KEY
from touchbase.errors import StoreBusy
from touchbase.sql.cell_answers import clients_of_deliveries, divided_deliveries
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
from touchbase.sql.statement import Execute, Plan, Row, Statement


@dataclass(slots=True)
class StoredDelivery:
    """A durable delivery: its id, and whether the webhook repeats a stored one."""

    id: int
    is_repeat: bool


def store_deliveries(commands: Sequence[Any], ids: Ids) -> Plan[list[object]]:
    """Store each webhook, or find the delivery that it repeats."""
    numbers = [ids.take("delivery") for _ in commands]
    results: dict[int, object] = {}
    left = list(range(len(commands)))
    traced = any(command.trace for command in commands)
    earlier: dict[int, int | None] = {}
    while left:
        # Of equal webhooks in one batch the first is stored first; the others are compared with it in the next round.
        firsts = list({(commands[n].client, commands[n].key): n for n in reversed(left)}.values())[::-1]
        rows = [_delivery_row(commands[n], numbers[n], earlier.get(n)) for n in firsts]
        stored = yield Execute(
            inbox_sql.STORE_DELIVERY_TRACED if traced else inbox_sql.STORE_DELIVERY,
            [(*row, commands[n].trace) for row, n in zip(rows, firsts, strict=True)] if traced else rows,
            [_body_row(commands[n], numbers[n]) for n in firsts],
        )
        new = {row[0] for row in stored}
        results.update({n: StoredDelivery(numbers[n], False) for n in firsts if numbers[n] in new})
        if len(results) == len(commands):
            break
        left = yield from _split_repeats(commands, [n for n in left if n not in results], results, earlier)
    return [results[n] for n in range(len(commands))]


def _split_repeats(
    commands: Sequence[Any], left: Sequence[int], results: dict[int, object], earlier: dict[int, int | None]
) -> Plan[list[int]]:
    """Find the repeats; return those to store, and put into `earlier` the earlier delivery with equal bytes within the dedupe window.

    They are decided in the order of their receipt: one that is to be stored lies between two equal ones. A client's webhooks after one
    that equals it are decided in the next round.
    """
    rows = yield Execute(inbox_sql.DELIVERY_BY_KEY, sorted({(commands[n].client, commands[n].key) for n in left}))
    repeats = {(row[0], bytes(row[1])): row for row in rows}
    to_store: list[int] = []
    stored: set[tuple[int, bytes]] = set()
    last_us: dict[int, Micros] = {}
    undecided: set[int] = set()
    for n in sorted(left, key=lambda n: (commands[n].received_us, n)):
        client, at = commands[n].client, commands[n].received_us
        key = (client, commands[n].key)
        row = repeats.get(key)
        if client in undecided or key in stored:
            undecided.add(client)
            to_store.append(n)
        elif row is None:
            results[n] = StoreBusy("the delivery that this webhook repeats has just been removed; send it again")
        elif _repeats(at, row[3], row[4], at if last_us.get(client, row[3] - 1) >= row[3] else row[5]):
            results[n] = StoredDelivery(row[2], True)
        else:
            earlier[n] = row[2] if at <= row[3] + DEDUPE_WINDOW else None
            to_store.append(n)
            stored.add(key)
            last_us[client] = at
    return to_store


def _repeats(at: Micros, earlier_us: Micros, dated: int | None, next_us: Micros | None) -> bool:
    """Return whether a webhook certainly repeats the earlier one. If its subject decides, `projection/known_events.py` says so later."""
    if at > earlier_us + DEDUPE_WINDOW:
        return False
    return bool(dated) or (at <= earlier_us + UNDATED_DEDUPE_WINDOW and (next_us is None or next_us > at))


@command(ids="delivery", batch=store_deliveries, solo=True, quick=True, weight=lambda call: (len(call.body), 1, 0))
def store_delivery(
    client: int,
    channel: str,
    key: bytes,
    headers: bytes,
    query: str,
    body: bytes,
    received_us: Micros,
    tool: str | None = None,
    verified: bool | None = None,
    trace: str | None = None,
) -> Plan[StoredDelivery | StoreBusy]:
    """Store one webhook byte for byte. The same `key` within `DEDUPE_WINDOW` is the same delivery, later a new one.

    `headers`: a JSON object of the stored headers, names in lower case. `tool`: the tool that signed it. `trace`: the span of its receipt,
    if that is recorded.
    """
    raise NotImplementedError


def _count_repeats(commands: Sequence[Any], ids: Ids) -> Plan[list[None]]:
    """Add to the repeat counts of deliveries."""
    times = Counter((command.client, command.id) for command in commands)
    yield Execute(inbox_sql.COUNT_REPEAT, [(*delivery, count) for delivery, count in sorted(times.items())])
    return [None] * len(commands)


@command(batch=_count_repeats, solo=True, quick=True)
def count_repeat(client: int, id: int) -> Plan[None]:
    """Count a repeat of a delivery."""
    raise NotImplementedError


def _body_row(c: Any, number: int) -> Row:
    return (c.client, number, c.query, c.headers, c.body)


def _delivery_row(c: Any, number: int, duplicate_of: int | None) -> Row:
    verified = None if c.verified is None else int(c.verified)
    return (
        c.client,
        number,
        c.channel,
        RECEIVED,
        c.received_us,
        c.tool,
        0,
        0,
        None,
        None,
        0,
        len(c.body),
        verified,
        duplicate_of,
        None,
        None,
        c.key,
    )


@command
def replay_deliveries(client: int, ids: list[int], at: Micros) -> Plan[int]:
    """Set deliveries back to `received`, with no attempts, queued at `at`; return how many were."""
    changed: int = yield from replay_many.plan([(client, number) for number in ids], at)
    return changed


@command(clients=clients_of_deliveries, divide=divided_deliveries(lambda _, counts: sum(counts.values())))
def replay_many(deliveries: list[tuple[int, int]], at: Micros) -> Plan[int]:
    """Replay deliveries (client, id) of several clients in one transaction; return how many were."""
    next_attempt_us = replay_attempt_us(at)
    rows = yield Execute(inbox_sql.REPLAY_DELIVERY, [(*delivery, next_attempt_us) for delivery in sorted(deliveries)])
    return len(rows)


FORGET_DEDUPE_KEY = Statement(
    "forget_call",
    (*DEDUPE_KEY, ("before_us", "bigint")),
    body="DELETE FROM dedupe_key t USING p WHERE t.client = p.client AND t.key = p.key AND t.received_us < p.before_us RETURNING t.client",
    by_row=True,
)
# Runs before the delivery is cleared, because it needs its key. If the same bytes arrived again later, the row is the newer one's.


@command(background=True)
def forget_dedupe_keys(client: int, keys: list[bytes], before_us: Micros) -> Plan[int]:
    """Delete these dedupe keys if they were received before `before_us`; return how many were. Deliveries stay."""
    rows = yield Execute(FORGET_DEDUPE_KEY, [(client, key, before_us) for key in sorted(keys)])
    return len(rows)
