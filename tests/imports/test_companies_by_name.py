"""Companies of which a file has the name and no domain, on both engines."""

from __future__ import annotations

from typing import Any

from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts, imported


async def companies(call: ApiClient, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await call.get(f"/public/v2/companies?structure=FLAT{query}")).json()["data"]
    return found


async def test_a_company_by_its_name__is_made_once_and_linked(call: ApiClient) -> None:
    file = b"email,Company\nann@x.co,Acme Inc\nbob@x.co,ACME  inc\ncy@x.co,Beta\ndee@x.co,\n"

    first, second = await imported(call, file), await imported(call, file)

    found = await companies(call)
    assert (first, second) == ({"created": 4}, {"unchanged": 4})
    assert [(each["domain"], each["name"]) for each in found] == [("", "Acme Inc"), ("", "Beta")]
    assert [each.get("company_id") for each in await contacts(call)] == [found[0]["id"], found[0]["id"], found[1]["id"], None]


async def test_a_company_by_its_name__gets_the_domain_that_comes_later(call: ApiClient) -> None:
    await imported(call, b"email,Company\nann@x.co,Acme\nbob@x.co,Beta\n")

    await imported(call, b"email,Company,Website\ncy@x.co,acme,acme.com\n")
    await imported(call, b"Name,Domain\nBETA,https://beta.io/about\n", path="companies/imports")

    found = await companies(call)
    assert [(each["domain"], each["name"].lower()) for each in found] == [("acme.com", "acme"), ("beta.io", "beta")]
    assert [each["company_id"] for each in await contacts(call)] == [found[0]["id"], found[1]["id"], found[0]["id"]]


async def test_a_name_alone__is_the_company_with_a_domain_that_has_it(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "acme.com", "name": "Acme"})

    await imported(call, b"email,Company,Website\nann@x.co,ACME,\nbob@x.co,Gamma,\ncy@x.co,Gamma,gamma.co\n")

    found = await companies(call)
    assert [(each["domain"], each["name"]) for each in found] == [("acme.com", "Acme"), ("gamma.co", "Gamma")]
    assert [each["company_id"] for each in await contacts(call)] == [found[0]["id"], found[1]["id"], found[1]["id"]]


async def test_a_company_by_its_name__is_joined_with_one_that_got_the_domain_elsewhere(call: ApiClient) -> None:
    await imported(call, b"email,Company\nann@x.co,Acme\nbob@x.co,Beta\n")
    acme = (await call.post("/public/v2/companies", {"domain": "acme.com", "name": "ACME"})).json()

    await imported(call, b"email,Company,Website\ncy@x.co,Acme,acme.com\n")

    found = await companies(call)
    assert [(each["domain"], each["name"]) for each in found] == [("", "Beta"), ("acme.com", "ACME")]
    assert [each["company_id"] for each in await contacts(call)] == [acme["id"], found[0]["id"], acme["id"]]


async def test_two_domains_of_one_name__stay_two_companies(call: ApiClient) -> None:
    await imported(call, b"email,Company,Website\nann@x.co,Acme,acme.com\nbob@x.co,Acme,acme.de\n")

    counts = await imported(call, b"email,Company\ncy@x.co,Acme\n")

    assert counts == {"created": 1}
    assert [each["domain"] for each in await companies(call)] == ["acme.com", "acme.de", ""]
    assert await imported(call, b"email,Company\ncy@x.co,Acme\n") == {"unchanged": 1}


async def test_rows_about_one_company__with_and_without_its_domain_are_one(call: ApiClient) -> None:
    counts = await imported(
        call, b"Name,Domain,City\nAcme,,Bath\nAcme,acme.com,York\nBeta,beta.io,\nBeta,,Rome\n", path="companies/imports"
    )

    found = await companies(call)
    assert counts == {"created": 2, "duplicate_in_file": 2}
    assert [(each["domain"], each["name"], each["company_custom_fields"]) for each in found] == [
        ("acme.com", "Acme", {"City": "Bath"}), ("beta.io", "Beta", {"City": "Rome"}),
    ]  # fmt: skip


async def test_a_company_without_a_domain__is_a_record_like_others(call: ApiClient) -> None:
    await imported(call, b"email,Company\nann@x.co,Acme\nbob@x.co,Beta\n")
    acme, beta = await companies(call)

    without = await companies(call, "&domain[is_set]=false")
    changed = await call.patch(f"/public/v2/companies/{acme['id']}", {"domain": "acme.com"})
    refused = await call.patch(f"/public/v2/companies/{beta['id']}", {"domain": ""})
    deleted = await call("DELETE", f"/public/v2/companies/{beta['id']}")
    restored = await call.post(f"/public/v2/companies/{beta['id']}/restore")
    merged = await call.post(f"/public/v2/companies/{acme['id']}/merge", {"with": [beta["id"]]})

    assert [each["id"] for each in without] == [acme["id"], beta["id"]]
    assert (changed.status, changed.json()["domain"], refused.status) == (200, "acme.com", 422)
    assert (deleted.status, restored.status, merged.status) == (200, 200, 200)
    assert [(each["domain"], each["name"]) for each in await companies(call)] == [("acme.com", "Acme")]
    assert {each["company_id"] for each in await contacts(call)} == {acme["id"]}
