"""Links by domain and the life of records: bin, merges, erasure, verification; and the worker's own stops."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.asgi_client import MakeClient
from tests.company_links.linking import company_of, domains, jobs, link, turn
from tests.conftest import ExecuteSql
from tests.house import House, read

from touchbase.common.timestamps import DAY
from touchbase.company_links import job, worker
from touchbase.company_links.plans import clients_to_link
from touchbase.company_links.worker import CompanyLinker
from touchbase.event_log.sql.queries import trim_log
from touchbase.jobs.worker import JobWorker
from touchbase.sql.store import Store

ANN = "ann@acme.com"


async def test_deleted_company__is_not_created_again_and_gets_its_contacts_back(house: House) -> None:
    await turn(house, "create")
    ann = await house.contact(email=ANN)
    await link(house)
    [acme] = (await domains(house)).values()

    await house.delete(acme, "companies")
    eve = await house.contact(email="eve@acme.com")
    await link(house)
    assert [await company_of(house, item) for item in (ann, eve)] == [None, None]
    assert await domains(house) == {}
    assert await house.differences() == []

    await house.restore(acme, "companies")
    assert await company_of(house, ann) == acme
    await link(house)
    assert await company_of(house, eve) == acme
    assert await house.differences() == []


async def test_deleted_contact__comes_back_with_a_link(house: House) -> None:
    acme = await house.company("acme.com")
    ann, ben = await house.contact(email=ANN), await house.contact(email="ben@beta.com")
    await turn(house, "existing")
    for entry in (ann, ben):
        await house.delete(entry)
    await link(house)
    beta = await house.company("beta.com")
    await house.delete(acme, "companies")

    for entry in (ann, ben):
        await house.restore(entry)
    await link(house)

    assert [await company_of(house, item) for item in (ann, ben)] == [None, beta]
    assert await house.differences() == []


async def test_merged_companies__keep_the_links_and_the_undo_gives_them_back(house: House) -> None:
    acme, beta = await house.company("acme.com"), await house.company("beta.com")
    ann, ben = await house.contact(email=ANN), await house.contact(email="ben@beta.com")
    await turn(house, "create")
    house.call.clock.move(10)

    merge = await house.merge(acme, beta, kind="companies")
    eve = await house.contact(email="eve@beta.com")
    await link(house)
    assert [await company_of(house, item) for item in (ann, ben, eve)] == [acme] * 3
    assert await house.differences() == []

    await house.undo(acme, merge["merge_id"], "companies")
    await link(house)
    assert [await company_of(house, item) for item in (ann, ben, eve)] == [acme, beta, beta]
    assert await domains(house) == {"acme.com": acme, "beta.com": beta}
    assert await house.differences() == []


async def test_merged_contacts__follow_the_address_that_stays(house: House) -> None:
    acme, beta = await house.company("acme.com"), await house.company("beta.com")
    ann = await house.contact(email=ANN)
    ben = await house.contact(email="ben@gmail.com")
    eve = await house.contact(email="eve@gmx.de", company_id=beta)
    await turn(house, "existing")
    house.call.clock.move(10)

    first = await house.merge(ben, ann, survivorship="keep")
    await link(house)
    assert await company_of(house, ben) is None
    await house.undo(ben, first["merge_id"])
    await link(house)
    assert [await company_of(house, contact) for contact in (ann, ben)] == [acme, None]

    second = await house.merge(ann, eve, survivorship="newest")
    await link(house)
    assert await company_of(house, ann) == beta
    assert await house.differences() == []
    await house.undo(ann, second["merge_id"])
    await link(house)
    assert [await company_of(house, item) for item in (ann, eve)] == [acme, beta]
    assert await house.differences() == []


async def test_erased_person__leaves_no_domain_behind(house: House, execute_sql: ExecuteSql) -> None:
    await turn(house, "existing")
    ann = await house.contact(email=ANN)
    await link(house)
    assert await pending(execute_sql) == [(ann, "acme.com")]

    assert (await house.request("DELETE", f"/public/v2/contacts/{ann}?erase=true")).status == 200

    assert await pending(execute_sql) == []
    await house.company("acme.com")
    await link(house)
    assert await house.listed() == []


async def test_merged_deleted_and_linked_contacts__do_not_wait(house: House, execute_sql: ExecuteSql) -> None:
    await turn(house, "existing")
    ann, ben, eve, jan = [await house.contact(email=f"{name}@acme.com") for name in ("ann", "ben", "eve", "jan")]
    await link(house)
    assert await pending(execute_sql) == [(item, "acme.com") for item in (ann, ben, eve, jan)]

    await house.merge(ann, ben)
    await house.delete(eve)
    await house.request("PATCH", f"/public/v2/contacts/{jan}", {"email": "jan@beta.com"})
    await link(house)

    assert await pending(execute_sql) == [(ann, "acme.com"), (jan, "beta.com")]


async def test_turned_off__forgets_who_waits(house: House, execute_sql: ExecuteSql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PAGE", 2)
    await turn(house, "existing")
    for n in range(5):
        await house.contact(email=f"{n}@acme.com")
    await link(house)
    assert len(await pending(execute_sql)) == 5

    await turn(house, "off")

    assert await pending(execute_sql) == await execute_sql("SELECT client FROM company_linking") == []


async def test_many_contacts_and_companies__are_linked_page_by_page(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (worker, job):
        monkeypatch.setattr(module, "PAGE", 3)
    people = [await house.contact(email=f"{n}@acme{n % 4}.com") for n in range(10)]
    await turn(house, "existing")
    people += [await house.contact(email=f"{n}@acme{n % 4}.com") for n in range(10, 20)]
    await link(house)
    companies = [await house.company(f"acme{n}.com") for n in range(4)]
    await link(house)
    assert [await company_of(house, person) for person in people] == [companies[n % 4] for n in range(20)]

    people = [await house.contact(email=f"{n}@beta{n % 5}.com") for n in range(10)]
    await turn(house, "create")
    people += [await house.contact(email=f"{n}@beta{n % 5}.com") for n in range(10, 20)]
    await link(house)
    result = await domains(house)
    assert len(result) == 9
    assert [await company_of(house, person) for person in people] == [result[f"beta{n % 5}.com"] for n in range(20)]
    assert [item["progress"]["linked"] for item in await jobs(house)] == [10, 0]


async def test_job__another_worker_continues_after_a_kill(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "PAGE", 2)
    people = [await house.contact(email=f"{n}@acme.com") for n in range(5)]
    await house.call.settings(link_companies_by_email="create")
    await linker(house).drain()
    killed = job.LinkKind()
    step, steps = killed._step, 0

    async def killed_step(*args: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 4:
            raise KeyboardInterrupt
        return await step(*args)

    monkeypatch.setattr(killed, "_step", killed_step)
    with pytest.raises(KeyboardInterrupt):
        await JobWorker(house.call.parts.store, house.call.clock, [killed]).drain()
    [half] = await jobs(house)
    assert (half["state"], half["progress"]["scanned"], half["progress"]["linked"]) == ("running", 4, 4)

    house.call.clock.move(60)
    await link(house)

    [full] = await jobs(house)
    assert (full["state"], full["progress"]["scanned"], full["progress"]["linked"]) == ("succeeded", 5, 5)
    assert len({await company_of(house, person) for person in people}) == 1


async def test_trimmed_log__makes_the_worker_look_at_all_contacts(house: House) -> None:
    await turn(house, "create")
    ann = await house.contact(email=ANN)
    while await house.call.parts.store.write(trim_log(house.number, house.call.clock() + DAY)):
        pass

    await link(house)

    assert await company_of(house, ann) is not None
    assert len(await jobs(house)) == 2


async def test_suspended_client__is_linked_when_it_is_resumed(house: House) -> None:
    await turn(house, "create")
    ann = await house.contact(email=ANN)
    await house.call.post("/admin/v1/clients/default/suspend")
    await link(house)
    await house.call.post("/admin/v1/clients/default/resume")
    assert await company_of(house, ann) is None

    await link(house)

    assert await company_of(house, ann) is not None


async def test_several_workers__link_once(house: House) -> None:
    await turn(house, "create")
    people = [await house.contact(email=f"{n}@acme{n % 3}.com") for n in range(9)]

    await asyncio.gather(*(linker(house).drain() for _ in range(4)))

    assert len(await domains(house)) == 3
    assert None not in [await company_of(house, person) for person in people]
    assert await house.differences() == []


async def test_other_clients__are_left_alone(store: Store, make_client: MakeClient, execute_sql: ExecuteSql) -> None:
    call = make_client(store, read=read)
    ours, theirs, third = [await House.of(call, name) for name in ("ours", "theirs", "third")]
    acme = await theirs.company("acme.com")
    people = {house.client_id: await house.contact(email=ANN) for house in (ours, theirs, third)}
    await turn(ours, "existing")
    await turn(theirs, "existing")
    ben = await ours.contact(email="ben@acme.com")
    await link(ours)
    assert [await company_of(ours, people["ours"]), await company_of(theirs, people["theirs"])] == [None, acme]

    await theirs.merge(acme, await theirs.company("beta.com"), kind="companies")
    await turn(theirs, "off")
    mine = await ours.company("acme.com")
    await link(ours)

    assert [await company_of(ours, contact) for contact in (people["ours"], ben)] == [mine, mine]
    assert await company_of(theirs, people["theirs"]) == acme
    assert await company_of(third, people["third"]) is None
    assert await execute_sql("SELECT client, mode FROM company_linking") == [(ours.number, "existing")]
    assert [item["progress"]["contacts"] for house in (ours, theirs) for item in await jobs(house)] == [1, 1]


async def test_idle_worker__asks_one_query(house: House) -> None:
    await turn(house, "existing")
    await house.contact(email=ANN)
    await link(house)
    requested: list[object] = []
    store = house.call.parts.store

    class Counting:
        async def read(self, query: Any) -> Any:
            requested.append(query)
            return await store.read(query)

    await CompanyLinker(Counting(), house.call.clock, pause=0).drain()  # type: ignore[arg-type]

    assert requested == [clients_to_link(worker.CLIENTS)]


def linker(house: House) -> CompanyLinker:
    return CompanyLinker(house.call.parts.store, house.call.clock, pause=0)


async def pending(execute_sql: ExecuteSql) -> list[tuple[int, str]]:
    """Contacts that wait for a company, with its domain."""
    return [(row[0], row[1]) for row in await execute_sql("SELECT record_id, domain FROM pending_domain_link ORDER BY record_id")]
