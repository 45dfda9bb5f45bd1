"""Whom one store knows to be erased is erased in a restored one: every page, every client that is there, none else's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from touchbase.domain.client import Client, ClientSettings
from touchbase.domain.commands import Command
from touchbase.domain.queries import ListClients, Query
from touchbase.service import reapply_erasures as module
from touchbase.service.reapply_erasures import ErasedPage, ErasureWords, reapply_erasures


@dataclass
class Page:
    secret: bytes | None
    keys: Sequence[Any]
    last: bytes | None


@dataclass
class Listed(Query[ErasedPage]):
    client: int
    limit: int
    after: bytes


@dataclass
class Added(Command[int]):
    client: int
    secret: bytes
    keys: Sequence[bytes]
    at: int


WORDS = ErasureWords(Listed, Added)


@dataclass
class Remembering:
    """Knows clients and erased keys: all that is asked here of a store."""

    clients: dict[int, str]
    erased: dict[int, list[bytes]] = field(default_factory=dict)
    told: list[Added] = field(default_factory=list)

    async def read(self, query: Any) -> Any:
        if isinstance(query, ListClients):
            return [Client(number, client_id, 0, ClientSettings()) for number, client_id in self.clients.items()]
        left = [key for key in sorted(self.erased.get(query.client, [])) if key > query.after]
        page = left[: query.limit]
        return Page(b"secret" if self.erased else None, page, page[-1] if len(left) > query.limit else None)

    async def write(self, command: Any) -> Any:
        self.told.append(command)
        known = self.erased.setdefault(command.client, [])
        news = [key for key in command.keys if key not in known]
        known += news
        return len(news)


def keys(count: int, word: bytes = b"k") -> list[bytes]:
    return [word + b"%06d" % n for n in range(count)]


async def test_every_erasure_is_carried_over_page_by_page_and_only_news_are_counted() -> None:
    known = Remembering({1: "acme", 2: "other"}, {1: keys(1_200), 2: keys(3, b"o")})
    restored = Remembering({1: "acme", 2: "other"}, {1: keys(200)})

    added = await reapply_erasures(restored, known, 7, WORDS)  # type: ignore[arg-type]

    assert added == 1_003
    assert {client: sorted(found) for client, found in restored.erased.items()} == {1: keys(1_200), 2: keys(3, b"o")}
    assert max(len(one.keys) for one in restored.told) <= module.PAGE
    assert {(one.secret, one.at) for one in restored.told} == {(b"secret", 7)}


async def test_clients_that_the_restored_store_does_not_have_are_passed_over() -> None:
    known = Remembering({1: "acme", 2: "later"}, {2: keys(3)})
    restored = Remembering({1: "acme", 2: "somebody else"})

    assert await reapply_erasures(restored, known, 7, WORDS) == 0  # type: ignore[arg-type]
    assert restored.told == []


async def test_where_nobody_was_erased_nothing_is_written() -> None:
    known, restored = Remembering({1: "acme"}), Remembering({1: "acme"})

    assert await reapply_erasures(restored, known, 7, WORDS) == 0  # type: ignore[arg-type]
    assert restored.told == []
