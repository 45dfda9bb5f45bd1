"""Signing in by an OpenID provider: who is let in as whom, and attacks on the way."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from joserfc.jwk import OctKey, RSAKey
from tests.asgi_client import ApiClient, MakeClient
from tests.auth.oidc_server import CLIENT_ID, CLIENT_SECRET, OidcServer
from tests.auth.test_people import INVITATIONS, PAGE, SECRET, USERS, Browser, Office, quick_passwords  # noqa: F401

from touchbase.auth.auth_throttle import KeyThrottle
from touchbase.auth.authentication import ADMIN
from touchbase.auth.service import add_key
from touchbase.common.timestamps import DAY, SECOND
from touchbase.config import OidcSettings
from touchbase.console.oidc import KEYS_AGAIN, Provider, SignInFlow, SignInRefused
from touchbase.sql.store import Store

ISSUER = "https://login.example.com"
PUBLIC = "https://touchbase.example.com"
OIDC = "/console/oidc"


class Company(Office):
    """An office whose people sign in by a provider."""

    def __init__(self, call: ApiClient, key: str, server: OidcServer) -> None:
        super().__init__(call, key)
        self.server = server

    async def way_back(self, browser: Browser, link: str = "", path: str = "", **changes: str) -> str:
        """Begin to sign in, and sign in at the provider; return the address to which it sends the person back."""
        reply = await browser("POST", OIDC, {"link": link, "path": path})
        assert reply.status == 200, reply.body
        return self.server.visit(reply.json()["address"], **changes)

    async def sign_in(self, browser: Browser, link: str = "", path: str = "") -> str:
        """Sign in by the provider; return where the browser is led."""
        return await self.back(browser, await self.way_back(browser, link, path))

    async def back(self, browser: Browser, target: str) -> str:
        """Follow the way back, as a browser does: without the console's header, with its cookie."""
        reply = await browser.call("GET", target, cookie=browser.cookie)
        assert (reply.status, reply.headers["location"][: len(PUBLIC)]) == (303, PUBLIC)
        cookies = [cookie for cookie in reply.set_cookies if "Max-Age=0" not in cookie]
        browser.cookie = cookies[0].partition(";")[0] if cookies else ""
        return reply.headers["location"].removeprefix(PUBLIC)


def provider_of(server: OidcServer, **settings: Any) -> Provider:
    values = {"issuer": ISSUER, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "name": "Example", **settings}
    return Provider(OidcSettings(**values), server.send, server.clock, PUBLIC)


@pytest.fixture
async def make_company(store: Store, make_client: MakeClient) -> Any:
    async def make(**settings: Any) -> Company:
        server = OidcServer(ISSUER, lambda: call.clock.now)
        call = make_client(store, auth="api-key", public_url=PUBLIC, oidc=provider_of(server, **settings))
        return Company(call, await add_key(store, None, [ADMIN], "first", call.clock.now), server)

    return make


@pytest.fixture
async def company(make_company: Any) -> Company:
    new_company: Company = await make_company()
    await new_company.client("ours")
    return new_company


async def who(browser: Browser) -> Any:
    reply = await browser("GET", "/team/v1/me")
    return reply.json()["user"] if reply.status == 200 else reply.status


async def test_invited_person__joins_by_a_verified_address_and_comes_back_to_the_page(company: Company) -> None:
    user, _ = await company.invite("Mira@example.com", grants=[{"client_id": "ours", "role": "operator"}])
    browser = Browser(company.call)

    led_to = await company.sign_in(browser, path="/console/all/replies?tab=mine")

    assert led_to == "/console/all/replies?tab=mine"
    assert browser.cookie.startswith(f"__Host-touchbase_session={user['id']}.")
    shown = await who(browser)
    assert (shown["id"], shown["state"], shown["name"], shown["has_password"]) == (user["id"], "active", "Mira Sandoval", False)
    assert (await company("GET", INVITATIONS)).json()["data"] == []


async def test_expired_invitation__joins_nobody_by_the_address_until_there_is_another_one(company: Company) -> None:
    user, link = await company.invite("mira@example.com", role="viewer")
    company.call.clock.now += 7 * DAY
    browser = Browser(company.call)

    refused = [await company.sign_in(browser, of) for of in ("", link)]
    await company("POST", f"{USERS}/{user['id']}/reset")

    assert refused == ["/console/sign-in?problem=invitation", "/console/sign-in?problem=link"]
    assert await company.sign_in(browser) == "/console/"
    assert (await who(browser))["id"] == user["id"]


async def test_expired_invitation__does_not_matter_where_the_setting_lets_everybody_of_the_domain_in(make_company: Any) -> None:
    company = await make_company(sign_up="viewer", domains=("example.com",))
    user, _ = await company.invite("mira@example.com", role="operator")
    company.call.clock.now += 7 * DAY
    browser = Browser(company.call)

    assert await company.sign_in(browser) == "/console/"
    assert ((await who(browser))["id"], (await who(browser))["role"]) == (user["id"], "operator")


async def test_unverified_address__joins_by_the_link_only(company: Company) -> None:
    user, link = await company.invite("mira@example.com", role="viewer")
    company.server.claims |= {"email": "mira@example.com", "email_verified": False}
    browser = Browser(company.call)

    refused = await company.sign_in(browser)
    by_link = await company.sign_in(browser, link)

    assert (refused, by_link) == ("/console/sign-in?problem=unverified", "/console/")
    assert (await who(browser))["id"] == user["id"]


async def test_changed_address__is_the_same_person_by_the_subject(company: Company) -> None:
    user, _ = await company.invite("mira@example.com", role="viewer")
    await company.invite("other@example.com", role="admin")
    await company.sign_in(Browser(company.call))
    company.server.claims |= {"email": "other@example.com"}

    browser = Browser(company.call)
    await company.sign_in(browser)

    assert (await who(browser))["id"] == user["id"]


async def test_address_given_to_somebody_else__is_not_the_person_until_a_link_says_so(company: Company) -> None:
    user, _ = await company.invite("mira@example.com", role="viewer")
    first = Browser(company.call)
    await company.sign_in(first)
    company.server.claims |= {"sub": "2"}
    browser = Browser(company.call)

    refused = await company.sign_in(browser)
    link = (await company("POST", f"{USERS}/{user['id']}/reset")).json()["link"].partition("#")[2]
    by_link = await company.sign_in(browser, link)

    assert (refused, by_link) == ("/console/sign-in?problem=taken", "/console/")
    assert ((await who(browser))["id"], await who(first)) == (user["id"], 401)
    company.server.claims |= {"sub": "1"}
    assert await company.sign_in(Browser(company.call)) == "/console/sign-in?problem=taken"


async def test_person_with_a_password__may_sign_in_by_the_provider_too(company: Company) -> None:
    mira = await company.join("mira@example.com", role="viewer")
    browser = Browser(company.call)

    await company.sign_in(browser)

    assert (await who(browser))["id"] == mira.user["id"]
    assert (await browser("POST", "/console/session", {"email": "mira@example.com", "password": SECRET})).status == 200


async def test_link_of_somebody_else__signs_nobody_in(company: Company) -> None:
    await company.invite("mira@example.com", role="viewer")
    _, link = await company.invite("ben@example.com", role="admin")
    await company.sign_in(Browser(company.call))

    browser = Browser(company.call)

    assert await company.sign_in(browser, link) == "/console/sign-in?problem=bound"
    assert await who(browser) == 401
    company.server.claims |= {"sub": "3"}
    assert await company.sign_in(browser, link) == "/console/"
    assert (await who(browser))["email"] == "ben@example.com"
    company.server.claims |= {"sub": "4"}
    assert await company.sign_in(Browser(company.call), link) == "/console/sign-in?problem=link"


async def test_stranger__is_refused_without_a_setting(company: Company) -> None:
    browser = Browser(company.call)

    assert await company.sign_in(browser) == "/console/sign-in?problem=not_invited"
    assert await who(browser) == 401


async def test_stranger__joins_by_the_setting_with_an_address_of_a_domain(make_company: Any) -> None:
    company = await make_company(sign_up="viewer", domains=("example.com",))
    browser = Browser(company.call)

    assert await company.sign_in(browser) == "/console/"

    assert ((await who(browser))["role"], (await who(browser))["email"]) == ("viewer", "mira@example.com")
    company.server.claims |= {"sub": "2", "email": "eve@evil.example"}
    assert await company.sign_in(Browser(company.call)) == "/console/sign-in?problem=domain"
    company.server.claims |= {"sub": "3", "email": "max@example.com", "email_verified": False}
    assert await company.sign_in(Browser(company.call)) == "/console/sign-in?problem=unverified"


async def test_groups__give_the_role_at_every_sign_in_but_leave_the_last_administrator(make_company: Any) -> None:
    roles = {"RevOps": "admin", "Sales": "operator"}
    company = await make_company(sign_up="groups", domains=("*",), role_claim="groups", roles=roles)
    browser = Browser(company.call)
    observed = []

    async def role_after_signing_in() -> str | None:
        await company.sign_in(browser)
        user = (await browser("GET", "/console/session")).json()["user"]
        return "refused" if user is None else user["role"]

    for groups in ([], ["Sales", "RevOps", 7], "Sales", None):
        company.server.claims["groups"] = groups
        observed.append(await role_after_signing_in())
    await company.join("ben@example.com", role="admin")
    for groups in (["Sales"], ["Others"]):
        company.server.claims["groups"] = groups
        observed.append(await role_after_signing_in())

    assert observed == ["refused", "admin", "admin", "admin", "operator", None]


async def test_suspended_person__is_refused_and_told(company: Company) -> None:
    user, _ = await company.invite("mira@example.com", role="viewer")
    await company.sign_in(Browser(company.call))
    await company("PATCH", f"{USERS}/{user['id']}", {"state": "suspended"})

    assert await company.sign_in(Browser(company.call)) == "/console/sign-in?problem=suspended"


WRONG: dict[str, dict[str, Any]] = {
    "wrong nonce": {"nonce": "x" * 43}, "no nonce": {"nonce": None}, "foreign issuer": {"iss": "https://evil.example"},
    "foreign audience": {"aud": "another"}, "no audience": {"aud": None}, "expired": {"exp": 1_700_000_000},
    "no expiry": {"exp": None}, "from the future": {"iat": 4_000_000_000}, "not yet": {"nbf": 4_000_000_000},
    "no subject": {"sub": None}, "bad subject": {"sub": "a\0b"}, "number": {"sub": 7}, "long subject": {"sub": "a" * 256},
    "two audiences, no party": {"aud": [CLIENT_ID, "another"]}, "another party": {"azp": "another"},
}  # fmt: skip


async def test_wrong_token__signs_nobody_in(company: Company) -> None:
    await company.invite("mira@example.com", role="admin")
    browser, server = Browser(company.call), company.server

    for name, changes in WRONG.items():
        server.changes = changes
        assert (await company.sign_in(browser), await who(browser)) == ("/console/sign-in?problem=provider", 401), name
        company.call.clock.move(60)

    server.changes = {"aud": [CLIENT_ID, "another"], "azp": CLIENT_ID}
    assert await company.sign_in(browser) == "/console/"


@pytest.mark.parametrize("critical", ["5", "[{}]"])
async def test_odd_header_of_a_token__signs_nobody_in(company: Company, critical: str) -> None:
    header = urlsafe_b64encode(b'{"alg":"RS256","kid":"a","crit":%b}' % critical.encode()).rstrip(b"=")
    company.server.bodies["/token"] = b'{"id_token":"%b.e30.AAAA"}' % header

    assert await company.sign_in(Browser(company.call)) == "/console/sign-in?problem=provider"


async def test_very_many_keys__are_refused_before_they_are_imported(company: Company, caplog: pytest.LogCaptureFixture) -> None:
    company.server.bodies["/keys"] = b'{"keys":[%b{}]}' % (b'{"kty":"oct","k":"AAAA"},' * 30_000)

    assert await company.sign_in(Browser(company.call)) == "/console/sign-in?problem=provider"
    assert "more than 200 keys" in caplog.text


async def test_forged_signature__signs_nobody_in(company: Company) -> None:
    await company.invite("mira@example.com", role="admin")
    browser, server = Browser(company.call), company.server
    public = server.key.as_pem(private=False)
    forged: list[Any] = [
        ("none", server.key),
        ("HS256", OctKey.import_key(CLIENT_SECRET)),
        ("HS256", public),
        ("RS256", RSAKey.generate_key(2048, {"kid": "a"})),
        ("RS256", RSAKey.generate_key(2048, {"kid": "unknown"})),
    ]

    for server.algorithm, server.signing in forged:
        assert await company.sign_in(browser) == "/console/sign-in?problem=provider", server.algorithm
    assert await who(browser) == 401


async def test_way_back__belongs_to_one_browser_and_works_once(company: Company) -> None:
    await company.invite("mira@example.com", role="admin")
    browser, other_browser = Browser(company.call), Browser(company.call)
    target = await company.way_back(browser)
    attempt = browser.cookie

    assert await company.back(other_browser, target) == "/console/sign-in?problem=expired"
    await company.way_back(other_browser)
    assert await company.back(other_browser, target) == "/console/sign-in?problem=expired"
    for wrong in (target.replace("state=", "state=x"), target.partition("&")[0], OIDC, f"{target}&iss=https://evil.example"):
        browser.cookie = attempt
        assert (await company.back(browser, wrong))[:23] == "/console/sign-in?proble"
    browser.cookie = attempt
    assert await company.back(browser, target) == "/console/"
    browser.cookie = attempt
    assert await company.back(browser, target) == "/console/sign-in?problem=provider"


async def test_stolen_code__is_worth_nothing_without_the_attempt(company: Company) -> None:
    await company.invite("mira@example.com", role="admin")
    victim, thief = Browser(company.call), Browser(company.call)
    code = (await company.way_back(victim)).partition("code=")[2].partition("&")[0]
    target = await company.way_back(thief)

    stolen = target.replace(target.partition("code=")[2].partition("&")[0], code)

    assert await company.back(thief, stolen) == "/console/sign-in?problem=provider"
    assert await who(thief) == 401


async def test_declined__is_told_apart_from_a_broken_provider(company: Company) -> None:
    browser = Browser(company.call)

    assert (
        await company.back(browser, await company.way_back(browser, code="", error="access_denied")) == "/console/sign-in?problem=declined"
    )
    assert (
        await company.back(browser, await company.way_back(browser, code="", error="server_error")) == "/console/sign-in?problem=provider"
    )


async def test_provider_that_is_down__is_named(company: Company) -> None:
    company.server.is_down = True
    reply = await Browser(company.call)("POST", OIDC, {})

    assert (reply.status, reply.problem["detail"][:28]) == (503, "Example cannot be used now; ")
    company.server.is_down, company.server.discovery = False, {"issuer": "https://evil.example"}
    assert (await Browser(company.call)("POST", OIDC, {})).status == 503
    for bad in ("http://login.example.com/token", "https:login.example.com/token"):
        company.server.discovery = {"token_endpoint": bad}
        assert (await Browser(company.call)("POST", OIDC, {})).status == 503, bad


async def test_ways_to_sign_in__are_shown_without_secrets_and_with_what_is_wrong(company: Company) -> None:
    shown = await company("GET", "/team/v1/sign-in")
    company.server.is_down = True
    company.call.clock.now += 2 * 3600 * SECOND
    later = (await company("GET", "/team/v1/sign-in")).json()["provider"]

    assert (shown.json()["keys_needed"], shown.json()["passwords"], shown.json()["links"]) == (True, True, False)
    assert (shown.json()["provider"]["issuer"], shown.json()["provider"]["problem"]) == (ISSUER, None)
    assert shown.json()["provider"]["redirect_uri"] == f"{PUBLIC}/console/oidc"
    assert later["problem"]
    assert CLIENT_SECRET.encode() not in shown.body
    _, link = await company.invite("mira@example.com", grants=[{"client_id": "ours", "role": "admin"}])
    browser = Browser(company.call)
    company.server.is_down = False
    await company.sign_in(browser, link)
    assert (await browser("GET", "/team/v1/sign-in", x_client_id="ours")).status == 403


async def test_provider_on_this_machine__leads_no_browser_to_a_script() -> None:
    server = OidcServer("http://localhost:9000", lambda: 1_790_000_000_000_000)
    server.discovery = {"authorization_endpoint": "javascript:alert(1)//"}

    with pytest.raises(SignInRefused, match="is not https"):
        await provider_of(server, issuer=server.issuer).address(SignInFlow.begin("", ""))


async def test_provider_with_an_address_that_is_none__signs_nobody_in(company: Company) -> None:
    company.server.discovery = {"token_endpoint": "https://[::1"}

    assert await company.sign_in(Browser(company.call)) == "/console/sign-in?problem=provider"


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a": "\xff"}', b"[]", b"1e999", b" " * 2_000_000 + b"{}"])
async def test_provider_that_answers_nonsense__signs_nobody_in(make_company: Any, body: bytes) -> None:
    for path in ("/.well-known/openid-configuration", "/keys", "/token", "/userinfo"):
        company = await make_company()
        server = company.server
        server.userinfo, server.bodies = {"sub": "1"}, {path: body}
        browser = Browser(company.call)

        if path == "/.well-known/openid-configuration":
            assert (await browser("POST", OIDC, {})).status == 503
        else:
            assert (await company.sign_in(browser)).startswith("/console/sign-in?problem=")


async def test_rotated_keys__are_read_once_for_an_unknown_one(company: Company) -> None:
    await company.invite("mira@example.com", role="admin")
    server = company.server
    await company.sign_in(Browser(company.call))
    company.call.clock.move(KEYS_AGAIN / 1_000_000)
    server.rotate()

    assert await company.sign_in(Browser(company.call)) == "/console/"
    server.signing = RSAKey.generate_key(2048, {"kid": "unknown"})
    assert [await company.sign_in(Browser(company.call)) for _ in range(2)] == ["/console/sign-in?problem=provider"] * 2

    assert server.requests.count("/keys") == 2
    assert server.requests.count("/.well-known/openid-configuration") == 1


async def test_claims_of_the_userinfo__count_for_the_same_subject_only(company: Company) -> None:
    await company.invite("mira@example.com", role="admin")
    server = company.server
    server.userinfo = server.claims
    server.claims = {"sub": "1", "email_verified": False}

    assert await company.sign_in(Browser(company.call)) == "/console/"
    server.userinfo, server.claims = {**server.userinfo, "sub": "9"}, {"sub": "8"}
    assert await company.sign_in(Browser(company.call)) == "/console/sign-in?problem=unverified"


@pytest.mark.parametrize(
    "path", ["https://evil.example/", "//evil.example", "/admin/v1/keys", "/console/a b", "/console/\n", "/consoles/x"]
)
async def test_page_to_return_to__is_one_of_the_console(company: Company, path: str) -> None:
    await company.invite("mira@example.com", role="admin")

    assert (await company.sign_in(Browser(company.call), path=path))[:9] == "/console/"


async def test_beginning__is_for_the_consoles_own_page_at_its_public_address(company: Company) -> None:
    foreign = await company.call("POST", OIDC, {}, x_touchbase_console="1", sec_fetch_site="cross-site")
    elsewhere = await company.call("POST", OIDC, {}, origin="http://10.0.0.1:8000", **PAGE)
    right = await company.call("POST", OIDC, {}, origin=PUBLIC, **PAGE)

    assert (foreign.status, elsewhere.status, right.status) == (403, 409, 200)
    assert PUBLIC in elsewhere.problem["detail"]
    cookie = right.headers["set-cookie"]
    assert cookie.startswith("__Host-touchbase_oidc=")
    assert all(part in cookie for part in ("HttpOnly", "Secure", "SameSite=Lax", "Max-Age=600", "Path=/;"))


async def test_failed_ways_back__count_as_failed_keys(store: Store, make_client: MakeClient) -> None:
    server = OidcServer(ISSUER, lambda: call.clock.now)
    call = make_client(store, auth="api-key", public_url=PUBLIC, oidc=provider_of(server), failed_keys=KeyThrottle(3))
    company, statuses = Company(call, "", server), []
    server.changes = {"nonce": "wrong"}

    for _ in range(4):
        browser = Browser(call)
        reply = await browser("POST", OIDC, {})
        if reply.status == 200:
            reply = await call("GET", server.visit(reply.json()["address"]), cookie=browser.cookie)
        statuses.append(reply.status)

    assert statuses == [303, 303, 303, 429]
    assert len(company.server.codes) == 0


async def test_provider_only__refuses_passwords_and_leaves_links_of_administrators(make_company: Any) -> None:
    company = await make_company(only=True)
    mira = await company.join("mira@example.com", role="viewer")
    browser = Browser(company.call)

    password = await browser("POST", "/console/session", {"email": "mira@example.com", "password": SECRET})
    mailed = await browser("POST", "/console/links", {"email": "mira@example.com"})
    shown = (await browser("GET", "/console/session")).json()

    assert (password.status, mailed.status) == (403, 403)
    assert (shown["provider"], shown["provider_only"], shown["passwords"], shown["links"]) == ("Example", True, False, False)
    assert await company.sign_in(browser) == "/console/"
    assert (await who(browser))["id"] == mira.user["id"]


async def test_server_without_a_provider__says_so(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, auth="api-key")

    assert [(await Browser(call)(method, OIDC, body)).status for method, body in (("POST", {}), ("GET", None))] == [404, 404]
    assert (await Browser(call)("GET", "/console/session")).json()["provider"] == ""
