"""The inbox: keeping deliveries, claiming those that wait, and noting how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from touchbase.domain.commands import CountRepeat, KeepAnew, KeepDelivery, Kept, ReplayDeliveries, ReplayMany
from touchbase.domain.delivery import FAILED, IGNORED, MAX_ATTEMPTS, RECEIVED, REPEAT_WINDOW, Delivery, place_of_replay
from touchbase.domain.erased_keys import WHY_IGNORED
from touchbase.domain.errors import Overloaded
from touchbase.domain.keys import former_key
from touchbase.domain.times import SECOND, Micros
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
    made = yield Step(
        sql.KEEP_DELIVERY,
        [_delivery_row(command, number) for command, number in zip(commands, numbers, strict=True)],
        [(c.client, number, c.query, c.headers, c.body) for c, number in zip(commands, numbers, strict=True)],
    )
    if len(made) == len(commands):
        return [Kept(number, False) for number in numbers]
    new = {row[0] for row in made}
    repeats = [command for command, number in zip(commands, numbers, strict=True) if number not in new]
    known = yield from _known(repeats)
    return [
        Kept(number, False) if number in new else _repeat_of(command, known.get((command.client, command.key)))
        for command, number in zip(commands, numbers, strict=True)
    ]


def keep_anew(commands: Sequence[KeepAnew], ids: Ids) -> Plan[list[object]]:
    """Keep each call under the key of the one that had it. So the newest is always found at once, however often the bytes were seen."""
    yield Step(sql.GIVE_UP_KEY, sorted((c.client, c.instead_of, c.key, former_key(c.key, c.instead_of)) for c in commands))
    return (yield from keep_deliveries(commands, ids))


def count_repeats(commands: Sequence[CountRepeat], ids: Ids) -> Plan[list[object]]:
    """Note how often deliveries arrived again."""
    times = Counter((command.client, command.id) for command in commands)
    yield Step(sql.COUNT_REPEAT, [(*one, count) for one, count in sorted(times.items())])
    return [None] * len(commands)


def _known(repeats: Sequence[KeepDelivery]) -> Plan[dict[tuple[int, bytes], Row]]:
    rows = yield Step(sql.DELIVERY_BY_KEY, list({(c.client, c.key) for c in repeats}))
    return {(row[0], bytes(row[1])): row for row in rows}


def _repeat_of(command: KeepDelivery, known: Row | None) -> object:
    """The same bytes long after the first are news: the caller keeps them anew."""
    if known is None:
        return Overloaded("the call that this one repeats has just been removed; send it again")
    if command.received_us > known[3] + REPEAT_WINDOW:
        return Kept(known[2], True, is_old=True)
    return Kept(known[2], True)


def _delivery_row(c: KeepDelivery, number: int) -> Row:
    verified = None if c.verified is None else int(c.verified)
    return (c.client, number, c.channel, RECEIVED, c.received_us, c.tool, 0, 0, None, None, 0, len(c.body), verified, c.key)


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
    return _claimed((yield Step(sql.CLAIM, [(client, now_us, limit)])))


def look_ahead(client: int, limit: int, now_us: Micros, after: Delivery) -> Plan[list[Delivery]]:
    """Those that wait behind this one, as `claim` would have them next; nobody is kept from taking them."""
    return _claimed((yield Step(sql.LOOK_AHEAD, [(client, now_us, limit, after.next_attempt_us, after.id)])))


def hold(client: int, seen: Sequence[Delivery]) -> Plan[int]:
    """Claim these, but for what somebody else holds; answers how many are as they were when they were seen."""
    rows = yield Step(sql.HOLD, [(client, one.id) for one in seen])
    return len({(one.id, one.attempts, one.next_attempt_us) for one in seen}.intersection(rows))


def claim_named(client: int, ids: Sequence[int]) -> Plan[list[Delivery]]:
    """Those of these deliveries that wait, due or not, with their bodies, oldest first; also of a suspended client."""
    rows = yield Step(sql.CLAIM_NAMED, [(client, number) for number in sorted(set(ids))])
    return sorted(_claimed(rows), key=lambda delivery: delivery.id)


def _claimed(rows: Sequence[Row]) -> list[Delivery]:
    claimed: list[Delivery] = []
    for row in rows:
        delivery = delivery_of(row[:-1])
        delivery.guarded = bool(row[-1])
        claimed.append(delivery)
    return claimed


def note_failure(client: int, delivery: Delivery, error: str, now_us: Micros) -> Plan[None]:
    """One more attempt failed: try again later, each time after twice the wait, and give up after the last."""
    attempts = delivery.attempts + 1
    key = yield from names_erased(client, delivery)
    if key is not None:  # kept for nobody: what could be read from it one day must not be
        yield Step(MARK_DELIVERY, [(client, delivery.id, IGNORED, delivery.tool, attempts, WHY_IGNORED, now_us, 0, None)])
        yield from clear_deliveries(key, client, [delivery.id], now_us)
        return
    state = FAILED if attempts >= MAX_ATTEMPTS else RECEIVED
    again = now_us + min(LONGEST_WAIT, SECOND * 2**attempts)
    shape = delivery_shape(delivery) if state == FAILED else None
    yield Step(MARK_DELIVERY, [(client, delivery.id, state, delivery.tool, attempts, error[:2000], None, again, shape)])
