"""Any order of webhooks and renames gives the same records, on both engines."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.asgi_client import MakeClient
from tests.house import House, read
from tests.statuses.jobs import ANN, BEN, at, bounce, finish, label, merge, rename, reply, resubscribe, sent, unsubscribe, worker

from touchbase.sql.store import Store

END = 400
RENAMES = {100: ("replied", "Interested"), 200: ("do_not_contact", "Blocked"), 300: ("Hot", "Warm")}
FACTS = (sent, reply, bounce, unsubscribe, resubscribe, lambda email, at: label(email, ("Hot", "Warm", "Won")[at % 3], at))


async def run(house: House, facts: list[tuple[int, dict[str, Any]]], *, jobs_late: bool) -> list[tuple[Any, ...]]:
    """Receive facts at their times of receipt, with renames between them; return the contacts."""
    await house.contact(email=ANN, contact_status="Hot")
    await house.contact(email=BEN, contact_status="Warm")
    for word in ("Hot", "Warm", "replied", "do_not_contact"):
        await house.contact(email=f"{word}@example.com", contact_status=word)
    steps: list[tuple[int, Any]] = [*facts, *RENAMES.items()]
    for when, step in sorted(steps, key=lambda item: item[0]):
        at(house, when)
        if isinstance(step, dict):
            await house.hook("camp", step)
            continue
        await (merge if step[1] == "Warm" else rename)(house, *step)
        if not jobs_late:
            await worker(house).drain()
    await finish(house)
    assert await house.differences() == []
    return sorted(
        (item["email"], item["contact_status"], item["previous_status"], item["status_changed_at"]) for item in await house.listed()
    )


@pytest.mark.parametrize("seed", range(5))
async def test_late_webhooks__give_what_those_in_time_give(store: Store, make_client: MakeClient, seed: int) -> None:
    chance = random.Random(seed)
    times = sorted(chance.sample([at for at in range(2, END) if at not in RENAMES], 14))
    facts = [(at, chance.choice(FACTS)(chance.choice((ANN, BEN)), at)) for at in times]
    late = [(chance.choice((at, END + 50 + chance.randrange(20))), fact) for at, fact in facts]

    in_time = await run(await House.of(make_client(store, read=read), f"early-{seed}"), facts, jobs_late=False)
    later = await run(await House.of(make_client(store, read=read), f"late-{seed}"), late, jobs_late=True)

    assert in_time == later
