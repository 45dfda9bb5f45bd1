"""Erasures brought along from elsewhere: a restored backup is told of those that came after it.

Their numbers are the other store's, and this one gives the same ones to other people: each erasure gets a number of this store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from touchbase.clients import sql as clients_sql
from touchbase.erasure.commands import RECORDS_FIRST, AddErasures, ErasedKey, EraseWaiting
from touchbase.erasure.sql import open_erasure
from touchbase.errors import Conflict
from touchbase.events.suppression_guard import erase_parked_events
from touchbase.inbox.body_retention import clear_deliveries
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Select
from touchbase.suppression.server_secret import find_erasure_key, make_erasure_key, take_over
from touchbase.suppression.sql import FIND_ERASED, SAVE_ERASED


def add_needs(commands: Sequence[AddErasures]) -> Mapping[str, int]:
    """The ids that these commands may take: one for the search, and one for each erasure."""
    return {"erasure": sum(1 + len({each.erasure for each in command.keys}) for command in commands)}


def add_erasures(command: AddErasures, ids: Ids) -> Plan[int | Conflict]:
    """Remember keys, and open the search for what they name."""
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(command.client,)])
    key = (yield from find_erasure_key()) or (yield from make_erasure_key(command.secret))
    if key != command.secret:
        if (yield Select("SELECT 1 FROM erased LIMIT 1", ())):
            return Conflict("this store has erased people under a secret of its own; add erasures before anybody is erased here")
        yield from take_over(command.secret)
    wanted = {each.digest: each for each in command.keys}
    rows = (yield Execute(FIND_ERASED, [(command.client, each) for each in wanted])) if wanted else []
    known = {bytes(row[0]): bool(row[2]) for row in rows}
    news = _with_news(wanted.values(), known)
    numbers = {erasure: ids.take("erasure") for erasure in sorted(news)}
    if numbers:
        yield Execute(
            SAVE_ERASED, [_row(command.client, each, numbers[each.erasure]) for each in wanted.values() if each.erasure in numbers]
        )
    yield from open_erasure(command.client, ids.take("erasure"), command.at, {}, swept_to=RECORDS_FIRST)
    return len(wanted.keys() - known.keys())


def erase_waiting_places(command: EraseWaiting) -> Plan[int]:
    """Remove what waits in the places of these objects. Their marks stay as they are: derived ones say nothing against an address."""
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(command.client,)])
    waited = yield from erase_parked_events(command.client, command.refs)
    key = yield from find_erasure_key()
    if key is not None:
        yield from clear_deliveries(key, command.client, waited.deliveries, command.at)
    return waited.events


def _with_news(keys: Iterable[ErasedKey], known: Mapping[bytes, bool]) -> set[int]:
    """The erasures of which this store does not know everything: those that it knows keep the numbers that they have here."""
    return {each.erasure for each in keys if each.digest not in known or (known[each.digest] and not each.derived)}


def _row(client: int, key: ErasedKey, erasure: int) -> tuple[object, ...]:
    return (client, key.digest, erasure, int(key.derived), key.erased_us)
