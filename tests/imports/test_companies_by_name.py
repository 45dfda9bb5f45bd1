"""Companies of which a file has the name and no domain, on both engines."""

from __future__ import annotations

from typing import Any

from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts, imported


async def companies(call: ApiClient, query: str = "") -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = (await call.get(f"/public/v2/companies?structure=FLAT{query}")).json()["data"]
    return result


async def test_a_company_by_its_name__is_made_once_and_linked(call: ApiClient) -> None:
    file = b"email,Company\nann@x.co,Acme Inc\nbob@x.co,ACME  inc\ncy@x.co,Beta\ndee@x.co,\n"

    first, second = await imported(call, file), await imported(call, file)

    result = await companies(call)
    assert (first, second) == ({"created": 4}, {"unchanged": 4})
    assert [(company["domain"], company["name"]) for company in result] == [("", "Acme Inc"), ("", "Beta")]
    assert [contact.get("company_id") for contact in await contacts(call)] == [result[0]["id"], result[0]["id"], result[1]["id"], None]


async def test_a_company_by_its_name__gets_the_domain_that_comes_later(call: ApiClient) -> None:
    await imported(call, b"email,Company\nann@x.co,Acme\nbob@x.co,Beta\n")

    await imported(call, b"email,Company,Website\ncy@x.co,acme,acme.com\n")
    await imported(call, b"Name,Domain\nBETA,https://beta.io/about\n", path="companies/imports")

    result = await companies(call)
    assert [(company["domain"], company["name"].lower()) for company in result] == [("acme.com", "acme"), ("beta.io", "beta")]
    assert [contact["company_id"] for contact in await contacts(call)] == [result[0]["id"], result[1]["id"], result[0]["id"]]


async def test_a_name_alone__is_the_company_with_a_domain_that_has_it(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "acme.com", "name": "Acme"})

    await imported(call, b"email,Company,Website\nann@x.co,ACME,\nbob@x.co,Gamma,\ncy@x.co,Gamma,gamma.co\n")

    result = await companies(call)
    assert [(company["domain"], company["name"]) for company in result] == [("acme.com", "Acme"), ("gamma.co", "Gamma")]
    assert [contact["company_id"] for contact in await contacts(call)] == [result[0]["id"], result[1]["id"], result[1]["id"]]


async def test_a_company_by_its_name__is_joined_with_one_that_got_the_domain_elsewhere(call: ApiClient) -> None:
    await imported(call, b"email,Company\nann@x.co,Acme\nbob@x.co,Beta\n")
    acme = (await call.post("/public/v2/companies", {"domain": "acme.com", "name": "ACME"})).json()

    await imported(call, b"email,Company,Website\ncy@x.co,Acme,acme.com\n")

    result = await companies(call)
    assert [(company["domain"], company["name"]) for company in result] == [("", "Beta"), ("acme.com", "ACME")]
    assert [contact["company_id"] for contact in await contacts(call)] == [acme["id"], result[0]["id"], acme["id"]]


async def test_two_domains_of_one_name__stay_two_companies(call: ApiClient) -> None:
    await imported(call, b"email,Company,Website\nann@x.co,Acme,acme.com\nbob@x.co,Acme,acme.de\n")

    counts = await imported(call, b"email,Company\ncy@x.co,Acme\n")

    assert counts == {"created": 1}
    assert [company["domain"] for company in await companies(call)] == ["acme.com", "acme.de", ""]
    assert await imported(call, b"email,Company\ncy@x.co,Acme\n") == {"unchanged": 1}


async def test_rows_about_one_company__with_and_without_its_domain_are_one(call: ApiClient) -> None:
    counts = await imported(
        call, b"Name,Domain,City\nAcme,,Bath\nAcme,acme.com,York\nBeta,beta.io,\nBeta,,Rome\n", path="companies/imports"
    )

    result = await companies(call)
    assert counts == {"created": 2, "duplicate_in_file": 2}
    assert [(company["domain"], company["name"], company["company_custom_fields"]) for company in result] == [
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

    assert [item["id"] for item in without] == [acme["id"], beta["id"]]
    assert (changed.status, changed.json()["domain"], refused.status) == (200, "acme.com", 422)
    assert (deleted.status, restored.status, merged.status) == (200, 200, 200)
    assert [(company["domain"], company["name"]) for company in await companies(call)] == [("acme.com", "Acme")]
    assert {contact["company_id"] for contact in await contacts(call)} == {acme["id"]}
