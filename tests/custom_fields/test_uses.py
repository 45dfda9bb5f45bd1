"""Use counts of custom fields are the counts of all values, whatever was written since their parts were stored."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.custom_fields.fields import contact, inputs, path, uses
from tests.examples import examples
from tests.house import House

from touchbase.cells.models import ID_BITS
from touchbase.custom_fields import uses as parts
from touchbase.custom_fields.uses import audit_uses
from touchbase.history.events import CONTACT
from touchbase.search.sql.index import index_records
from touchbase.sql.operation import command
from touchbase.sql.statement import Execute, Plan, Statement
from touchbase.sql.store import Store

_NUMBERS = itertools.count(1)
_RENUMBER = "UPDATE custom_field SET record_id = p.new FROM p WHERE record_id = p.old"
PEOPLE = 5
STEPS = ("set", "unset", "delete", "restore", "merge", "undo", "erase", "index", "list")
people = st.integers(0, PEOPLE - 1)
programs = st.lists(st.tuples(st.sampled_from(STEPS), people, people, st.sampled_from(["Industry", "Seats", "Tier"])), max_size=12)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of two ids, which are stored however few values they have."""
    monkeypatch.setattr(parts, "BITS", 1)
    monkeypatch.setattr(parts, "FEW_VALUES", 0)


async def carry_out(house: House, program: list[tuple[str, int, int, str]]) -> None:
    """Carry out the steps; one that is not possible, such as a restore of what was not deleted, changes nothing."""
    numbers = [await contact(house, f"p{number}@a.example", Industry="Bank") for number in range(PEOPLE)]
    client = house.number
    merges: list[tuple[int, int]] = []
    for step, first, second, name in program:
        at = f"/public/v2/contacts/{numbers[first]}"
        if step in ("set", "unset"):
            await house.request("PATCH", at, {"contact_custom_fields": inputs(**{name: step if step == "set" else None})})
        elif step in ("delete", "erase"):
            await house.request("DELETE", at + ("?erase=true" if step == "erase" else ""))
        elif step == "restore":
            await house.request("POST", f"{at}/restore")
        elif step == "merge" and first != second:
            reply = await house.request("POST", f"{at}/merge", {"with": [numbers[second]]})
            merges += [(numbers[first], reply.json()["merge_id"])] if reply.status == 200 else []
        elif step == "undo" and merges:
            into, merge = merges.pop()
            await house.request("POST", f"/public/v2/contacts/{into}/merge/{merge}/undo")
        elif step == "index":
            await house.call.parts.store.write(index_records(client))
        elif step == "list":
            await house.request("GET", path())
            assert await house.call.parts.store.read(audit_uses(client, CONTACT)) == []


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck), deadline=None)
@given(program=programs)
async def test_uses__are_those_of_a_count_of_all_values_after_any_writes(
    program: list[tuple[str, int, int, str]], store: Store, make_client: MakeClient
) -> None:
    house = await House.of(make_client(store), f"client-{next(_NUMBERS)}")

    await carry_out(house, [*program, ("list", 0, 0, ""), ("index", 0, 0, ""), ("list", 0, 0, ""), ("list", 0, 0, "")])


async def test_list__counts_again_only_the_parts_of_changed_records(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [await contact(house, f"p{number}@a.example", Industry="Bank") for number in range(6)]
    await house.call.parts.store.write(index_records(house.number))
    await uses(house)
    count, counted = parts._count, list[int]()
    monkeypatch.setattr(parts, "_count", lambda client, kind, gaps, left: counted.extend(*gaps) or count(client, kind, gaps, left))

    await house.request("PATCH", f"/public/v2/contacts/{numbers[0]}", {"contact_custom_fields": inputs(Industry=None, Seats="4")})

    assert await uses(house) == {"Industry": 5, "Seats": 1}
    assert counted == [numbers[0] >> parts.BITS]


async def test_ids_of_two_databases__are_counted_without_the_parts_between(house: House) -> None:
    first, second = [await contact(house, f"p{number}@a.example", Industry="Bank") for number in range(2)]
    await house.call.parts.store.write(_renumber(second, (1 << ID_BITS) + second))
    await house.call.parts.store.write(index_records(house.number))

    assert await uses(house) == {"Industry": 2}

    await house.request("PATCH", f"/public/v2/contacts/{first}", {"contact_custom_fields": inputs(Industry=None)})
    assert await uses(house) == {"Industry": 1}


@command()
def _renumber(old: int, new: int) -> Plan[None]:
    """Have the values of a contact under an id such as a move from another database brings."""
    yield Execute(Statement("renumber", (("old", "bigint"), ("new", "bigint")), body=_RENUMBER), [(old, new)])
