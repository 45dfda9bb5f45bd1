"""Finding records over HTTP: filters in the address and as a tree, sorting, full text, counts, on both engines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.asgi_client import ApiClient, Response

from touchbase.common.timestamps import DAY
from touchbase.history.events import Event, Translation
from touchbase.search import service
from touchbase.search.sql import candidates, plans

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"


async def create(call: ApiClient, name: str, **fields: Any) -> int:
    """Create a contact with this first name; return its id."""
    call.clock.move(1)
    reply = await call.post(CONTACTS, {"first_name": name, "email": f"{name.lower()}@example.com", **fields})
    assert reply.status == 201, reply
    return int(reply.json()["id"])


async def event(call: ApiClient, event: str, name: str, days_ago: float) -> None:
    """Receive a webhook of a campaign tool about a contact."""
    result = Event(event, call.clock() - int(days_ago * DAY), email=f"{name.lower()}@example.com")
    await call("POST", "/public/emailcampaign-webhook/default", raw=f"{event} {name} {days_ago}".encode())
    await call.parts.store.work(call.kept[-1], 10, lambda _: Translation("instantly", [result]), call.clock())


def names(reply: Response) -> list[str]:
    assert reply.status == 200, reply
    return [item["first_name"] for item in reply.json()["data"]]


def faults(reply: Response) -> dict[str, str]:
    assert reply.status == 422, reply
    return {error["pointer"]: error["detail"] for error in reply.problem["errors"]}


async def searched_names(call: ApiClient, query: str) -> list[str]:
    return names(await call.get(f"{CONTACTS}?{query}"))


async def searched(call: ApiClient, **body: Any) -> list[str]:
    return names(await call.post(f"{CONTACTS}/search", body))


@pytest.fixture
async def people(call: ApiClient) -> ApiClient:
    """Four contacts, two at a bank, with replies 2 and 9 days ago, and mails 40 and 3 days ago."""
    bank = (await call.post(COMPANIES, {
        "domain": "bank.example", "name": "First Bank", "company_status": "Active",
        "company_custom_fields": [{"field_name": "Industry", "field_value": "Investment Banking"}],
    })).json()["id"]  # fmt: skip
    await create(call, "Anna", last_name="Berg", contact_status="Interested", company_id=bank)
    await create(call, "Bert", last_name="Zorn", contact_status="Contacted", company_id=bank)
    await create(call, "Cleo", last_name="Adler", contact_status="Not Interested", contact_custom_fields_input=[
        {"field_name": "Seats", "field_value": "40"}, {"field_name": "Plan", "field_value": "Große Firma"},
    ])  # fmt: skip
    await create(call, "Dora", contact_status="contacted")
    for name, days_ago in (("Anna", 40), ("Bert", 40), ("Cleo", 45), ("Dora", 3)):
        await event(call, "email_sent", name, days_ago)
    for name, days_ago in (("Anna", 2), ("Bert", 9), ("Cleo", 1)):
        await event(call, "email_replied", name, days_ago)
    for number, status in ((1, "Interested"), (3, "Not Interested")):
        await call.patch(f"{CONTACTS}/{number}", {"contact_status": status})
    return call


async def test_replied_last_week_and_not_interested__is_one_request(people: ApiClient) -> None:
    assert await searched_names(people, "last_reply_received[gte]=7d&contact_status[ne]=interested") == ["Cleo"]
    assert await searched_names(people, "last_reply_received[gte]=7d&contact_status=NOT%20interested") == ["Cleo"]
    assert await searched(people, where={"last_reply_received[gte]": "1w", "not": {"contact_status": "Interested"}}) == ["Cleo"]
    assert await searched_names(people, "last_reply_received[gte]=7d") == ["Anna", "Cleo"], "in the order of replies, the latest last"


async def test_mailed_more_than_30_days_ago_and_not_suppressed__is_one_request(people: ApiClient) -> None:
    await people.post("/public/v2/suppressions", {"value": "bert@example.com"})

    for query in ("suppressed=false", "suppressed[ne]=true"):
        assert await searched_names(people, f"last_campaign_email_sent[lt]=30d&{query}") == ["Cleo", "Anna"]
    assert await searched_names(people, "last_campaign_email_sent[lt]=30d&suppressed=true") == ["Bert"]
    assert await searched(people, where={"any": [{"suppressed": True}, {"first_name": "dora"}]}) == ["Bert", "Dora"]
    assert "true or false" in faults(await people.get(f"{CONTACTS}?suppressed[gt]=1"))["?suppressed[gt]"]


@pytest.mark.parametrize(
    ("entry", "suppressed"),
    [
        ({"value": "example.com"}, "Anna Bert Cleo Dora Eve"),
        ({"value": "mail.example.com"}, "Eve"),
        ({"value": "bank.example"}, "Anna Bert"),
        ({"value": "linkedin.com/in/eve"}, "Eve"),
        ({"value": "eve@mail.example.com", "since": "2026-11-01T00:00:00Z", "until": "2026-11-20T09:00:00Z"}, ""),
        ({"value": "com.example"}, ""),
    ],
)
@pytest.mark.parametrize("path", ["/public/v2/suppressions", "/admin/v1/suppressions"])
async def test_suppressed__covers_what_the_lists_cover(people: ApiClient, entry: dict[str, str], suppressed: str, path: str) -> None:
    await people.post(CONTACTS, {"email": "eve@mail.example.com", "first_name": "Eve", "linkedin_url": "linkedin.com/in/eve"})
    assert (await people.post(path, entry)).status in (200, 201)
    checked = [{"email": f"{name.lower()}@example.com"} for name in ("Anna", "Bert", "Cleo", "Dora")] + [{"email": "eve@mail.example.com"}]

    assert await searched_names(people, "suppressed=true&sort=first_name") == suppressed.split()
    matched = (await people.post(f"{CONTACTS}/match", {"items": checked})).json()["data"]
    listed = [name for name, item in zip(("Anna", "Bert", "Cleo", "Dora", "Eve"), matched, strict=True) if item["suppressed"]]
    assert listed == suppressed.split()


async def test_all_at_companies_whose_industry_contains_bank__is_one_request(people: ApiClient) -> None:
    assert await searched_names(people, "company.cf.Industry[contains]=bank") == ["Anna", "Bert"]
    assert await searched(people, where={"company.cf.Industry[contains]": "BANK"}) == ["Anna", "Bert"]
    assert await searched_names(people, "company.domain=https://www.bank.example/&company.company_status=active") == ["Anna", "Bert"]
    reply = await people.get(f"{COMPANIES}?cf.Industry[contains]=bank&name[starts_with]=first")
    assert [company["domain"] for company in reply.json()["data"]] == ["bank.example"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("contact_status[in]=contacted,interested", "Anna Bert Dora"),
        ("contact_status[nin]=contacted,interested", "Cleo"),
        ("first_name=anna", "Anna"),
        ("first_name[contains]=E", "Bert Cleo"),
        ("last_name[is_set]=false", "Dora"),
        ("cf.Seats[gte]=9", "Cleo"),
        ("cf.Plan=GROSSE%20firma", ""),
        ("cf.Plan=GROßE%20firma", "Cleo"),
        ("email[starts_with]=DORA", "Dora"),
        ("id[gt]=2&id[lt]=4", "Cleo"),
        ("last_reply_received[lt]=7d", "Bert"),
        ("last_reply_received[is_set]=false", "Dora"),
        ("q=ber", "Anna Bert"),
        ("q=grosse+cl", "Cleo"),
        ("sort=last_name", "Cleo Anna Bert Dora"),
        ("sort=-last_name,email", "Bert Anna Cleo Dora"),
        ("sort=-last_reply_received&limit=2", "Cleo Anna"),
        ("updated_since=2020-01-01&first_name[contains]=e&sort=-id", "Cleo Bert"),
    ],
)  # fmt: skip
async def test_list__finds(people: ApiClient, query: str, expected: str) -> None:
    assert await searched_names(people, query) == expected.split()


async def test_pages__stay_stable_while_records_are_written(people: ApiClient) -> None:
    observed: list[str] = []
    cursor = ""
    for n in range(9):
        reply = await people.get(f"{CONTACTS}?sort=-last_name&limit=1{cursor}")
        observed += names(reply)
        if reply.json()["next_cursor"] is None:
            break
        cursor = f"&cursor={reply.json()['next_cursor']}"
        await create(people, f"X{n}", last_name="ZZZ")
    body: dict[str, Any] = {"sort": ["last_name", "-email"], "limit": 2, "fields": ["first_name"]}
    first = await people.post(f"{CONTACTS}/search", body)
    second = await people.post(f"{CONTACTS}/search", {**body, "cursor": first.json()["next_cursor"]})

    assert observed == ["Bert", "Anna", "Cleo", "Dora"]
    assert [*names(first), *names(second)] == ["Cleo", "Anna", "Bert", "X2"]


async def test_cursors__of_plain_lists_and_searches_are_the_same(people: ApiClient) -> None:
    plain = (await people.get(f"{CONTACTS}?limit=2")).json()["next_cursor"]
    search = (await people.get(f"{CONTACTS}?limit=2&id[gt]=0")).json()["next_cursor"]

    assert plain == search
    assert await searched_names(people, f"id[gt]=0&cursor={plain}") == await searched_names(people, f"cursor={search}") == ["Cleo", "Dora"]
    since = (await people.get(f"{CONTACTS}?limit=2&updated_since=2020-01-01")).json()["next_cursor"]
    assert await searched_names(people, f"updated_since=2020-01-01&id[gt]=0&cursor={since}") == await searched_names(
        people, f"updated_since=2020-01-01&cursor={since}"
    )
    assert "begin again" in faults(await people.get(f"{CONTACTS}?sort=email&cursor={plain}"))["?cursor"]


async def test_plain_list__is_no_search(people: ApiClient) -> None:
    assert (
        await searched_names(people, "contact_status=interested") == await searched_names(people, "contact_status=Interested") == ["Anna"]
    )
    reply = await people.get(f"{CONTACTS}?limit=1")
    assert reply.headers.keys() & {"total-count", "preference-applied", "search-index"} == set()


async def test_fields__are_those_that_were_asked_for(people: ApiClient) -> None:
    reply = await people.get(f"{CONTACTS}?fields=email,contact_custom_fields&structure=FLAT&first_name=Cleo")

    assert reply.json()["data"] == [{"id": 3, "contact_custom_fields": {"Seats": "40", "Plan": "Große Firma"}, "email": "cleo@example.com"}]


@pytest.mark.parametrize("prefer", ["count=exact", "count=estimated", 'respond-async, Count="exact";x=1'])
async def test_count__is_a_header_on_request(people: ApiClient, prefer: str) -> None:
    replies = [
        await people.get(f"{CONTACTS}?limit=1", prefer=prefer),
        await people.get(f"{CONTACTS}?limit=1&id[gt]=1", prefer=prefer),
        await people.post(f"{CONTACTS}/search", {"where": {"id[gt]": 2}, "limit": 1}, prefer=prefer),
        await people.get(COMPANIES, prefer=prefer),
    ]

    assert [reply.headers["total-count"] for reply in replies] == ["4", "3", "2", "1"]
    assert {reply.headers["preference-applied"] for reply in replies} == {"count=exact"}, "a small store is counted"


async def test_unknown_names__are_all_named_with_the_nearest(people: ApiClient) -> None:
    result = faults(
        await people.get(f"{CONTACTS}?Email=a&status=b&lmit=1&company.domian=c&email[like]=d&sort=emial&fields=nmae&q=.&limit=0")
    )

    assert result == {
        "?limit": "must be an integer from 1 to 200",
        "?Email": "there is no field 'Email'; did you mean 'email'?",
        "?status": "there is no field 'status'; did you mean 'contact_status'?",
        "?lmit": "there is no field 'lmit'; did you mean 'limit'?",
        "?company.domian": "there is no field 'company.domian'; did you mean 'company.domain'?",
        "?email[like]": result["?email[like]"],
        "?sort": "cannot sort by 'emial'; did you mean 'email'?",
        "?fields": result["?fields"],
        "?q": "must have a letter or digit; leave it out to get all records",
    }
    assert faults(await people.get(f"{COMPANIES}?contact_status=new"))["?contact_status"].endswith("did you mean 'company_status'?")


async def test_search__refuses_members_that_it_does_not_have(people: ApiClient) -> None:
    result = faults(await people.post(f"{CONTACTS}/search", {
        "all": [], "contact_status[in]": ["new"], "srot": "email", "limit": 500, "sort": "emial", "where": {"all": [{"Email": "x"}]},
    }))  # fmt: skip

    assert result.keys() == {"/all", "/contact_status[in]", "/srot", "/limit"}
    assert result["/contact_status[in]"].endswith('filters are members of `where`: {"where": {"contact_status[in]": ...}}')
    assert result["/srot"].endswith("did you mean 'sort'?")
    again = faults(await people.post(f"{CONTACTS}/search", {"srot": "email", "sort": "emial", "where": {"all": [{"Email": "x"}]}}))
    assert again.keys() == {"/srot", "/sort", "/where/all/0/Email"}


@pytest.mark.parametrize("body", [[], None, "x", {"where": []}, {"where": {"any": {"id": 1}}}, {"cursor": "x"}, {"fields": 5}, {"q": None}])
async def test_search__never_fails(people: ApiClient, body: object) -> None:
    reply = await people("POST", f"{CONTACTS}/search", raw=b"null" if body is None else json.dumps(body).encode())

    assert reply.status == (200 if body == {"q": None} else 422)


async def test_search__finds_records_of_its_client_only(people: ApiClient) -> None:
    response = await people.post(CONTACTS, {"first_name": "Anna", "email": "anna@example.com"}, x_client_id="other")

    for query in ("q=anna", "first_name=anna", "email[contains]=anna", "sort=email&limit=1", "id[gt]=0&limit=1"):
        ours = await people.get(f"{CONTACTS}?{query}")
        theirs = await people.get(f"{CONTACTS}?{query}", x_client_id="other")
        assert [contact["id"] for contact in ours.json()["data"]] == [1], query
        assert [contact["id"] for contact in theirs.json()["data"]] == [response.json()["id"]], query
    assert await searched_names(people, "company_id[in]=1") == ["Anna", "Bert"]
    reply = await people.post(f"{CONTACTS}/search", {"where": {"company_id": 1}}, x_client_id="other")
    assert reply.json() == {"data": [], "next_cursor": None}


async def test_list__begins_at_a_share_of_the_order_and_goes_both_ways(people: ApiClient) -> None:
    query = "sort=-first_name&limit=2&fields=first_name"
    middle = (await people.get(f"{CONTACTS}?{query}&at=0.5")).json()
    assert ([contact["first_name"] for contact in middle["data"]], middle["rank"], middle["total"]) == (["Bert", "Anna"], 2, 4)
    assert middle["next_cursor"] is None

    top = (await people.get(f"{CONTACTS}?{query}&cursor={middle['previous_cursor']}")).json()
    assert ([contact["first_name"] for contact in top["data"]], top["rank"], top["previous_cursor"]) == (["Dora", "Cleo"], 0, None)
    again = (await people.get(f"{CONTACTS}?{query}&cursor={top['next_cursor']}")).json()
    assert {**again, "total": 4} == middle, "the way back leads to the same page"

    last = (await people.get(f"{CONTACTS}?{query}&at=1&contact_status=nothing")).json()
    assert (last["data"], last["rank"], last["total"], last["previous_cursor"], last["next_cursor"]) == ([], 0, 0, None, None)


@pytest.mark.parametrize("few", [candidates.FEW, 1])
async def test_pages_backward__are_the_pages_forward_reversed(people: ApiClient, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(candidates, "FEW", few)
    for sort in ("company_id,last_reply_received", "-last_campaign_email_sent", "last_name,-email", "-company_id,-last_name", "id"):
        for filters in ("", "&id[gte]=1&email[ne]=x@example.com", "&q=example"):
            query = f"sort={sort}&limit=1&fields=first_name{filters}"
            forward = await searched_names(people, f"sort={sort}{filters}")
            page = (await people.get(f"{CONTACTS}?{query}&at=1")).json()
            backward = [page["data"][0]["first_name"]]
            while page["previous_cursor"] is not None:
                page = (await people.get(f"{CONTACTS}?{query}&cursor={page['previous_cursor']}")).json()
                backward.append(page["data"][0]["first_name"])
                assert page["rank"] == 4 - len(backward), (sort, filters)
            assert backward == forward[::-1], (sort, filters)


async def test_place_of_a_page__is_refused_with_what_to_send(people: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("1.5", "-0.1", "nan", "inf", "half", "½"):
        assert "from 0" in faults(await people.get(f"{CONTACTS}?at={wrong}"))["?at"]
    cursor = (await people.get(f"{CONTACTS}?at=0&limit=1")).json()["next_cursor"]
    assert "send one of them" in faults(await people.get(f"{CONTACTS}?at=0&cursor={cursor}"))["?at"]
    assert "begin again" in faults(await people.get(f"{CONTACTS}?sort=email&cursor={cursor}"))["?cursor"]

    monkeypatch.setattr(plans, "MOST_UNINDEXED", 2)
    for query in ("sort=first_name", "sort=email", "contact_status[ne]=won", "sort=last_reply_received,email"):
        assert "next_cursor" in faults(await people.get(f"{CONTACTS}?at=0.5&{query}"))["?at"]
    few = ("q=example", "sort=-last_reply_received")
    for query in (*few, "sort=-updated_time", "sort=id", "updated_time[gte]=30d", "contact_status=interested"):
        assert (await people.get(f"{CONTACTS}?at=0.5&{query}")).status == 200, query


async def test_place_of_a_page__counts_many_once_in_half_a_minute(people: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def total(query: str) -> int:
        return int((await people.get(f"{CONTACTS}?at=0.5&{query}")).json()["total"])

    monkeypatch.setattr(service, "MOST_UNINDEXED", 3)
    queries = ("sort=id", "sort=id&first_name[ne]=Anna")
    assert [await total(query) for query in queries] == [4, 3]
    await create(people, "Emil")
    assert [await total(query) for query in queries] == [4, 4], "few are counted each time"
    people.clock.move(30)
    assert await total("sort=id") == 5


@pytest.mark.parametrize("structure", ["FLAT", "NESTED"])
async def test_fields_and_cut__limit_what_a_page_has(people: ApiClient, structure: str) -> None:
    long = {"field_name": "Notes", "field_value": "é" * 60}
    await people.patch(f"{CONTACTS}/3", {"first_name": "C" * 50, "last_name": "D" * 51, "contact_custom_fields": [long]})

    query = f"id=3&structure={structure}&cut=50&fields=first_name,last_name,cf.Notes,cf.Seats,cf.Nothing"
    page = (await people.get(f"{CONTACTS}?{query}")).json()

    contact = page["data"][0]
    assert page["cut"] == {"3": ["last_name", "cf.Notes"]}
    assert (contact["first_name"], contact["last_name"]) == ("C" * 50, f"{'D' * 50}…")
    assert contact.keys() == {"id", "first_name", "last_name", "contact_custom_fields"}
    custom = contact["contact_custom_fields"]
    values = custom if structure == "FLAT" else {field["field_name"]: field["field_value"] for field in custom}
    assert values == {"Seats": "40", "Notes": f"{'é' * 50}…"}
    assert "cut" not in (await people.get(f"{CONTACTS}?id=3&fields=last_name")).json()
    assert "50" in faults(await people.get(f"{CONTACTS}?cut=49"))["?cut"]
