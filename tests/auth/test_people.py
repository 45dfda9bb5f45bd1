"""People of the team: rights by role and client, invitations, signing in, sessions; for the API they are as keys with the same scopes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response

from touchbase.auth import passwords
from touchbase.auth.auth_throttle import KeyThrottle
from touchbase.auth.authentication import ADMIN, READ, WRITE
from touchbase.auth.service import add_key
from touchbase.auth.users import ROLE_SCOPES, new_link
from touchbase.common.timestamps import DAY, SECOND
from touchbase.console import api
from touchbase.outgoing.api import mail_to_people
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.models import Installation
from touchbase.routes import DESCRIBED
from touchbase.sql.store import Store

PAGE = {"x_touchbase_console": "1", "sec_fetch_site": "same-origin"}
"""The headers of a request of the console's page."""
SECRET = "correct horse battery"
CONTACTS = "/public/v2/contacts"
INVITATIONS, USERS, SESSIONS = "/team/v1/invitations", "/team/v1/users", "/team/v1/sessions"


class Browser:
    """A browser with the console: it stores the cookie, and sends it with every request."""

    def __init__(self, call: ApiClient) -> None:
        self.call = call
        self.cookie = ""
        self.user: Any = {}

    async def __call__(self, method: str, target: str, body: object = None, **headers: str) -> Response:
        headers = {**PAGE, **headers} | ({"cookie": self.cookie} if self.cookie else {})
        reply = await self.call(method, target, body, **headers)
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply


class Office:
    """An application that asks for keys, with an administrator's key and clients."""

    def __init__(self, call: ApiClient, key: str) -> None:
        self.call = call
        self.key = {"authorization": f"Bearer {key}"}

    async def __call__(self, method: str, target: str, body: object = None, **headers: str) -> Response:
        return await self.call(method, target, body, **self.key, **headers)

    async def client(self, client_id: str) -> None:
        assert (await self("PUT", f"/admin/v1/clients/{client_id}", {"settings": {}})).status == 201

    async def invite(self, email: str, **rights: Any) -> tuple[Any, str]:
        reply = await self("POST", INVITATIONS, {"email": email, **rights})
        assert reply.status == 201, reply.body
        return reply.json()["user"], reply.json()["link"].partition("#")[2]

    async def join(self, email: str, **rights: Any) -> Browser:
        """Invite somebody, who joins in a browser."""
        browser = Browser(self.call)
        _, link = await self.invite(email, **rights)
        reply = await browser("POST", f"{INVITATIONS}/accept", {"link": link, "password": SECRET, "name": email[:3].title()})
        assert reply.status == 200, reply.body
        browser.user = reply.json()
        return browser

    async def key_of(self, client_id: str, *scopes: str) -> dict[str, str]:
        reply = await self("POST", "/admin/v1/keys", {"name": "test", "client_id": client_id, "scopes": list(scopes)})
        return {"authorization": f"Bearer {reply.json()['key']}"}


class PersonalKey:
    """A program with a personal key that has all scopes of its person."""

    def __init__(self, browser: Browser, key: str) -> None:
        self.call, self.user, self.headers = browser.call, browser.user, {"authorization": f"Bearer {key}"}
        self.is_of_one = False

    @classmethod
    async def of(cls, browser: Browser, **limits: Any) -> PersonalKey:
        """Make one in a browser."""
        scopes = (await browser("GET", "/team/v1/me")).json()["scopes"]
        reply = await browser("POST", "/team/v1/keys", {"name": "program", "scopes": scopes, **limits})
        assert reply.status == 201, reply.body
        created = cls(browser, reply.json()["key"])
        created.is_of_one = "client_id" in limits
        return created

    async def __call__(self, method: str, target: str, body: object = None, **headers: str) -> Response:
        return await self.call(method, target, body, **self.headers, **headers)


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "COST", 2)


@pytest.fixture
async def office(store: Store, make_client: MakeClient) -> Office:
    call = make_client(store, auth="api-key")
    office = Office(call, await add_key(store, None, [ADMIN], "first", call.clock.now))
    for client_id in ("ours", "yours", "theirs"):
        await office.client(client_id)
    return office


EXPORTS = ("/public/v2/contacts/export", "/public/v2/companies/export", "/public/v2/suppressions?format=csv")


def grants(**roles: str) -> list[dict[str, str]]:
    return [{"client_id": client_id, "role": role} for client_id, role in roles.items()]


async def test_invited_person__joins_by_the_link_and_is_signed_in(office: Office) -> None:
    user, link = await office.invite(" Mira@Example.com", name="Mira", grants=grants(ours="operator"), time_zone="Europe/Berlin")
    assert (user["email"], user["state"], user["role"], user["all_clients"]) == ("mira@example.com", "invited", None, False)
    browser = Browser(office.call)

    reply = await browser("POST", f"{INVITATIONS}/accept", {"link": link, "password": SECRET, "name": "Mira Sandoval"})

    assert reply.json() == {**user, "name": "Mira Sandoval", "state": "active", "has_password": True}
    me = (await browser("GET", "/team/v1/me")).json()
    assert (me["type"], me["user"]["id"], me["scopes"]) == ("user", user["id"], [READ, WRITE])
    assert [(item["client_id"], item["role"]) for item in me["clients"]] == [("ours", "operator")]
    shown = (await browser("GET", "/console/session")).json()
    assert (shown["signed_in"], shown["user"]["email"], shown["client_id"]) == (True, "mira@example.com", "ours")
    again = await Browser(office.call)("POST", f"{INVITATIONS}/accept", {"link": link, "password": SECRET})
    assert (again.status, again.problem["detail"][:18]) == (404, "this link was used")


async def test_invitation__ends_after_seven_days_and_by_revoking(office: Office) -> None:
    _, late = await office.invite("ann@example.com", role="viewer")
    office.call.clock.move(7 * DAY / SECOND)
    _, link = await office.invite("ben@example.com", role="viewer")
    listed = (await office("GET", INVITATIONS)).json()["data"]
    assert [(invitation["user"]["email"], invitation["is_expired"]) for invitation in listed] == [
        ("ben@example.com", False),
        ("ann@example.com", True),
    ]

    assert (await office("DELETE", f"{INVITATIONS}/{listed[0]['id']}")).status == 204

    for secret in (late, link, "x"):
        reply = await Browser(office.call)("POST", f"{INVITATIONS}/accept", {"link": secret, "password": SECRET})
        assert reply.status == 404
    assert [user["email"] for user in (await office("GET", USERS)).json()["data"]] == ["ann@example.com"]


async def test_repeated_invitation__has_no_link(office: Office) -> None:
    body = {"email": "ann@example.com", "role": "viewer"}

    replies = [await office("POST", INVITATIONS, body, idempotency_key="once") for _ in range(2)]

    assert [reply.status for reply in replies] == [201, 201]
    assert ["link" in reply.json() for reply in replies] == [True, False]
    assert replies[0].json()["id"] == replies[1].json()["id"]


BAD = [
    ({"email": "nonsense", "role": "viewer"}, "/email"),
    ({"email": "ann@example.com"}, "/role"),
    ({"email": "ann@example.com", "grants": grants(nobody="viewer")}, "/grants/0/client_id"),
    ({"email": "ann@example.com", "grants": [*grants(ours="viewer"), *grants(ours="admin")]}, "/grants/1/client_id"),
    ({"email": "ann@example.com", "role": "owner"}, "/role"),
    ({"email": "ann@example.com", "role": "viewer", "time_zone": "Mars"}, "/time_zone"),
]


async def test_invitation__names_every_wrong_member(office: Office) -> None:
    for body, pointer in BAD:
        reply = await office("POST", INVITATIONS, body)
        assert (reply.status, [error["pointer"] for error in reply.problem["errors"]]) == (422, [pointer])
    assert (await office("GET", USERS)).json()["data"] == []


async def test_short_password__is_refused_and_leaves_the_link(office: Office) -> None:
    _, link = await office.invite("ann@example.com", role="viewer")
    browser = Browser(office.call)

    short = await browser("POST", f"{INVITATIONS}/accept", {"link": link, "password": "elevenchars"})

    assert (short.status, short.problem["errors"][0]["pointer"]) == (422, "/password")
    assert (await browser("POST", f"{INVITATIONS}/accept", {"link": link, "password": SECRET})).status == 200


def scoped_requests(client_id: str) -> Iterator[tuple[str, str, Any]]:
    """Requests of each scope, on records and on settings of a client."""
    yield "GET", CONTACTS, None
    yield "POST", CONTACTS, {"first_name": "Jane"}
    yield "GET", f"/admin/v1/clients/{client_id}", None
    yield "GET", f"/admin/v1/deliveries?client={client_id}", None


ALLOWED = {"viewer": [200, 403, 403, 403], "operator": [200, 201, 403, 403], "admin": [200, 201, 200, 200]}


@pytest.mark.parametrize("role", ROLE_SCOPES)
async def test_role__permits_what_a_key_with_its_scopes_permits(office: Office, role: str) -> None:
    of_one = await office.join("ann@example.com", grants=grants(ours=role))
    of_all = await office.join("ben@example.com", role=role)
    key = await office.key_of("ours", *ROLE_SCOPES[role])

    for number, (method, target, body) in enumerate(scoped_requests("ours")):
        replies = [
            await of_one(method, target, body),
            await of_one(method, target, body, x_client_id="ours"),
            await of_all(method, target, body, x_client_id="ours"),
            await office.call(method, target, body, **key),
        ]
        assert [reply.status for reply in replies] == [ALLOWED[role][number]] * 4, target


async def test_roles__differ_by_client(office: Office) -> None:
    browser = await office.join("ann@example.com", role="viewer", grants=grants(ours="admin", yours="operator"))

    for client_id, role in (("ours", "admin"), ("yours", "operator"), ("theirs", "viewer")):
        statuses = [
            (await browser(method, target, body, x_client_id=client_id)).status for method, target, body in scoped_requests(client_id)
        ]
        assert statuses == ALLOWED[role], client_id


async def test_person_of_two_clients__names_one_and_finds_no_other(office: Office) -> None:
    browser = await office.join("ann@example.com", grants=grants(ours="admin", yours="admin"))

    unnamed = [(await browser(method, target, body)) for method, target, body in (*scoped_requests("ours"),)]
    unlisted = await browser("GET", "/admin/v1/keys")
    foreign = [(await browser(method, target, body, x_client_id="theirs")).status for method, target, body in scoped_requests("theirs")]
    unknown = [(await browser(method, target, body, x_client_id="nobody")).status for method, target, body in scoped_requests("nobody")]
    handles = {item["client_id"]: item["handle"] for item in (await office("GET", "/admin/v1/clients")).json()["data"]}

    assert [reply.status for reply in unnamed] == [422, 422, 200, 200]
    assert unnamed[0].problem["errors"][0]["pointer"] == "X-Client-Id"
    assert (unlisted.status, unlisted.problem["errors"][0]["pointer"]) == (422, "X-Client-Id")
    assert foreign == unknown == [404] * 4
    for name in ("theirs", handles["theirs"]):
        assert (await browser("GET", f"/console/session?client={name}")).json()["client"] is None
    assert (await browser("GET", f"/console/session?client={handles['yours']}")).json()["client"]["client_id"] == "yours"


async def test_session__lists_the_first_of_very_many_clients_and_names_any(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "MOST_CLIENTS", 2)
    browser = await office.join("ann@example.com", role="viewer", grants=grants(yours="admin"))

    listed = (await browser("GET", "/console/session")).json()["clients"]
    named = (await browser("GET", "/console/session?client=yours")).json()

    assert [client["client_id"] for client in listed] == ["ours", "theirs"]
    assert (named["client"]["scopes"], named["clients"]) == ([ADMIN, READ, WRITE], None)


async def test_person__reads_no_foreign_client_by_any_operation(office: Office) -> None:
    """Each operation, as each role, about a client that the person may not see: as about one that does not exist."""
    client_id, contact = "theirs", (await office("POST", CONTACTS, {"email": "jane@theirs.example"}, x_client_id="theirs")).json()["id"]
    people: list[Any] = [await office.join(f"{role}@example.com", grants=grants(ours=role, yours=role)) for role in ROLE_SCOPES]
    for browser in [*people]:  # a personal key of each, of all clients and of one
        people += [await PersonalKey.of(browser), await PersonalKey.of(browser, client_id="ours")]
    hidden = (await office.join("zoe@example.com", grants=grants(theirs="admin"))).user["id"]
    values = {
        "client_id": client_id, "id": str(contact), "user_id": hidden, "channel": "crm", "tool": "hubspot", "merge_id": "1",
        "field_id": "1", "refused_id": "0" * 24, "key_id": "0" * 12, "name": "x", "invitation_id": "0" * 12, "session_id": "0" * 64,
    }  # fmt: skip
    leaks = []
    for route, browser, headers in itertools.product(DESCRIBED, people, ({"x_client_id": client_id}, {})):
        if not route.scope:
            continue
        names_none = isinstance(browser, PersonalKey) and browser.is_of_one and not headers  # it is about its own client then
        target = route.path
        for name, value in values.items():
            target = target.replace(f"{{{name}}}", value)
        reply = await browser(route.method, target, {} if route.method in ("POST", "PUT", "PATCH") else None, **headers)
        if b"jane@theirs" in reply.body or b"zoe@example" in reply.body or reply.status >= 500:
            leaks.append((route.operation_id, browser.user["email"], reply.status, reply.body[:200]))
        # Who calls, people and sessions are of the installation; what needs no more than that names no client.
        if reply.status < 400 and not names_none and not route.path.startswith("/team/v1/"):
            leaks.append((route.operation_id, browser.user["email"], reply.status, reply.body[:200]))

    assert leaks == []


async def test_people__are_seen_by_those_who_share_a_client(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="operator", yours="viewer"))
    ben = await office.join("ben@example.com", grants=grants(ours="viewer", theirs="operator"))
    cat = await office.join("cat@example.com", grants=grants(theirs="admin"))
    await office.join("dan@example.com", role="admin")

    async def visible_grants(browser: Any, **headers: str) -> dict[str, list[str]]:
        page = (await browser("GET", USERS, **headers)).json()["data"]
        return {user["email"][:3]: [grant["client_id"] for grant in user["grants"]] for user in page}

    assert await visible_grants(office) == {"ann": ["ours", "yours"], "ben": ["ours", "theirs"], "cat": ["theirs"], "dan": []}
    assert await visible_grants(ann) == {"ann": ["ours", "yours"], "ben": ["ours"], "dan": []}
    assert await visible_grants(cat) == {"ben": ["theirs"], "cat": ["theirs"], "dan": []}
    assert await visible_grants(office.call, **await office.key_of("yours", READ)) == {"ann": ["yours"], "dan": []}
    assert (await ann("GET", f"{USERS}/{cat.user['id']}")).status == 404
    assert (await ann("GET", f"{USERS}/{ben.user['id']}")).json()["grants"] == grants(ours="viewer")
    assert [len((await ann("GET", f"{USERS}?limit=1{cursor}")).json()["data"]) for cursor in ("", "&email=cat@example.com")] == [1, 0]


async def test_only_administrators_of_all_clients__manage_people(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="admin"))
    ben = await office.join("ben@example.com", role="operator")
    key = await office.key_of("ours", ADMIN)
    second = f"{USERS}/{ben.user['id']}"

    for method, target, body in (
        ("POST", INVITATIONS, {"email": "x@example.com", "role": "admin"}), ("GET", INVITATIONS, None),
        ("DELETE", f"{INVITATIONS}/{'0' * 12}", None), ("POST", f"{second}/reset", None),
        ("PATCH", second, {"name": "Max"}), ("PATCH", f"{USERS}/{ann.user['id']}", {"role": "admin"}),
        ("GET", f"{SESSIONS}?user_id={ben.user['id']}", None), ("DELETE", f"{SESSIONS}?user_id={ben.user['id']}", None),
    ):  # fmt: skip
        assert (await ann(method, target, body)).status == 403, target
        assert (await office.call(method, target, body, **key)).status == 403, target
    assert (await ben("POST", INVITATIONS, {"email": "x@example.com", "role": "viewer"})).status == 403


async def test_patch_user__changes_what_is_ones_own(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="viewer"))
    target = f"{USERS}/{ann.user['id']}"
    etag = (await ann("GET", target)).headers["etag"]
    notify = {"assignment": ["browser", "email"], "quiet_from": "18:30"}

    reply = await ann("PATCH", target, {"name": "Ann Ito", "time_zone": "Asia/Tokyo", "notifications": notify}, if_match=etag)
    stale = await ann("PATCH", target, {"name": "Ann"}, if_match=etag)
    bad = await ann("PATCH", target, {"time_zone": "Nowhere/Land"})

    assert (reply.json()["name"], reply.json()["time_zone"], reply.json()["notifications"]["quiet_from"]) == (
        "Ann Ito",
        "Asia/Tokyo",
        "18:30",
    )
    assert reply.headers["etag"] != etag
    assert (stale.status, stale.problem["code"]) == (412, "precondition_failed")
    assert bad.problem["errors"][0]["pointer"] == "/time_zone"
    assert (await ann("GET", target)).json() == reply.json()


@pytest.mark.parametrize("end", ["24:00", "7:30", "09:00\n", ""])
async def test_patch_user__refuses_quiet_hours_that_are_no_time(office: Office, end: str) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="viewer"))

    reply = await ann("PATCH", f"{USERS}/{ann.user['id']}", {"notifications": {"quiet_from": "18:30", "quiet_until": end}})

    assert (reply.status, [error["pointer"] for error in reply.problem["errors"]]) == (422, ["/notifications/quiet_until"])


async def test_changed_rights__apply_to_open_sessions_at_once_and_elsewhere_within_a_second(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="operator"))
    elsewhere = Browser(ApiClient(office.call.parts, office.call.clock))
    elsewhere.cookie = ann.cookie
    assert [(await item("GET", CONTACTS, x_client_id="ours")).status for item in (ann, elsewhere)] == [200, 200]

    await office("PATCH", f"{USERS}/{ann.user['id']}", {"grants": grants(yours="viewer")})

    assert (await ann("GET", CONTACTS, x_client_id="ours")).status == 404
    office.call.clock.move(1)
    assert (await elsewhere("GET", CONTACTS, x_client_id="ours")).status == 404
    assert (await elsewhere("GET", CONTACTS)).status == 200


async def test_suspended_person__is_refused_at_once_until_resumed(office: Office) -> None:
    ann = await office.join("ann@example.com", role="operator")
    target = f"{USERS}/{ann.user['id']}"

    suspended = await office("PATCH", target, {"state": "suspended"})

    assert suspended.json()["state"] == "suspended"
    assert (await ann("GET", "/team/v1/me")).status == 401
    sign_in = {"email": "ann@example.com", "password": SECRET}
    assert (await ann("POST", "/console/session", sign_in)).status == 401
    assert (await office("POST", f"{target}/reset")).status == 409
    await office("PATCH", target, {"state": "active"})
    assert (await ann("POST", "/console/session", sign_in)).status == 200


async def test_last_administrator__is_kept(office: Office) -> None:
    ann = await office.join("ann@example.com", role="admin")

    reply = await ann("PATCH", f"{USERS}/{ann.user['id']}", {"state": "suspended"})

    assert (reply.status, reply.problem["code"]) == (409, "conflict")
    assert (await ann("GET", "/admin/v1/status")).status == 200


async def test_sign_in__takes_the_password_and_tells_nothing_about_addresses(office: Office) -> None:
    await office.join("ann@example.com", role="viewer")
    await office.invite("new@example.com", role="viewer")
    browser = Browser(office.call)

    refused = [
        await browser("POST", "/console/session", {"email": email, "password": password})
        for email, password in (("ann@example.com", "x" * 12), ("bob@example.com", SECRET), ("new@example.com", SECRET), ("x", SECRET))
    ]
    accepted = await browser("POST", "/console/session", {"email": "ANN@example.com ", "password": SECRET})

    assert {(reply.status, reply.problem["detail"]) for reply in refused} == {(401, passwords.WRONG)}
    assert (accepted.status, accepted.json()["user"]["email"]) == (200, "ann@example.com")
    assert SECRET.encode() not in accepted.body


async def test_sign_in__stops_after_five_failures_for_an_address_from_one_network(office: Office) -> None:
    await office.join("ann@example.com", role="viewer")
    await office.join("ben@example.com", role="viewer")
    browser = Browser(office.call)

    async def attempt(email: str, password: str = SECRET) -> int:
        return (await browser("POST", "/console/session", {"email": email, "password": password})).status

    assert [await attempt("ann@example.com", "wrong wrong wrong") for _ in range(6)] == [401] * 5 + [429]
    assert (await attempt("ann@example.com"), await attempt("ben@example.com")) == (429, 200)
    office.call.clock.move(passwords.TRY_SECONDS / passwords.TRIES)
    assert [await attempt("ann@example.com") for _ in range(3)] == [200] * 3


async def test_sign_in__is_not_stopped_by_failures_from_another_network_but_by_very_many(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "TRIES", 2)
    monkeypatch.setattr(passwords, "TRIES_ANYWHERE", 5)
    office.call.__post_init__()  # with these limits
    ann = await office.join("ann@example.com", role="viewer")
    change = {"current": SECRET, "password": SECRET}

    async def attempt(network: int, password: str = "wrong wrong wrong") -> int:
        office.call.peer = (f"203.0.113.{network}", 0)
        return (await Browser(office.call)("POST", "/console/session", {"email": "ann@example.com", "password": password})).status

    guesses = [await attempt(1) for _ in range(3)]
    signed_in = await attempt(2, SECRET)
    changed = (await ann("PUT", "/team/v1/me/password", change)).status
    guesses += [await attempt(network) for network in (3, 3, 4, 5)]

    assert (signed_in, changed, guesses) == (200, 204, [401, 401, 429, 401, 401, 401, 429])


async def test_wrong_passwords__count_as_failed_keys_of_their_address(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, auth="api-key", failed_keys=KeyThrottle(3))
    browser = Browser(call)

    statuses = [
        (await browser("POST", "/console/session", {"email": f"{n}@example.com", "password": "wrong wrong wrong"})).status for n in range(4)
    ]

    assert statuses == [401, 401, 401, 429]


async def test_reset__gives_another_password_and_ends_sessions(office: Office) -> None:
    ann = await office.join("ann@example.com", role="viewer")
    link = (await office("POST", f"{USERS}/{ann.user['id']}/reset")).json()["link"].partition("#")[2]
    browser = Browser(office.call)

    reply = await browser("POST", f"{INVITATIONS}/accept", {"link": link, "password": "another password"})

    assert (reply.status, reply.json()["name"]) == (200, "Ann")
    assert [(await item("GET", "/team/v1/me")).status for item in (ann, browser)] == [401, 200]
    tried = [
        await browser("POST", "/console/session", {"email": "ann@example.com", "password": secret})
        for secret in (SECRET, "another password")
    ]
    assert [item.status for item in tried] == [401, 200]


async def test_sessions__are_listed_and_ended_singly_or_together(office: Office) -> None:
    ann = await office.join("ann@example.com", role="viewer")
    ben = await office.join("ben@example.com", role="admin")
    others = [Browser(office.call) for _ in range(2)]
    for second in others:
        office.call.clock.move(60)
        await second("POST", "/console/session", {"email": "ann@example.com", "password": SECRET}, user_agent="Browser/1")

    listed = (await ann("GET", SESSIONS)).json()["data"]
    assert [(session["user_agent"], session["is_current"]) for session in listed] == [
        ("Browser/1", False),
        ("Browser/1", False),
        ("", True),
    ]
    assert (await ben("DELETE", f"{SESSIONS}/{listed[0]['id']}")).status == 204
    assert (await others[1]("GET", "/team/v1/me")).status == 401
    foreign = (await ben("GET", SESSIONS)).json()["data"][0]["id"]
    assert [(await ann("DELETE", f"{SESSIONS}/{id_hash}")).status for id_hash in (foreign, "0" * 64)] == [404, 404]

    assert (await ann("DELETE", SESSIONS)).status == 204

    assert [(await item("GET", "/team/v1/me")).status for item in (ann, others[0], ben)] == [200, 401, 200]
    assert (await ben("DELETE", f"{SESSIONS}?user_id={ann.user['id']}")).status == 204
    assert (await ann("GET", "/team/v1/me")).status == 401


async def test_session_of_a_person__counts_for_the_consoles_page_only(office: Office) -> None:
    ann = await office.join("ann@example.com", role="admin")
    text = ann.cookie.partition("=")[2]

    for headers in ({"cookie": ann.cookie}, {"authorization": f"Bearer {text}"}, {"x_api_key": text}):
        assert (await office.call("GET", "/team/v1/me", **headers)).status == 401
    assert (await ann("POST", CONTACTS, {"first_name": "Jane"}, sec_fetch_site="cross-site", x_client_id="ours")).status == 403


async def test_joining_from_another_page__is_refused_and_leaves_the_link(office: Office) -> None:
    _, link = await office.invite("ann@example.com", role="viewer")
    body = {"link": link, "password": SECRET}

    foreign = await Browser(office.call)("POST", f"{INVITATIONS}/accept", body, sec_fetch_site="cross-site")
    program = await office.call("POST", f"{INVITATIONS}/accept", body)

    assert (foreign.status, program.status, "set-cookie" in program.headers) == (403, 200, False)


async def test_author_of_a_change__is_the_person(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="operator"))

    created = (await ann("POST", CONTACTS, {"email": "jane@example.com"})).json()

    timeline = (await ann("GET", f"{CONTACTS}/{created['id']}/timeline")).json()["data"]
    assert [item["key_id"] for item in timeline] == [ann.user["id"]]


async def test_me__of_a_key_and_without_keys(office: Office, store: Store, make_client: MakeClient) -> None:
    of_key = (await office.call("GET", "/team/v1/me", **await office.key_of("ours", READ))).json()
    of_anyone = (await make_client(store)("GET", "/team/v1/me")).json()

    assert (of_key["type"], of_key["key_name"], of_key["scopes"], of_key["user"]) == ("key", "test", [READ], None)
    assert (of_anyone["type"], of_anyone["scopes"], of_anyone["key_id"]) == ("anyone", sorted([READ, WRITE, ADMIN]), None)


async def test_open_mode__makes_the_first_administrator(store: Store, make_client: MakeClient) -> None:
    opened, guarded = make_client(store), make_client(store, auth="api-key")
    link = (await opened.post(INVITATIONS, {"email": "ann@example.com", "role": "admin"})).json()["link"].partition("#")[2]
    browser = Browser(guarded)

    await browser("POST", f"{INVITATIONS}/accept", {"link": link, "password": SECRET})

    assert (await browser("GET", USERS)).json()["data"][0]["role"] == "admin"


class Mailbox:
    """A mail server that takes everything."""

    def __init__(self) -> None:
        self.mails: list[tuple[str, str]] = []

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        self.mails.append((url, body.decode()))
        return ReceiverAnswer(1, 250)

    async def recipients(self) -> list[str]:
        """Wait for the mails that are being sent; return to whom all went."""
        await asyncio.gather(*mail_to_people._sending)
        return [url for url, _ in self.mails]


async def test_link_by_mail__signs_in_once_and_goes_to_active_people_only(store: Store, make_client: MakeClient) -> None:
    box = Mailbox()
    place = Installation("https://tb.example", "Touchbase <tb@example.com>", mail_domains=("example.com",))
    call = make_client(store, auth="api-key", public_url="https://tb.example", installation=place, send_webhook=box.post)
    office = Office(call, await add_key(store, None, [ADMIN], "first", call.clock.now))
    ann = await office.join("ann@example.com", role="viewer")
    await office.invite("new@example.com", role="viewer")
    assert await box.recipients() == ["mailto:ann@example.com", "mailto:new@example.com"]
    box.mails.clear()
    browser = Browser(call)
    shown = (await browser("GET", "/console/session")).json()
    assert (shown["passwords"], shown["links"]) == (True, True)

    replies = [await browser("POST", "/console/links", {"email": f"{name}@example.com"}) for name in ("ann", "new", "bob")]
    refused = await browser("POST", "/console/links", {"email": "ann@elsewhere.example"})

    assert [(reply.status, reply.body) for reply in replies] == [(202, b"{}")] * 3
    assert refused.status == 404
    assert await box.recipients() == ["mailto:ann@example.com"]
    for _ in range(passwords.LINKS):
        last = await browser("POST", "/console/links", {"email": "ann@example.com"})
    assert (last.status, "look for the newest in its mailbox" in last.problem["detail"]) == (429, True)
    by_password = await browser("POST", "/console/session", {"email": "ann@example.com", "password": SECRET})
    assert by_password.status == 200  # requests of links are anybody's
    await box.recipients()
    secret = box.mails[-1][1].partition("https://tb.example/console/sign-in#")[2].split()[0]
    signed_in = [await browser("POST", "/console/session", {"link": secret}) for _ in range(2)]
    assert [reply.status for reply in signed_in] == [200, 401]
    assert signed_in[0].json()["user"]["id"] == ann.user["id"]


async def test_link_by_mail__is_stored_after_the_response(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else the time of the response would tell who has joined."""
    box = Mailbox()
    place = Installation("https://tb.example", "Touchbase <tb@example.com>", mail_domains=("example.com",))
    call = make_client(store, auth="api-key", public_url="https://tb.example", installation=place, send_webhook=box.post)
    office = Office(call, await add_key(store, None, [ADMIN], "first", call.clock.now))
    await office.join("ann@example.com", role="viewer")
    await box.recipients()
    box.mails.clear()
    monkeypatch.setattr(api, "new_link", lambda _, kind, now: new_link("u00000000000", kind, now))  # a store that refuses it

    reply = await Browser(call)("POST", "/console/links", {"email": "ann@example.com"})

    assert (reply.status, reply.body) == (202, b"{}")
    assert await box.recipients() == []
    assert "was not stored" in caplog.text


async def test_sign_in__is_refused_while_very_many_wait_and_does_not_count_as_a_failure(office: Office) -> None:
    await office.join("ann@example.com", role="viewer")
    browser, sign_in = Browser(office.call), {"email": "ann@example.com", "password": SECRET}
    for _ in range(passwords.MOST_HASHING):
        await passwords._hashing.acquire()

    refused = [await browser("POST", "/console/session", sign_in) for _ in range(passwords.TRIES + 1)]
    unknown = await browser("POST", f"{INVITATIONS}/accept", {"link": "x" * 64, "password": SECRET})
    for _ in range(passwords.MOST_HASHING):
        passwords._hashing.release()

    assert {(reply.status, reply.headers["retry-after"]) for reply in refused} == {(503, "5")}
    assert unknown.status == 404  # nothing is hashed for somebody without a link
    assert (await browser("POST", "/console/session", sign_in)).status == 200


async def test_sign_in_page__offers_what_there_is(office: Office) -> None:
    browser = Browser(office.call)
    before = (await browser("GET", "/console/session")).json()

    await office.join("ann@example.com", role="viewer")

    after = (await browser("GET", "/console/session")).json()
    assert [(session["passwords"], session["links"]) for session in (before, after)] == [(False, False), (True, False)]
    assert (await browser("POST", "/console/links", {"email": "ann@example.com"})).status == 404


async def test_password__is_changed_with_the_present_one_and_ends_other_sessions(office: Office) -> None:
    ann = await office.join("ann@example.com", role="viewer")
    other_browser = Browser(office.call)
    await other_browser("POST", "/console/session", {"email": "ann@example.com", "password": SECRET})
    target, body = "/team/v1/me/password", {"current": SECRET, "password": "another password"}

    wrong = await ann("PUT", target, {**body, "current": "wrong wrong wrong"})
    short = await ann("PUT", target, {**body, "password": "short"})
    changed = await ann("PUT", target, body)

    assert [error["pointer"] for reply in (wrong, short) for error in reply.problem["errors"]] == ["/current", "/password"]
    assert (changed.status, (await ann("GET", "/team/v1/me")).status, (await other_browser("GET", "/team/v1/me")).status) == (204, 200, 401)
    tried = [
        (await other_browser("POST", "/console/session", {"email": "ann@example.com", "password": secret})).status
        for secret in (SECRET, "another password")
    ]
    assert tried == [401, 200]
    assert (await office("PUT", target, body)).status == 403
    assert [(await ann("PUT", target, {**body, "current": "wrong wrong wrong"})).status for _ in range(4)] == [422] * 3 + [429]


async def test_export__is_for_operators_until_it_is_switched_off_and_never_for_viewers(office: Office) -> None:
    people = {role: await office.join(f"{role}@example.com", grants=grants(ours=role)) for role in ("viewer", "operator", "admin")}
    service = await office.key_of("ours", READ)
    personal = await PersonalKey.of(people["operator"])
    of_ours = {"x_client_id": "ours"}

    async def may_export() -> dict[str, set[int]]:
        found: dict[str, set[int]] = {}
        callers: dict[str, Any] = {**people, "personal": personal, "service": lambda *request: office.call(*request, **service)}
        for name, caller in callers.items():
            by_header = {} if name == "service" else of_ours
            replies = [await caller("GET", path, **by_header) if by_header else await caller("GET", path) for path in EXPORTS]
            found[name] = {reply.status for reply in replies}
        return found

    usual = await may_export()
    refused = await people["viewer"]("GET", EXPORTS[0], **of_ours)
    assert (await office("PUT", "/admin/v1/clients/ours", {"settings": {"operators_export": False}})).status == 200

    assert usual == {"viewer": {403}, "operator": {200}, "admin": {200}, "personal": {200}, "service": {200}}
    assert "ask an administrator for the role operator" in refused.json()["detail"]
    assert await may_export() == usual | {"operator": {403}, "personal": {403}}
    assert (await people["operator"]("POST", "/public/v2/contacts/exports", **of_ours)).status == 403


async def test_grant_and_personal_key__name_a_client_by_its_handle_too(office: Office) -> None:
    await office("POST", "/admin/v1/clients", {"client_id": "hidden-1", "name": "Alder", "handle": "alder"})

    mira = await office.join("mira@example.com", grants=grants(alder="operator"))
    twice = await office("PATCH", f"{USERS}/{mira.user['id']}", {"grants": [*grants(alder="operator"), *grants(**{"hidden-1": "viewer"})]})
    key = await mira("POST", "/team/v1/keys", {"name": "laptop", "scopes": [READ], "client_id": "alder"})

    assert mira.user["grants"] == grants(**{"hidden-1": "operator"})
    assert [fault["code"] for fault in twice.json()["errors"]] == ["repeated"]
    assert key.json()["client_id"] == "hidden-1"
