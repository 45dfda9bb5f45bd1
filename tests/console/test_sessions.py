"""Signing in to the console: a session in place of the key, for the console's own page only."""

from __future__ import annotations

from gzip import compress
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response, scope_of

from touchbase.auth.auth_throttle import KeyThrottle
from touchbase.auth.authentication import ADMIN, READ, WRITE
from touchbase.auth.service import add_key
from touchbase.auth.sessions import IDLE, LONGEST
from touchbase.auth.sql import revoke_key
from touchbase.clients.sql.clients import find_client
from touchbase.common.timestamps import DAY, SECOND
from touchbase.http.session_cookie import MOST_BYTES
from touchbase.sql.store import Store

PAGE = {"x_touchbase_console": "1", "sec_fetch_site": "same-origin"}
"""The headers of a request of the console's page."""


class Browser:
    """A browser with the console: it stores the cookie, and sends it with every request."""

    def __init__(self, call: ApiClient) -> None:
        self.call = call
        self.cookie = ""

    async def __call__(self, method: str, target: str, body: object = None, **headers: str) -> Response:
        headers = {**PAGE, **headers} | ({"cookie": f"other=1; {self.cookie}"} if self.cookie else {})
        reply = await self.call(method, target, body, **{name: value for name, value in headers.items() if value})
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply

    async def sign_in(self, key: str) -> Any:
        reply = await self("POST", "/console/session", {"key": key})
        assert reply.status == 200, reply.body
        return reply.json()


@pytest.fixture
def guarded(store: Store, make_client: MakeClient) -> ApiClient:
    """The application that asks for API keys."""
    return make_client(store, auth="api-key")


@pytest.fixture
def browser(guarded: ApiClient) -> Browser:
    return Browser(guarded)


async def key(call: ApiClient, *scopes: str, of: str | None = None, expires_us: int | None = None) -> str:
    number = None
    if of is not None:
        await ApiClient(type(call.parts)(store=call.parts.store, clock=call.clock), call.clock).settings(of)
        client = await call.parts.store.read(find_client(of))
        assert client is not None
        number = client.number
    return await add_key(call.parts.store, number, scopes, "test", call.clock.now, expires_us=expires_us)


async def test_sign_in__gives_a_session_that_permits_what_the_key_permits(browser: Browser) -> None:
    signed_in = await browser.sign_in(await key(browser.call, READ, WRITE, of="ours"))

    created = await browser("POST", "/public/v2/contacts", {"email": "jane@example.com"})
    listed = await browser("GET", "/public/v2/contacts")
    admin = await browser("GET", "/admin/v1/clients")

    assert (signed_in["signed_in"], signed_in["client_id"], signed_in["scopes"]) == (True, "ours", [READ, WRITE])
    assert (created.status, len(listed.json()["data"]), admin.status) == (201, 1, 403)


async def test_sign_in__response_has_no_key_and_a_cookie_that_no_script_and_no_other_site_has(browser: Browser) -> None:
    made = await key(browser.call, READ, of="ours")

    reply = await browser("POST", "/console/session", {"key": f" {made}\n"})

    cookie = reply.headers["set-cookie"]
    assert "; HttpOnly; SameSite=Strict" in cookie
    assert "; Path=/; Max-Age=2592000" in cookie
    assert made.split("_")[3] not in f"{reply.headers}{reply.body!r}"
    assert reply.headers["cache-control"] == "no-store"


async def test_session_cookie__is_secure_where_the_public_url_is(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, auth="api-key", public_url="https://example.com/touchbase")

    reply = await Browser(call)("POST", "/console/session", {"key": await key(call, ADMIN)})

    assert reply.headers["set-cookie"].endswith("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure")
    assert reply.headers["set-cookie"].startswith("__Host-touchbase_session=")


async def test_session__of_a_plain_cookie_counts_over_http_only(store: Store, make_client: MakeClient) -> None:
    """Another host below the same domain can set the plain cookie, also for https."""
    call = make_client(store, auth="api-key", public_url="https://example.com")
    browser = Browser(call)
    await browser.sign_in(await key(call, ADMIN))
    own = browser.cookie

    browser.cookie = own.removeprefix("__Host-")
    planted = await browser("GET", "/admin/v1/clients")
    browser.cookie = f"{browser.cookie}; touchbase_session=x; {own}"

    assert (planted.status, (await browser("GET", "/admin/v1/clients")).status) == (401, 200)


async def test_sign_in__refuses_a_text_that_is_no_key(browser: Browser) -> None:
    good = await key(browser.call, ADMIN)

    for text in ("", "tb_live_x", good[:-1] + ("0" if good[-1] != "0" else "1")):
        reply = await browser("POST", "/console/session", {"key": text})
        assert (reply.status, reply.problem["code"]) == (401, "unauthorized")
    assert browser.cookie == ""


async def test_read_only_session__cannot_write(browser: Browser) -> None:
    signed_in = await browser.sign_in(await key(browser.call, READ, of="ours"))

    assert signed_in["scopes"] == [READ]
    assert (await browser("GET", "/public/v2/contacts")).status == 200
    assert (await browser("POST", "/public/v2/contacts", {"email": "jane@example.com"})).status == 403


async def test_administrator__chooses_a_client_by_the_header(browser: Browser) -> None:
    await key(browser.call, READ, of="ours")
    signed_in = await browser.sign_in(await key(browser.call, ADMIN))

    named = await browser("POST", "/public/v2/contacts", {"email": "jane@example.com"}, x_client_id="ours")
    unnamed = await browser("GET", "/public/v2/contacts")
    clients = await browser("GET", "/admin/v1/clients")

    assert (signed_in["client_id"], named.status, unnamed.status) == (None, 201, 422)
    assert [each["client_id"] for each in clients.json()["data"]] == ["ours"]


async def test_revoked_key__ends_its_sessions_at_once(browser: Browser) -> None:
    made = await key(browser.call, ADMIN)
    await browser.sign_in(made)
    assert (await browser("GET", "/admin/v1/clients")).status == 200

    assert (await browser("DELETE", f"/admin/v1/keys/{made.split('_')[2]}")).status == 204

    refused = await browser("GET", "/admin/v1/clients")
    assert (refused.status, refused.problem["detail"][:20]) == (401, "this key was revoked")
    assert (await browser("GET", "/console/session")).json()["signed_in"] is False


async def test_key_revoked_by_another_process__ends_its_sessions_within_a_second(browser: Browser) -> None:
    made = await key(browser.call, ADMIN)
    await browser.sign_in(made)
    await browser.call.parts.store.write(revoke_key(made.split("_")[2], browser.call.clock.now))

    browser.call.clock.move(1.001)

    assert (await browser("GET", "/admin/v1/clients")).status == 401


async def test_session__ends_after_seven_days_without_use(browser: Browser) -> None:
    signed_in = await browser.sign_in(await key(browser.call, ADMIN))

    browser.call.clock.move(IDLE / SECOND - 1)
    before = await browser("GET", "/admin/v1/clients")
    browser.call.clock.move(1)
    after = await browser("GET", "/admin/v1/clients")

    assert signed_in["ends_time"] == "2026-11-27T09:30:00Z"
    assert (before.status, after.status, after.problem["code"]) == (200, 401, "unauthorized")


async def test_session__that_is_used_ends_after_thirty_days(browser: Browser) -> None:
    await browser.sign_in(await key(browser.call, ADMIN))

    statuses = []
    for _ in range(LONGEST // (6 * DAY)):
        browser.call.clock.move(6 * DAY / SECOND - 1)
        statuses.append((await browser("GET", "/admin/v1/clients")).status)
        await browser.call.parts.key_uses.flush(browser.call.parts.store)
    browser.call.clock.move(5)

    assert statuses == [200] * 5
    assert (await browser("GET", "/admin/v1/clients")).status == 401


async def test_session__ends_with_its_key(browser: Browser) -> None:
    made = await key(browser.call, ADMIN, expires_us=browser.call.clock.now + 60 * SECOND)

    signed_in = await browser.sign_in(made)
    browser.call.clock.move(60)

    assert signed_in["ends_time"] == "2026-11-20T09:31:00Z"
    assert (await browser("GET", "/admin/v1/clients")).status == 401


async def test_sign_out__ends_the_session_and_removes_the_cookie(browser: Browser) -> None:
    await browser.sign_in(await key(browser.call, ADMIN))
    copied = browser.cookie

    reply = await browser("DELETE", "/console/session")

    assert (reply.status, browser.cookie, "; Max-Age=0;" in reply.headers["set-cookie"]) == (204, "touchbase_session=", True)
    browser.cookie = copied
    assert (await browser("GET", "/admin/v1/clients")).status == 401


async def test_session__lasts_in_other_processes_and_after_a_restart_until_it_is_signed_out(
    browser: Browser, store: Store, make_client: MakeClient
) -> None:
    first, other = (make_client(store, auth="api-key") for _ in range(2))
    browser = Browser(first)
    await browser.sign_in(await key(first, ADMIN))
    copied, restarted = Browser(other), Browser(make_client(store, auth="api-key"))
    copied.cookie = restarted.cookie = browser.cookie
    assert (await copied("GET", "/admin/v1/clients")).status == 200
    assert (await restarted("GET", "/admin/v1/clients")).status == 200

    await browser("DELETE", "/console/session")
    first.clock.move(1.001)

    assert [(await each("GET", "/admin/v1/clients")).status for each in (copied, restarted)] == [401, 401]
    assert (await restarted("GET", "/console/session")).json()["signed_in"] is False


async def test_session__names_a_client_by_handle_or_id_only_to_a_key_that_may_see_it(browser: Browser) -> None:
    own, administrator = await key(browser.call, READ, of="ours"), await key(browser.call, ADMIN)
    await key(browser.call, READ, of="theirs")
    await browser.sign_in(administrator)
    handles = {each["client_id"]: each["handle"] for each in (await browser("GET", "/admin/v1/clients")).json()["data"]}

    by_handle = (await browser("GET", f"/console/session?client={handles['theirs']}")).json()["client"]
    by_id = (await browser("GET", "/console/session?client=theirs")).json()["client"]
    unknown = [(await browser("GET", f"/console/session?client={name}")).json()["client"] for name in ("aaaaaaaa", "%00", "%ff")]
    await browser.sign_in(own)
    hidden = (await browser("GET", f"/console/session?client={handles['theirs']}")).json()["client"]
    shown = (await browser("GET", f"/console/session?client={handles['ours']}")).json()["client"]
    browser.cookie = ""
    signed_out = (await browser("GET", f"/console/session?client={handles['ours']}")).json()["client"]

    assert by_handle == by_id == {"client_id": "theirs", "handle": handles["theirs"], "name": ""}
    assert (unknown, hidden, signed_out) == ([None] * 3, None, None)
    assert shown["client_id"] == "ours"
    assert len(handles["ours"]) == 8


FOREIGN = [
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
    {"sec_fetch_site": "none"},
    {"sec_fetch_site": "", "origin": "https://evil.example", "host": "touchbase.example"},
    {"sec_fetch_site": "", "origin": "null", "host": "touchbase.example"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(
    ("method", "target"), [("GET", "/admin/v1/clients"), ("POST", "/public/v2/contacts"), ("DELETE", "/console/session")]
)
async def test_request_of_another_page__is_refused_although_it_has_the_cookie(
    browser: Browser, headers: dict[str, str], method: str, target: str
) -> None:
    await browser.sign_in(await key(browser.call, ADMIN))

    reply = await browser(method, target, **headers)

    assert (reply.status, reply.problem["code"]) == (403, "forbidden")
    assert (await browser("GET", "/console/session")).json()["signed_in"] is True


@pytest.mark.parametrize("headers", FOREIGN)
async def test_sign_in_by_another_page__is_refused(browser: Browser, headers: dict[str, str]) -> None:
    reply = await browser("POST", "/console/session", {"key": await key(browser.call, ADMIN)}, **headers)

    assert (reply.status, "set-cookie" in reply.headers) == (403, False)


async def test_request_without_the_consoles_header__has_no_session(browser: Browser) -> None:
    await browser.sign_in(await key(browser.call, ADMIN))

    form = await browser("POST", "/public/v2/contacts", {"email": "jane@example.com"}, x_touchbase_console="")

    assert (form.status, form.problem["detail"][:24]) == (401, "this request needs a key")


async def test_browser_without_fetch_metadata__is_known_by_the_origin_or_by_the_header_alone(browser: Browser) -> None:
    await browser.sign_in(await key(browser.call, ADMIN))

    written = await browser(
        "POST", "/admin/v1/clients", {"name": "x"}, sec_fetch_site="", origin="http://one.example:8000", host="One.example:8000"
    )
    read = await browser("GET", "/admin/v1/clients", sec_fetch_site="")

    assert (written.status, read.status) == (201, 200)


async def test_key_of_a_request__comes_before_its_session(browser: Browser) -> None:
    await browser.sign_in(await key(browser.call, ADMIN))

    assert (await browser("GET", "/admin/v1/clients", authorization="Bearer tb_wrong")).status == 401


async def test_session_as_a_key__is_refused(browser: Browser) -> None:
    await browser.sign_in(await key(browser.call, ADMIN))
    text = browser.cookie.partition("=")[2]

    for headers in ({"authorization": f"Bearer {text}"}, {"x_api_key": text}):
        assert (await browser.call.get("/admin/v1/clients", **headers)).status == 401


async def test_session__changed_in_any_place__is_refused(browser: Browser) -> None:
    made, other = await key(browser.call, ADMIN), await key(browser.call, READ, of="ours")
    await browser.sign_in(made)
    key_id, _, random = browser.cookie.partition("=")[2].partition(".")

    for text in (f"{other.split('_')[2]}.{random}", f"{key_id}.{'0' * 64}", key_id, f"{key_id}.", f"u{key_id[1:]}.{random}", random):
        browser.cookie = f"touchbase_session={text}"
        assert (await browser("GET", "/admin/v1/clients")).status == 401


async def test_open_mode__needs_no_session(call: ApiClient) -> None:
    browser = Browser(call)

    shown = (await browser("GET", "/console/session")).json()

    assert (shown["keys_needed"], shown["signed_in"], shown["scopes"]) == (False, True, [READ, WRITE, ADMIN])
    assert (await browser("GET", "/public/v2/contacts")).status == 200


async def test_author_of_a_change__is_the_key_of_the_session(browser: Browser) -> None:
    made = await key(browser.call, ADMIN, of="ours")
    await browser.sign_in(made)
    created = (await browser("POST", "/public/v2/contacts", {"email": "jane@example.com"})).json()

    timeline = (await browser("GET", f"/public/v2/contacts/{created['id']}/timeline")).json()["data"]

    assert [each["key_id"] for each in timeline] == [made.split("_")[2]]


async def test_sign_in__counts_refused_bodies_as_failed_keys_and_then_reads_none(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, auth="api-key", failed_keys=KeyThrottle(5))
    scope = scope_of("POST", "/console/session", PAGE | {"content-length": "20"})
    bodies = [b"{", b'{"key": [{"a": 0}]}', b'{"key": "' + b"x" * MOST_BYTES + b'"}']

    refused = [await call("POST", "/console/session", raw=raw, **PAGE) for raw in bodies]
    encoded = await call("POST", "/console/session", raw=compress(b'{"key": "tb_x"}'), content_encoding="gzip", **PAGE)
    failed = await call("POST", "/console/session", raw=b'{"key": "tb_x"}', **PAGE)

    assert [reply.status for reply in refused] == [400, 422, 413]
    assert (encoded.status, failed.status) == (415, 401)

    async def receive() -> None:
        raise AssertionError("the body is read")

    assert (await call.with_receive(scope, receive)).status == 429
    call.clock.move(61)
    assert (await call("POST", "/console/session", raw=b"{", **PAGE)).status == 400


async def test_sign_in__with_a_valid_key_counts_no_failure(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, auth="api-key", failed_keys=KeyThrottle(2))
    text = await key(call, READ)

    replies = [await call("POST", "/console/session", {"key": text}, **PAGE) for _ in range(6)]

    assert {reply.status for reply in replies} == {200}
