"""The inbox: keeping deliveries, claiming those that wait, and noting how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from touchbase.domain.commands import CountRepeat, KeepDelivery, Kept, ReplayDeliveries, ReplayMany
from touchbase.domain.delivery import FAILED, IGNORED, MAX_ATTEMPTS, RECEIVED, REPEAT_WINDOW, TWIN_WINDOW, Delivery, place_of_replay
from touchbase.domain.erased_keys import WHY_IGNORED
from touchbase.domain.errors import Overloaded
from touchbase.domain.ports import WorkReport
from touchbase.domain.times import SECOND, Micros
from touchbase.storage.sql import claims
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.apply_mark import MARK_DELIVERY
from touchbase.storage.sql.bodies import clear_deliveries
from touchbase.storage.sql.erase_apply import names_erased
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.op import Plan, Row, Step
from touchbase.storage.sql.rows import delivery_of
from touchbase.storage.sql.shapes import delivery_shape

LONGEST_WAIT: Micros = 3600 * SECOND


def keep_deliveries(commands: Sequence[KeepDelivery], ids: Ids) -> Plan[list[object]]:
    """Keep each call, or find the delivery that it repeats."""
    numbers = [ids.take("delivery") for _ in commands]
    kept: dict[int, object] = {}
    left = list(range(len(commands)))
    twins: dict[int, int | None] = {}
    while left:
        # The same call twice at once: the first of them is looked at, and the others are then told from it.
        firsts = list({(commands[n].client, commands[n].key): n for n in reversed(left)}.values())[::-1]
        made = yield Step(
            sql.KEEP_DELIVERY,
            [_delivery_row(commands[n], numbers[n], twins.get(n)) for n in firsts],
            [_body_row(commands[n], numbers[n]) for n in firsts],
        )
        new = {row[0] for row in made}
        kept.update({n: Kept(numbers[n], False) for n in firsts if numbers[n] in new})
        if len(kept) == len(commands):
            break
        left = yield from _not_repeats(commands, [n for n in left if n not in kept], kept, twins)
    return [kept[n] for n in range(len(commands))]


def _not_repeats(
    commands: Sequence[KeepDelivery], left: Sequence[int], kept: dict[int, object], twins: dict[int, int | None]
) -> Plan[list[int]]:
    """Find those that repeat a call; answers which are stored, with the call of equal bytes that each came after within the hour."""
    rows = yield Step(sql.CALL_BY_KEY, sorted({(commands[n].client, commands[n].key) for n in left}))
    known = {(row[0], bytes(row[1])): row for row in rows}
    again: list[int] = []
    for n in left:
        row = known.get((commands[n].client, commands[n].key))
        if row is None:
            kept[n] = Overloaded("the call that this one repeats has just been removed; send it again")
        elif _repeats(commands[n].received_us, *row[3:]):
            kept[n] = Kept(row[2], True)
        else:
            twins[n] = row[2] if commands[n].received_us <= row[3] + REPEAT_WINDOW else None
            again.append(n)
    return again


def _repeats(at: Micros, twin_us: Micros, dated: int | None, next_us: Micros | None) -> bool:
    """Whether a call repeats its twin in any case. Where that depends on whom it is about, `storage/sql/repeats.py` decides later."""
    if at > twin_us + REPEAT_WINDOW:
        return False
    return bool(dated) or (at <= twin_us + TWIN_WINDOW and (next_us is None or next_us > at))


def count_repeats(commands: Sequence[CountRepeat], ids: Ids) -> Plan[list[object]]:
    """Note how often deliveries arrived again."""
    times = Counter((command.client, command.id) for command in commands)
    yield Step(sql.COUNT_REPEAT, [(*one, count) for one, count in sorted(times.items())])
    return [None] * len(commands)


def _body_row(c: KeepDelivery, number: int) -> Row:
    return (c.client, number, c.query, c.headers, c.body)


def _delivery_row(c: KeepDelivery, number: int, twin: int | None) -> Row:
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
    rows = yield Step(sql.REPLAY_DELIVERY, [(*one, place) for one in sorted(command.deliveries)])
    return len(rows)


def claim(client: int, limit: int, now_us: Micros) -> Plan[list[Delivery]]:
    """Waiting deliveries of one client with their bodies, oldest first."""
    return _in_turn((yield Step(claims.CLAIM, [(client, now_us, limit)])))


def look_ahead(client: int, limit: int, now_us: Micros, after: Delivery) -> Plan[list[Delivery]]:
    """Those that wait behind this one, as `claim` would have them next; nobody is kept from taking them."""
    return _in_turn((yield Step(claims.LOOK_AHEAD, [(client, now_us, limit, after.next_attempt_us, after.id)])))


def hold(client: int, seen: Sequence[Delivery]) -> Plan[int]:
    """Claim these, but for what somebody else holds; answers how many are as they were when they were seen."""
    rows = yield Step(claims.HOLD, [(client, one.id) for one in seen])
    return len({(one.id, one.attempts, one.next_attempt_us) for one in seen}.intersection(rows))


def claim_named(client: int, ids: Sequence[int]) -> Plan[list[Delivery]]:
    """Those of these deliveries that wait, due or not, with their bodies, oldest first; also of a suspended client."""
    rows = yield Step(claims.CLAIM_NAMED, [(client, number) for number in sorted(set(ids))])
    return sorted(_claimed(rows), key=lambda delivery: delivery.id)


def _in_turn(rows: Sequence[Row]) -> list[Delivery]:
    return sorted(_claimed(rows), key=lambda delivery: (delivery.next_attempt_us, delivery.id))


def _claimed(rows: Sequence[Row]) -> list[Delivery]:
    claimed: list[Delivery] = []
    for row in rows:
        delivery = delivery_of(row[:-1])
        delivery.guarded = bool(row[-1])
        claimed.append(delivery)
    return claimed


def note_failure(client: int, delivery: Delivery, error: str, now_us: Micros, *, for_good: bool = False) -> Plan[WorkReport]:
    """One more attempt failed: try again later, each time after twice the wait, and give up after the last, or at once `for_good`.

    The report counts the delivery as ended once it is given up.
    """
    attempts = delivery.attempts + 1
    key = yield from names_erased(client, delivery)
    if key is not None:  # kept for nobody: what could be read from it one day must not be
        row: Row = (client, delivery.id, IGNORED, delivery.tool, attempts, WHY_IGNORED, now_us, 0, None, 0, None)
        marked = yield Step(MARK_DELIVERY, [row])
        yield from clear_deliveries(key, client, [delivery.id], now_us)
        return _ended(delivery, IGNORED, marked)
    state = FAILED if for_good or attempts >= MAX_ATTEMPTS else RECEIVED
    again = now_us + min(LONGEST_WAIT, SECOND * 2**attempts)
    shape = delivery_shape(delivery) if state == FAILED else None
    row = (client, delivery.id, state, delivery.tool, attempts, error[:2000], None, again, shape, 0, None)
    marked = yield Step(MARK_DELIVERY, [row])
    return _ended(delivery, state, marked)


def _ended(delivery: Delivery, state: str, marked: Sequence[Row]) -> WorkReport:
    report = WorkReport(taken=1)
    if marked and state != RECEIVED:
        report.ended = {state: 1}
        report.outcomes = {(delivery.channel, delivery.tool or "", state): 1}
    return report
