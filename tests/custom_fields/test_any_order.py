"""Any order of webhooks around a renaming gives the record that webhooks in time give, with the new name."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.custom_fields.fields import contact, inputs, rename, values
from tests.custom_fields.test_rename import JANE, said
from tests.examples import examples
from tests.house import NOON, House, read

from touchbase.sql.store import Store

RENAMING = 50
END = 100
_NUMBERS = itertools.count(1)
Program = list[tuple[int, str, bool]]
"""Of each webhook: its time, the value ("": the field is removed), and whether it is late."""

programs = st.lists(
    st.tuples(st.integers(1, END - 1), st.sampled_from(["Bank", "Retail", ""]), st.booleans()), max_size=6, unique_by=lambda first: first[0]
)
requests = st.none() | st.tuples(st.integers(1, RENAMING - 1), st.sampled_from(["Food", None]))


async def run(house: House, program: Program, request: tuple[int, str | None] | None, *, renamed: bool) -> dict[str, Any]:
    """Receive the webhooks in time, or at the end if they are late; rename between them; return the record's fields, and their history."""
    clock = house.call.clock
    jane = await contact(house, JANE, Industry="First")
    await contact(house, "ann@a.example", Industry="so that there is the field, also without the other one")
    steps: list[tuple[int, int, Any]] = [
        (END + number if late else at, 1, said(at, Industry=value or None)) for number, (at, value, late) in enumerate(program)
    ]
    if request is not None:
        steps.append((request[0], 0, {"contact_custom_fields": inputs(Industry=request[1])}))
    if renamed:
        steps.append((RENAMING, 2, None))
    for at, kind, step in sorted(steps, key=lambda item: item[:2]):
        clock.now = max(clock.now, NOON + at * 1_000_000)
        if kind == 0:
            assert (await house.request("PATCH", f"/public/v2/contacts/{jane}", step)).status == 200
        elif kind == 1:
            await house.hook("hubspot", step)
        else:
            await rename(house, "Industry", "Sector")
    result = await values(house, jane)
    await house.replay()
    assert await values(house, jane) == result
    assert await house.differences() == []
    history = (await house.request("GET", f"/public/v2/contacts/{jane}/history?limit=100")).json()["data"]
    return result | {"history": [(item["field"], item["since"], item["value"]) for item in history if item["field"].startswith("cf.")]}


def in_time(program: Program) -> Program:
    """The same webhooks, none late."""
    return [(at, value, False) for at, value, _ in program]


@given(programs, requests)
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_renaming__any_order_of_webhooks_gives_the_same_record(
    store: Store, make_client: MakeClient, program: Program, request_: tuple[int, str | None] | None
) -> None:
    results = []
    for late in (program, in_time(program)):
        for renamed in (True, False):
            house = await House.of(make_client(store, read=read), f"c{next(_NUMBERS)}")
            result = await run(house, late, request_, renamed=renamed)
            history = [(name.replace("Industry", "Sector"), *change) for name, *change in result.pop("history")]
            results.append({"Sector" if name == "Industry" else name: value for name, value in result.items()} | {"history": history})

    assert results == [results[0]] * 4
