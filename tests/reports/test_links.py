"""Links by which somebody reads the report of one client without signing in."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response
from tests.house import House, read
from tests.reports.test_campaigns import DAY, mail
from tests.reports.test_counted import reply, step

from touchbase.auth.authentication import ADMIN, READ, add_key
from touchbase.reports import campaigns as service
from touchbase.reports.sql.campaigns import report_messages
from touchbase.sql.store import Store


@pytest.fixture
async def call(store: Store, make_client: MakeClient) -> ApiClient:
    """Two clients with mails; every request needs a key."""
    open_call = make_client(store, read=read)
    acme, beta = await House.of(open_call, "acme"), await House.of(open_call, "beta")
    await acme.hook("camp", step("ann", -900, "1", campaign="<b>Autumn</b>"), step("bob", -800, "1"), step("ann", -600, "2"))
    await acme.hook("camp", reply("ann", -300, "interested"))
    await beta.hook("camp", *(mail(who, -500, "Secret offer") for who in ("cat", "dan", "eve")))
    call = make_client(store, read=read, auth="api-key")
    call.clock.now = open_call.clock.now
    return call


async def create(call: ApiClient, client: str = "acme", status: int = 201, **body: Any) -> Any:
    """Make a link as an administrator."""
    key = await add_key(call.parts.store, None, [ADMIN], "admin", call.clock())
    answer = await call.post(f"/admin/v1/clients/{client}/report-links", {"name": "Dana", **body}, authorization=f"Bearer {key}")
    assert answer.status == status, answer.body
    return answer.json()


async def open_page(call: ApiClient, url: str) -> Response:
    """Read the page as somebody without a key."""
    return await call.get(url[url.index("/report/") :])


def text_of(page: Response) -> str:
    return page.body.decode() if isinstance(page.body, bytes) else str(page.body)


async def test_page__has_the_numbers_of_its_client_and_no_people(call: ApiClient) -> None:
    page = await open_page(call, (await create(call, period=7, time_zone="Europe/Berlin"))["url"])

    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    text = text_of(page)
    for part in ("<dd>2</dd>", "<dd>50.0%</dd>", "Step 1", "Step 2", "Interested", "&lt;b&gt;Autumn&lt;/b&gt;", "Europe/Berlin"):
        assert part in text, part
    for part in ("ann", "bob", "@", "Secret offer", "acme", "beta", "<b>", "Dana"):
        assert part not in text.partition("</style>")[2], part
    assert "script-src" not in page.headers["content-security-policy"]
    assert (page.headers["cache-control"], page.headers["referrer-policy"]) == ("no-store", "no-referrer")


async def test_page__has_the_period_that_the_reader_chooses(call: ApiClient) -> None:
    url = (await create(call))["url"].partition("?")[0]

    for query, current in (("", "30 days"), ("?days=90", "90 days"), ("?days=x&zone=Mars", "30 days"), ("?days=365", "365 days")):
        page = await open_page(call, url + query)
        assert (page.status, f"aria-current=page>{current}</a>" in text_of(page)) == (200, True), query


async def test_page__leaves_out_what_has_too_many_events(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "report_messages", partial(report_messages, most=2))

    page = await open_page(call, (await create(call))["url"])

    assert (page.status, text_of(page).count("choose a shorter one")) == (200, 1)
    for part, is_there in (("<dd>2</dd>", True), ("Step 1", False), ("Interested", True)):
        assert (part in text_of(page)) is is_there, part


async def test_page__has_the_period_before_in_brackets_and_as_a_line(call: ApiClient) -> None:
    link = await create(call, period=7)
    call.clock.move(7 * DAY)

    text = text_of(await open_page(call, link["url"]))

    assert "<dd>0</dd><dd class=then>2 before</dd>" in text
    assert "<dd>-</dd><dd class=then>50.0% before</dd>" in text
    points = [part.partition('"')[0].split() for part in text.split('<polyline points="')[1:]]
    assert [sum(not point.endswith(",96.0") for point in line) for line in points] == [1, 1]
    assert "<td>0 <small>(2)</small></td>" in text
    first = text_of(await open_page(call, (await create(call, period=30))["url"]))
    assert "class=weekend" in first
    assert 'fill="url(#today-mailed)"' not in first, "nothing was sent today"


async def test_link__ends_by_time_and_by_revocation(call: ApiClient) -> None:
    short, long = await create(call, days=1), await create(call, days=365)
    key = await add_key(call.parts.store, None, [ADMIN], "admin", call.clock())
    assert (await open_page(call, short["url"])).status == 200

    revoked = await call("DELETE", f"/admin/v1/clients/acme/report-links/{long['id']}", authorization=f"Bearer {key}")
    assert revoked.status == 204
    page = await open_page(call, long["url"])
    assert (page.status, "This link has ended" in text_of(page)) == (410, True)
    call.clock.move(DAY + 1)
    assert (await open_page(call, short["url"])).status == 410

    listed = (await call.get("/admin/v1/clients/acme/report-links", authorization=f"Bearer {key}")).json()["data"]
    assert sorted(link["state"] for link in listed) == ["expired", "revoked"]
    assert not any("url" in link for link in listed)
    audit = (await call.get("/team/v1/audit-events", authorization=f"Bearer {key}")).json()["data"]
    actions = [entry["action"] for entry in audit]
    assert (actions.count("report_link.created"), actions.count("report_link.revoked")) == (2, 1)


@pytest.mark.parametrize("path", ["/report/x", "/report/tb_report_0123456789ab_" + "0" * 64 + "_00000000", "/report/%00", "/report/%F0%9F"])
async def test_page__of_another_text_is_a_plain_404(call: ApiClient, path: str) -> None:
    page = await call.get(path)

    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")


async def test_page__does_not_show_what_a_key_opens(call: ApiClient) -> None:
    key = await add_key(call.parts.store, 1, [READ], "reader", call.clock())

    assert (await call.get(f"/report/{key}")).status == 404


async def test_link__is_no_key(call: ApiClient) -> None:
    link = await create(call)
    token = link["url"].partition("/report/")[2].partition("?")[0]
    bearer = {"authorization": f"Bearer {token}"}

    for path in ("/public/v2/contacts", "/public/v2/reports/campaigns", "/admin/v1/clients", "/team/v1/attention"):
        assert (await call.get(path, **bearer)).status == 401, path
    assert (await call.post("/console/session", {"key": token}, x_touchbase_console="1", sec_fetch_site="same-origin")).status == 401
    assert (await call.get("/console/session", **bearer)).json()["signed_in"] is False
    admin = {"authorization": f"Bearer {await add_key(call.parts.store, None, [ADMIN], 'admin', call.clock())}"}
    assert link["id"] not in str((await call.get("/admin/v1/keys", **admin)).json())
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rotate")):
        assert (await call(method, f"/admin/v1/keys/{link['id']}{path}", {} if path else None, **admin)).status == 404


async def test_links__are_of_their_client_only(call: ApiClient) -> None:
    link = await create(call)
    other = {"authorization": f"Bearer {await add_key(call.parts.store, 2, [ADMIN], 'beta', call.clock())}"}
    reader = {"authorization": f"Bearer {await add_key(call.parts.store, 1, [READ], 'reader', call.clock())}"}

    assert (await call.get("/admin/v1/clients/beta/report-links", **other)).json() == {"data": []}
    for client in ("acme", "beta"):
        assert (await call("DELETE", f"/admin/v1/clients/{client}/report-links/{link['id']}", **other)).status == 404
    assert (await call.get("/admin/v1/clients/acme/report-links", **other)).status == 404
    assert (await call.get("/admin/v1/clients/acme/report-links", **reader)).status == 403
    assert (await open_page(call, link["url"])).status == 200


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"days": 366}, "/days"),
        ({"days": 0}, "/days"),
        ({"name": " "}, "/name"),
        ({"period": 8}, "/period"),
        ({"time_zone": "Mars"}, "/time_zone"),
    ],
)
async def test_new_link__refuses_what_it_cannot_be(call: ApiClient, body: dict[str, Any], pointer: str) -> None:
    refused = await create(call, status=422, **body)

    assert [fault["pointer"] for fault in refused["errors"]] == [pointer]


async def test_page__ends_with_its_client(call: ApiClient) -> None:
    url = (await create(call))["url"]
    admin = {"authorization": f"Bearer {await add_key(call.parts.store, None, [ADMIN], 'admin', call.clock())}"}
    assert (await open_page(call, url)).status == 200

    assert (await call("POST", "/admin/v1/clients/acme/suspend", **admin)).status == 200
    call.clock.move(2)
    suspended = await open_page(call, url)
    deleted = await call("DELETE", "/admin/v1/clients/acme?confirm=acme", **admin)
    assert deleted.status in (200, 202), deleted.body
    call.clock.move(2)

    assert (suspended.status, (await open_page(call, url)).status) == (403, 404)


async def test_idempotent_repeat__does_not_show_the_address_again(call: ApiClient) -> None:
    admin = {"authorization": f"Bearer {await add_key(call.parts.store, None, [ADMIN], 'admin', call.clock())}"}
    first, again = [
        await call.post("/admin/v1/clients/acme/report-links", {"name": "Dana"}, idempotency_key="one", **admin) for _ in range(2)
    ]

    assert ("url" in first.json(), "url" in again.json(), first.json()["id"]) == (True, False, again.json()["id"])
