"""The inbox: keeping deliveries, claiming those that wait, and noting how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import Overloaded
from touchbase.inbox import statements as inbox_sql
from touchbase.inbox.commands import CountRepeat, ReplayDeliveries, ReplayMany, StoredDelivery, StoreDelivery
from touchbase.inbox.delivery import RECEIVED, REPEAT_WINDOW, TWIN_WINDOW, place_of_replay
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Row

LONGEST_WAIT: Micros = 3600 * SECOND


def keep_deliveries(commands: Sequence[StoreDelivery], ids: Ids) -> Plan[list[object]]:
    """Keep each call, or find the delivery that it repeats."""
    numbers = [ids.take("delivery") for _ in commands]
    kept: dict[int, object] = {}
    left = list(range(len(commands)))
    twins: dict[int, int | None] = {}
    while left:
        # The same call twice at once: the first of them is looked at, and the others are then told from it.
        firsts = list({(commands[n].client, commands[n].key): n for n in reversed(left)}.values())[::-1]
        made = yield Execute(
            inbox_sql.KEEP_DELIVERY,
            [_delivery_row(commands[n], numbers[n], twins.get(n)) for n in firsts],
            [_body_row(commands[n], numbers[n]) for n in firsts],
        )
        new = {row[0] for row in made}
        kept.update({n: StoredDelivery(numbers[n], False) for n in firsts if numbers[n] in new})
        if len(kept) == len(commands):
            break
        left = yield from _not_repeats(commands, [n for n in left if n not in kept], kept, twins)
    return [kept[n] for n in range(len(commands))]


def _not_repeats(
    commands: Sequence[StoreDelivery], left: Sequence[int], kept: dict[int, object], twins: dict[int, int | None]
) -> Plan[list[int]]:
    """Find those that repeat a call; answers which are stored, with the call of equal bytes that each came after within the hour."""
    rows = yield Execute(inbox_sql.CALL_BY_KEY, sorted({(commands[n].client, commands[n].key) for n in left}))
    known = {(row[0], bytes(row[1])): row for row in rows}
    again: list[int] = []
    for n in left:
        row = known.get((commands[n].client, commands[n].key))
        if row is None:
            kept[n] = Overloaded("the call that this one repeats has just been removed; send it again")
        elif _repeats(commands[n].received_us, *row[3:]):
            kept[n] = StoredDelivery(row[2], True)
        else:
            twins[n] = row[2] if commands[n].received_us <= row[3] + REPEAT_WINDOW else None
            again.append(n)
    return again


def _repeats(at: Micros, twin_us: Micros, dated: int | None, next_us: Micros | None) -> bool:
    """Whether a call repeats its twin in any case. Where that depends on whom it is about, `events/repeats.py` decides later."""
    if at > twin_us + REPEAT_WINDOW:
        return False
    return bool(dated) or (at <= twin_us + TWIN_WINDOW and (next_us is None or next_us > at))


def count_repeats(commands: Sequence[CountRepeat], ids: Ids) -> Plan[list[object]]:
    """Note how often deliveries arrived again."""
    times = Counter((command.client, command.id) for command in commands)
    yield Execute(inbox_sql.COUNT_REPEAT, [(*one, count) for one, count in sorted(times.items())])
    return [None] * len(commands)


def _body_row(c: StoreDelivery, number: int) -> Row:
    return (c.client, number, c.query, c.headers, c.body)


def _delivery_row(c: StoreDelivery, number: int, twin: int | None) -> Row:
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
        twin,
        None,
        None,
        c.key,
    )


def replay_deliveries(command: ReplayDeliveries) -> Plan[int]:
    """Let deliveries be applied again; one whose body is gone cannot be and is not counted."""
    return (yield from replay_many(ReplayMany([(command.client, number) for number in command.ids], command.at)))


def replay_many(command: ReplayMany) -> Plan[int]:
    """The same for deliveries of several clients."""
    place = place_of_replay(command.at)
    rows = yield Execute(inbox_sql.REPLAY_DELIVERY, [(*one, place) for one in sorted(command.deliveries)])
    return len(rows)
