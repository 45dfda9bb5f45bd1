"""Lists: newest last, in pages, filtered; what is wrong with a parameter is named."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from tests.asgi_client import ApiClient


async def ids(call: ApiClient, target: str, **headers: str) -> list[int]:
    reply = await call.get(target, **headers)
    assert reply.status == 200, reply
    return [record["id"] for record in reply.json()["data"]]


async def walked(call: ApiClient, target: str) -> list[list[int]]:
    pages, cursor = [], ""
    while True:
        reply = await call.get(f"{target}{cursor}")
        assert reply.status == 200, reply
        pages.append([record["id"] for record in reply.json()["data"]])
        if reply.json()["next_cursor"] is None:
            return pages
        cursor = f"&cursor={reply.json()['next_cursor']}"


async def test_list_companies__returns_whole_records_newest_last(call: ApiClient) -> None:
    bodies = [(await call.post("/public/v2/companies", {"domain": f"{name}.example"})).json() for name in "abc"]

    reply = await call.get("/public/v2/companies")

    assert reply.json() == {"data": bodies, "next_cursor": None}


async def test_list_contacts__returns_an_empty_page_without_records(call: ApiClient) -> None:
    assert (await call.get("/public/v2/contacts")).json() == {"data": [], "next_cursor": None}


async def test_list_contacts__pages_have_every_record_once(call: ApiClient) -> None:
    for _ in range(5):
        await call.post("/public/v2/contacts", {"first_name": "Jane"})

    assert await walked(call, "/public/v2/contacts?limit=2") == [[1, 2], [3, 4], [5]]
    assert await walked(call, "/public/v2/contacts?limit=5") == [[1, 2, 3, 4, 5]]


@pytest.mark.parametrize(
    "path", ["/public/v2/contacts", "/public/v2/companies", "/admin/v1/deliveries", "/admin/v1/clients", "/admin/v1/keys"]
)
@pytest.mark.parametrize("blank", ["", "%20", "+"])
async def test_lists__treat_a_blank_cursor_as_the_first_page(sqlite_call: ApiClient, path: str, blank: str) -> None:
    for name in "abc":
        await sqlite_call.post("/public/v2/contacts", {"first_name": "Jane"})
        await sqlite_call.post("/public/v2/companies", {"domain": f"{name}.example"})
        await sqlite_call.post("/public/crm-webhook/default", {"a": name})
        await sqlite_call.post("/admin/v1/clients", {"client_id": name})
        await sqlite_call.post("/admin/v1/keys", {"name": name})

    reply = await sqlite_call.get(f"{path}?limit=2&cursor={blank}")

    assert len(reply.json()["data"]) == 2
    assert reply.json() == (await sqlite_call.get(f"{path}?limit=2")).json()


async def test_list_contacts__puts_a_record_created_between_two_pages_on_the_last(call: ApiClient) -> None:
    for _ in range(3):
        await call.post("/public/v2/contacts", {"first_name": "Jane"})
    first = await call.get("/public/v2/contacts?limit=2")
    await call.post("/public/v2/contacts", {"first_name": "Jane"})

    assert await ids(call, f"/public/v2/contacts?limit=2&cursor={first.json()['next_cursor']}") == [3, 4]


async def test_list_contacts__with_updated_since_puts_the_last_change_last(call: ApiClient) -> None:
    since = call.clock.move(0)
    for _ in range(4):
        await call.post("/public/v2/contacts", {"first_name": "Jane"})
        call.clock.move(1)
    later = call.clock.move(1)
    await call.patch("/public/v2/contacts/2", {"origin": "x"})

    assert await walked(call, f"/public/v2/contacts?limit=2&updated_since={since}") == [[1, 3], [4, 2]]
    assert await ids(call, f"/public/v2/contacts?updated_since={later}") == [2]


async def test_list_contacts__filters_by_each_parameter_in_normal_form(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com"})
    await call.post("/public/v2/contacts", {"email": "Jane@example.com", "contact_status": "new", "company_id": 1})
    await call.post("/public/v2/contacts", {"linkedin_url": "https://www.linkedin.com/in/Joe/", "contact_status": "new"})
    await call.post("/public/v2/contacts", {"linkedin_url": "n/a"})

    assert await ids(call, "/public/v2/contacts?email=JANE@EXAMPLE.com") == [1]
    assert await ids(call, "/public/v2/contacts?linkedin_url=linkedin.com%2Fin%2Fjoe") == [2]
    assert await ids(call, "/public/v2/contacts?contact_status=new") == [1, 2]
    assert await ids(call, "/public/v2/contacts?contact_status=new&company_id=1") == [1]
    assert await ids(call, "/public/v2/contacts?contact_status=other") == []
    assert await ids(call, "/public/v2/contacts?linkedin_url=n/a") == []


async def test_list_companies__filters_by_each_parameter_in_normal_form(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com", "company_status": "won"})
    await call.post("/public/v2/companies", {"domain": "example.org"})

    assert await ids(call, "/public/v2/companies?domain=https%3A%2F%2Fwww.example.COM%2Fx") == [1]
    assert await ids(call, "/public/v2/companies?company_status=won") == [1]
    assert await ids(call, "/public/v2/companies?domain=example.net") == []


async def test_list_contacts__omits_records_of_another_client(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"contact_status": "new"}, x_client_id="theirs")

    assert await ids(call, "/public/v2/contacts", x_client_id="ours") == []
    assert await ids(call, "/public/v2/contacts?contact_status=new", x_client_id="ours") == []


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "?limit"),
        ("limit=201", "?limit"),
        ("limit=-1", "?limit"),
        ("limit=1e2", "?limit"),
        ("limit=٣", "?limit"),
        ("limit=" + "9" * 5000, "?limit"),
        ("limit=", "?limit"),
        ("limit=1&limit=2", "?limit"),
        ("emial=jane@example.com", "?emial"),
        ("domain=example.com", "?domain"),
        ("email=nonsense", "?email"),
        ("email=%00", "?email"),
        ("contact_status=a%00b", "?contact_status"),
        ("company_id=0", "?company_id"),
        ("company_id=9007199254740992", "?company_id"),
        ("company_id=x", "?company_id"),
        ("updated_since=yesterday", "?updated_since"),
        ("updated_since=99999-01-01T00:00:00Z", "?updated_since"),
        ("contact_status=%ff", "?"),
        ("&".join(f"p{n}=1" for n in range(60)), "?"),
        ("cursor=&cursor=", "?cursor"),
        ("cursor=nonsense", "?cursor"),
        ("cursor=é", "?cursor"),
        ("cursor=" + urlsafe_b64encode(b'["contacts",[0,1]] ').decode().rstrip("="), "?cursor"),
        ("cursor=" + urlsafe_b64encode(b'["companies",[0,1]]').decode().rstrip("="), "?cursor"),
        ("cursor=" + urlsafe_b64encode(b'["contacts",[0,"1"]]').decode().rstrip("="), "?cursor"),
        ("cursor=" + urlsafe_b64encode(b"[" * 5000).decode().rstrip("="), "?cursor"),
        ("updated_since=2026-01-01&cursor=" + urlsafe_b64encode(b'["contacts",[0,1]]').decode().rstrip("="), "?cursor"),
    ],
)
async def test_list_contacts__refuses_an_invalid_parameter_and_names_it(sqlite_call: ApiClient, query: str, pointer: str) -> None:
    reply = await sqlite_call.get(f"/public/v2/contacts?{query}")

    assert reply.status == 422
    assert [fault["pointer"] for fault in reply.problem["errors"]] == [pointer]


@pytest.mark.parametrize(
    "written",
    [
        "jane%2Btest@example.com",
        "jane+test@example.com",
        "jane%20test@example.com",
        "%20jane%2Btest@example.com%20",
        "jane%2Btest@example.com+",
    ],
)
async def test_list_contacts__accepts_an_unescaped_plus_sign_in_an_address(call: ApiClient, written: str) -> None:
    await call.post("/public/v2/contacts", {"email": "jane+test@example.com"})

    assert await ids(call, f"/public/v2/contacts?email={written}") == [1]


async def test_list_contacts__reports_an_invalid_query_as_a_whole(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.get("/public/v2/contacts?contact_status=%ff")

    assert reply.problem["detail"] == "the query must be UTF-8"


async def test_list_companies__names_every_invalid_parameter(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.get("/public/v2/companies?limit=x&structure=x&cursor=x&more=x&updated_since=x")

    assert [fault["pointer"] for fault in reply.problem["errors"]] == ["?structure", "?limit", "?updated_since", "?more", "?cursor"]


@pytest.mark.parametrize(
    "time", ["2026-11-20T09:30:00Z", "2026-11-20T10:30:00+01:00", "2026-11-20T10:30:00%2B01:00", "2026-11-20", "2026-11-20t09:30:00z"]
)
async def test_updated_since__accepts_iso_8601_forms(sqlite_call: ApiClient, time: str) -> None:
    await sqlite_call.post("/public/v2/contacts", {"first_name": "Jane"})

    assert await ids(sqlite_call, f"/public/v2/contacts?updated_since={time}") == [1]


async def test_a_filter_by_status__ignores_case_with_and_without_other_parameters(call: ApiClient) -> None:
    for number, status in enumerate(("Replied", "replied", "new", "REPLIED")):
        await call.post("/public/v2/contacts", {"email": f"p{number}@example.com", "first_name": "Jane", "contact_status": status})
    await call.post("/public/v2/companies", {"domain": "example.com", "company_status": "Target"})

    for more in ("", "&sort=email", "&fields=id", "&q=jane", "&limit=200"):
        for status in ("Replied", "replied", "rePLIED"):
            assert await ids(call, f"/public/v2/contacts?contact_status={status}{more}") == [1, 2, 4], (status, more)
        assert await ids(call, f"/public/v2/contacts?contact_status=NEW{more}") == [3]
        assert await ids(call, f"/public/v2/contacts?contact_status=none{more}") == []
    exported = (await call.get("/public/v2/contacts/export?contact_status=REPLIED")).body.decode().splitlines()
    assert len(exported) == 3
    assert len((await call.get("/public/v2/companies?company_status=target")).json()["data"]) == 1
