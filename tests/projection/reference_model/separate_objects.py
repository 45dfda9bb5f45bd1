"""Objects of one CRM that have different addresses now are different people, whatever they have shared before (decision 33).

What an object tells is of whoever has its address now. What a campaign tool tells under an address is of whoever had it then: of
the person whose object has it now, since an object of theirs first had it; before that of whoever came to have it last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.projection.reference_model.model import Fact, Write

Place = tuple[int, int]


def divided(writes: list[Write], facts: list[Fact], name: str, leader: Callable[[Fact], str]) -> Iterator[tuple[list[Write], list[Fact]]]:
    """The people (or companies) that one group of names is; `name` is the field of the address, `leader` says which object a fact is of."""
    claims: dict[str, list[tuple[Place, str]]] = defaultdict(list)
    for fact in facts:
        if fact.source and (address := _address(fact, name)):
            claims[leader(fact)].append((fact.place, address))
    now = {key: max(claim)[1] for key, claim in claims.items()}
    kinds: dict[str, set[str]] = defaultdict(set)
    for first_key, address in now.items():
        kinds[first_key.rpartition(" ")[0]].add(address)
    apart = {address for addresses in kinds.values() if len(addresses) > 1 for address in addresses}
    by_api = [(write.at, 0) for write in writes if name in write.fields]
    if not apart or (by_api and max(by_api) > max(max(claim)[0] for claim in claims.values())):
        yield writes, facts
        return
    had: dict[str, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
    for first_key, value in claims.items():
        for place, address in value:
            if now[first_key] in apart:
                had[address][now[first_key]].append(place)
    people: dict[str, tuple[list[Write], list[Fact]]] = {address: ([], []) for address in apart}
    first = min((place, now[key]) for key, claim in claims.items() for place, _ in claim if now[key] in apart)[1]
    people[_of_api(writes, name, had) or first][0].extend(writes)
    for fact in facts:
        people[_whose(fact, name, leader, now, had) or first][1].append(fact)
    yield from people.values()


def _address(fact: Fact, name: str) -> str | None:
    return None if fact.said["event"].endswith(".deleted") else fact.said.get(name)


def _of_api(writes: list[Write], name: str, had: dict[str, dict[str, list[Place]]]) -> str | None:
    claims = [(min(places), who) for write in writes for who, places in had.get(write.fields.get(name) or "", {}).items()]
    return min(claims)[1] if claims else None


def _whose(fact: Fact, name: str, leader: Callable[[Fact], str], now: dict[str, str], had: dict[str, dict[str, list[Place]]]) -> str | None:
    address = now.get(leader(fact)) if fact.source else _address(fact, name)
    if address is None or address not in had:
        return None
    claims = had[address]
    holder = address if address in claims else max(claims, key=lambda who: max(claims[who]))
    if fact.source or fact.place >= min(claims[holder]):
        return holder
    first = {who: min(places) for who, places in claims.items()}
    before = [who for who, place in first.items() if place <= fact.place]
    return max(before, key=first.__getitem__) if before else min(first, key=first.__getitem__)
