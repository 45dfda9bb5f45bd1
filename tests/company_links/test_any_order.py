"""A company that an event or a request names wins over the domain, whenever the worker of links runs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.company_links.linking import link
from tests.examples import examples
from tests.house import House, read

from touchbase.sql.store import Store

ANN = "ann@acme.com"
_NUMBERS = itertools.count(1)
Step = tuple[Any, ...]
numbers, times = st.integers(1, 2), st.integers(-50, 50)
steps = st.one_of(
    st.tuples(st.just("link")),
    st.tuples(st.just("crm"), numbers, times),
    st.tuples(st.just("object"), numbers, times),
    st.tuples(st.just("set"), st.sampled_from([None, "beta.com", "acme.com"])),
    st.tuples(st.just("delete"), st.sampled_from(["acme.com", "beta.com", "one.com"])),
    st.tuples(st.just("restore")),
    st.tuples(st.just("address"), st.sampled_from([ANN, "ann@beta.com", "ann@gmail.com"])),
)


class Run:
    """One client that carries out a program."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.deleted: list[int] = []

    async def companies(self) -> dict[str, int]:
        """The companies by domain."""
        return {item["domain"]: item["id"] for item in await self.house.listed("companies")}

    async def do(self, step: Step, ann: int) -> None:
        """Carry out one step; what is not possible now is left out."""
        house, companies = self.house, await self.companies()
        house.call.clock.move(1)
        match step:
            case ["crm", number, at]:
                named = {"object_type": "contact", "object_id": "9", "company_object": ["company", str(number)]}
                email = (await house.get(ann))["email"]
                await house.hook("hubspot", {"event": "contact.updated", "email": email, "at": at, **named})
            case ["object", number, at]:
                named = {"object_type": "company", "object_id": str(number), "domain": ("one.com", "two.com")[number - 1]}
                await house.hook("hubspot", {"event": "company.updated", "at": at, **named})
            case ["set", domain] if domain is None or domain in companies:
                await house.request("PATCH", f"/public/v2/contacts/{ann}", {"company_id": companies.get(domain)})
            case ["delete", domain] if domain in companies:
                self.deleted.append(companies[domain])
                await house.delete(companies[domain], "companies")
            case ["restore"] if self.deleted:
                await house.request("POST", f"/public/v2/companies/{self.deleted.pop()}/restore")
            case ["address", email]:
                await house.request("PATCH", f"/public/v2/contacts/{ann}", {"email": email})

    async def company(self, ann: int) -> str | None:
        """The domain of the contact's company."""
        number = (await self.house.get(ann)).get("company_id")
        return None if number is None else (await self.house.get(number, "companies"))["domain"]


async def run(house: House, program: list[Step], *, mode: str, during: bool) -> str | None:
    """Carry out a program, with the worker during it or only at its end; return the domain of the contact's company."""
    await house.call.settings(house.client_id, link_companies_by_email=mode if during else "off")
    for domain in ("acme.com", "beta.com"):
        await house.company(domain)
    ann = await house.contact(email=ANN)
    running = Run(house)
    for step in program:
        if step == ("link",):
            await link(house)
        else:
            await running.do(step, ann)
    await house.call.settings(house.client_id, link_companies_by_email=mode)
    await link(house)
    assert await house.differences() == []
    return await running.company(ann)


@pytest.mark.slow
@given(program=st.lists(steps, min_size=1, max_size=9))
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_program__gives_the_same_company_whenever_the_worker_runs(
    store: Store, make_client: MakeClient, program: list[Step]
) -> None:
    call = make_client(store, read=read)
    results = []
    for mode, during in (("off", False), ("existing", False), ("existing", True)):
        house = await House.of(call, f"c{next(_NUMBERS)}")
        results.append(await run(house, program, mode=mode, during=during))

    named, at_the_end, during_it = results
    assert during_it == at_the_end
    assert named is None or during_it == named
