"""Contacts get the company with the domain of their e-mail address."""

from __future__ import annotations

import pytest
from tests.company_links.linking import company_of, domains, events, jobs, link, turn
from tests.house import House

from touchbase.company_links.worker import CompanyLinker

ANN = "ann@acme.com"


async def test_setting_off__links_nothing(house: House) -> None:
    await house.company("acme.com")
    ann = await house.contact(email=ANN)

    await link(house)

    assert await company_of(house, ann) is None
    assert await jobs(house) == []


async def test_existing__links_contacts_of_before_and_after(house: House) -> None:
    acme = await house.company("acme.com")
    ann = await house.contact(email=ANN)
    await turn(house, "existing")
    ben = await house.contact(email="Ben@ACME.com")
    await house.hook("camp", {"event": "email_sent", "email": "eve@mail.acme.com"})
    await link(house)

    eve = (await house.listed(query="email=eve@mail.acme.com"))[0]["id"]
    assert [await company_of(house, item) for item in (ann, ben, eve)] == [acme] * 3
    assert await domains(house) == {"acme.com": acme}
    assert await house.differences() == []


async def test_existing__links_when_the_company_comes_later(house: House) -> None:
    await turn(house, "existing")
    ann, eve = await house.contact(email=ANN), await house.contact(email="eve@mail.acme.com")
    await link(house)
    assert await company_of(house, ann) is None

    acme = await house.company("acme.com")
    await link(house)

    assert [await company_of(house, item) for item in (ann, eve)] == [acme, acme]


async def test_create__creates_one_company_for_all_people_of_a_domain(house: House) -> None:
    before = [await house.contact(email=f"{n}@acme.co.uk") for n in range(3)]
    await turn(house, "create")
    after = [await house.contact(email=f"{n}@mail.acme.co.uk") for n in range(3)]
    await link(house)

    assert [*await domains(house)] == ["acme.co.uk"]
    [acme] = (await domains(house)).values()
    assert [await company_of(house, contact) for contact in (*before, *after)] == [acme] * 6
    assert await house.differences() == []


@pytest.mark.parametrize("mode", ["existing", "create"])
async def test_free_mail_and_unknown_names__link_nothing(house: House, mode: str) -> None:
    await turn(house, mode)
    for domain in ("gmail.com", "mailinator.com", "proton.me", "co.uk", "gmx.de", "acme.internal"):
        await house.company(domain)
    addresses = ("a@gmail.com", "a@mailinator.com", "a@proton.me", "a@acme.internal", "a@x.gmx.de")
    people = [await house.contact(email=address) for address in addresses]
    people.append(await house.contact(linkedin_url="linkedin.com/in/jane"))
    await link(house)

    assert [await company_of(house, person) for person in people] == [None] * len(people)
    assert len(await domains(house)) == 6


async def test_changed_address__moves_the_link(house: House) -> None:
    acme, beta = await house.company("acme.com"), await house.company("beta.com")
    ann = await house.contact(email=ANN)
    await turn(house, "existing")
    assert await company_of(house, ann) == acme

    for address, company in (("ann@beta.com", beta), ("ann@gmail.com", None), ("ann@gamma.com", None), (ANN, acme)):
        await house.request("PATCH", f"/public/v2/contacts/{ann}", {"email": address})
        await link(house)
        assert await company_of(house, ann) == company
    assert await house.differences() == []


async def test_company_that_takes_a_domain__takes_its_people(house: House) -> None:
    old = await house.company("acme.com")
    ann = await house.contact(email=ANN)
    ben = await house.contact(email="ben@acme.com", company_id=old)
    await turn(house, "existing")
    await house.request("PATCH", f"/public/v2/companies/{old}", {"domain": "acme.io"})
    eve = await house.contact(email="eve@acme.com")
    await link(house)
    assert [await company_of(house, item) for item in (ann, ben, eve)] == [old] * 3

    new = await house.company("acme.com")
    await link(house)

    assert [await company_of(house, item) for item in (ann, ben, eve)] == [new, old, new]
    assert await house.differences() == []


async def test_company_that_a_request_set_or_unset__stays(house: House) -> None:
    acme, beta = await house.company("acme.com"), await house.company("beta.com")
    ann = await house.contact(email=ANN, company_id=beta)
    ben = await house.contact(email="ben@acme.com", company_id=beta)
    eve = await house.contact(email="eve@acme.com")
    await house.request("PATCH", f"/public/v2/contacts/{ben}", {"company_id": None})
    await turn(house, "create")
    assert [await company_of(house, item) for item in (ann, ben, eve)] == [beta, None, acme]

    await house.request("PATCH", f"/public/v2/contacts/{eve}", {"company_id": None})
    await link(house)

    assert await company_of(house, eve) is None
    assert await house.differences() == []


async def test_company_that_a_crm_names__wins_whatever_its_time(house: House) -> None:
    acme = await house.company("acme.com")
    await turn(house, "existing")
    house.call.clock.move(1000)
    ann = await house.contact(email=ANN)
    await link(house)
    assert await company_of(house, ann) == acme

    await house.hook(
        "hubspot",
        {"event": "company.updated", "domain": "beta.com", "object_type": "company", "object_id": "7", "at": 1},
        {"event": "contact.updated", "email": ANN, "object_type": "contact", "object_id": "9", "company_object": ["company", "7"], "at": 1},
    )
    beta = (await domains(house))["beta.com"]
    assert await company_of(house, ann) == beta
    await link(house)

    assert await company_of(house, ann) == beta
    assert await house.differences() == []


async def test_log__names_the_domain_as_the_cause(house: House) -> None:
    await turn(house, "create")
    ann = await house.contact(email=ANN)
    await link(house)

    [acme] = (await domains(house)).values()
    cause = {"origin": "domain", "domain": "acme.com"}
    assert (await events(house, ann))[1:] == [("contact.updated", {"company_id": [None, acme]}, cause)]
    assert await events(house, acme, "company") == [("company.created", {"domain": [None, "acme.com"]}, cause)]


async def test_explain__shows_the_company_without_an_event(house: House) -> None:
    acme = await house.company("acme.com")
    ann = await house.contact(email=ANN)
    await turn(house, "existing")

    reply = await house.request("GET", f"/public/v2/contacts/{ann}/explain?field=company_id")

    assert reply.json()["data"] == [{"field": "company_id", "value": str(acme), "set_by": None, "others": [], "others_total": 0}]
    assert await house.timeline(ann) == ["contact.created"]


async def test_job__shows_its_progress(house: House) -> None:
    await house.contact(email=ANN)
    await house.contact(email="ben@gmail.com")

    await turn(house, "create")

    [job] = await jobs(house)
    assert (job["state"], job["settings"]) == ("succeeded", {"mode": "create"})
    assert job["progress"] == {"contacts": 2, "scanned": 2, "linked": 1, "companies_created": 1, "percent": 100}


async def test_turned_off__stops_the_job_and_leaves_the_links(house: House) -> None:
    acme = await house.company("acme.com")
    ann = await house.contact(email=ANN)
    await turn(house, "existing")
    ben = await house.contact(email="ben@beta.com")
    await house.call.settings(link_companies_by_email="create")
    await CompanyLinker(house.call.parts.store, house.call.clock, pause=0).drain()  # creates the job
    await turn(house, "off")
    await house.contact(email="eve@acme.com")
    await link(house)

    stopped, done = await jobs(house)
    assert (stopped["state"], done["state"]) == ("cancelled", "succeeded")
    assert stopped["error"] == "the client's setting link_companies_by_email was changed"
    assert [await company_of(house, contact) for contact in (ann, ben)] == [acme, None]
    assert await domains(house) == {"acme.com": acme}


async def test_turned_on_again__links_all_contacts_by_a_new_job(house: House) -> None:
    acme = await house.company("acme.com")
    linker = CompanyLinker(house.call.parts.store, house.call.clock, pause=0)
    await house.call.settings(link_companies_by_email="existing")
    await linker.drain()  # creates the job
    await house.call.settings(link_companies_by_email="off")
    await linker.drain()
    ann = await house.contact(email=ANN)

    await turn(house, "existing")

    assert await company_of(house, ann) == acme
    assert [job["state"] for job in await jobs(house)] == ["succeeded", "cancelled"]
