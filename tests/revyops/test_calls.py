"""The calls of the RevyOps API from one table, as its callers send them: only the base address and the key are ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response
from tests.conftest import ExecuteSql

from touchbase.auth.authentication import ADMIN, READ, WRITE, add_key
from touchbase.clients.sql.clients import find_client
from touchbase.sql.store import Store

JANE = {
    "email": "jane@example.com",
    "linkedin_url": "https://www.linkedin.com/in/jane-doe",
    "first_name": "Jane",
    "last_name": "Doe",
    "company_id": "example.com",
    "origin": "list",
    "contact_status": "new",
}
SEATS = [{"field_name": "Seats", "field_value": "40"}]
CONTACT = {
    "id", "updated_time", "first_name", "last_name", "origin", "first_campaign_email_sent", "last_campaign_email_sent",
    "last_reply_received", "previous_status", "status_changed_at", "email", "linkedin_url", "company_id", "contact_custom_fields",
    "contact_status",
}  # fmt: skip
COMPANY = {
    "id", "updated_time", "domain", "previous_status", "status_changed_at", "name", "company_custom_fields", "company_status",
}  # fmt: skip
FIELD = {"id", "updated_time", "field_name", "field_value"}
EMAIL = {
    "id", "updated_time", "email_timestamp", "contact_email", "contact_id", "agent_email", "email_type", "subject", "body_text",
    "body_html", "campaign_id", "campaign_name", "interested", "origin", "custom_fields",
}  # fmt: skip
MAIL = {
    "email_timestamp": "2026-07-20T10:00:00Z", "agent_email": "sam@agency.example", "email_type": "reply", "subject": "Re: A question",
    "body_text": "", "body_html": "<p>Yes.</p>", "campaign_id": "7", "campaign_name": "Autumn", "origin": "smartlead",
}  # fmt: skip
ENVELOPE = {"count", "total_pages", "current_page", "page_size", "results"}
Shape = Callable[[Any], bool]


def record(members: set[str], **values: object) -> Shape:
    """An object with these members, and these values among them."""
    return lambda body: set(body) == members and values.items() <= body.items()


def array(*emails: str, of: str = "email") -> Shape:
    """A bare array of the records with these values."""
    return lambda body: [item[of] for item in body] == [*emails]


def page(*emails: str, of: str = "email", flat: bool = False) -> Shape:
    """The first page of an envelope with the records with these values."""

    def holds(body: Any) -> bool:
        results = [result[of] for result in body["results"]]
        shapes = {type(value) for result in body["results"] for name, value in result.items() if name.endswith("custom_fields")}
        numbers = (body["count"], body["total_pages"], body["current_page"], body["page_size"])
        return set(body) == ENVELOPE and numbers == (len(emails), 1, 1, 100) and results == [*emails] and shapes <= {dict if flat else list}

    return holds


def problem(text: str) -> Shape:
    """A problem that says this."""
    return lambda body: text in body["detail"]


ANY: Shape = lambda body: True  # noqa: E731
V1, V2 = "/public/contacts", "/public/v2/contacts"
E1 = "/public/emails"
C1, C2 = "/public/companies", "/public/v2/companies"
LOOKUP = "lookup-by-custom-field"
CALLS: list[tuple[str, str, object, int, Shape]] = [
    # Companies first, as contacts name them.
    ("POST", C1, {"domain": "example.com", "name": "Example", "company_status": "target"}, 201, record(COMPANY, domain="example.com")),
    ("POST", C1, {"domain": "example.com"}, 409, problem("exists already")),
    ("POST", C1, {"name": "no domain"}, 422, problem("/domain")),
    ("POST", f"{C2}?structure=FLAT", {"domain": "bank.example", "name": "Bank", "company_custom_fields":
     [{"field_name": "industry", "field_value": "Banking"}]}, 201, lambda body: body["company_custom_fields"] == {"industry": "Banking"}),
    ("GET", C1, None, 200, array("example.com", "bank.example", of="domain")),
    ("GET", f"{C1}?domain=bank.example", None, 200, array("bank.example", of="domain")),
    ("GET", f"{C1}?name=example", None, 200, array("example.com", of="domain")),
    ("GET", f"{C1}?industry=banking", None, 200, array("bank.example", of="domain")),
    ("GET", f"{C1}?industry=Retail", None, 200, array(of="domain")),
    ("GET", f"{C2}?page=1&page_size=100", None, 200, page("example.com", "bank.example", of="domain")),
    ("GET", f"{C2}?page=1&industry=Banking&structure=FLAT", None, 200, page("bank.example", of="domain", flat=True)),
    ("GET", f"{C1}/{{company}}", None, 200, record(COMPANY, name="Example", company_custom_fields=[])),
    ("GET", f"{C2}/{{company}}?structure=FLAT", None, 200, record(COMPANY, company_custom_fields={})),
    ("PATCH", f"{C1}/{{company}}", {"company_custom_fields": SEATS}, 200,
     lambda body: body["company_custom_fields"][0]["field_value"] == "40"),
    ("PATCH", f"{C2}/{{company}}", {"company_status": "won"}, 200, record(COMPANY, company_status="won", previous_status="target")),
    ("GET", f"{C1}/{LOOKUP}?field_name=Seats&field_value=40", None, 200, array("example.com", of="domain")),
    ("GET", f"{C2}/{LOOKUP}?field_name=Seats&field_value=40&page=1", None, 200, page("example.com", of="domain")),
    ("POST", f"{C1}/{{company}}/custom-fields", {"field_name": "Region", "field_value": "North"}, 201, record(FIELD, field_name="Region")),
    ("POST", f"{C1}/{{company}}/custom-fields", {"field_name": "Region", "field_value": "South"}, 409, problem("'Region' already")),
    # Contacts.
    ("POST", V1, {**JANE, "contact_custom_fields": SEATS}, 201, record(CONTACT, email="jane@example.com", contact_status="new")),
    ("POST", V1, {"email": "JANE@example.com"}, 409, problem("exists already")),
    ("POST", V1, {"linkedin_url": "linkedin.com/in/jane-doe/"}, 409, problem("exists already")),
    ("POST", V1, {"email": "n/a"}, 422, problem("/email")),
    ("POST", V1, {"email": "no@company.example", "company_id": 999_999_999}, 404, problem("no company with id 999999999")),
    ("POST", V1, {"email": "no@company.example", "company_id": "unknown.example"}, 404, problem("unknown.example")),
    ("POST", V2, {"email": "no@company.example", "company_id": "unknown.example"}, 404, problem("unknown.example")),
    ("POST", f"{V2}?structure=FLAT", {"email": "john@example.com", "first_name": "John", "contact_custom_fields_input": SEATS}, 201,
     lambda body: body["contact_custom_fields"] == {"Seats": "40"}),
    ("GET", V1, None, 200, array("jane@example.com", "john@example.com")),
    ("GET", f"{V1}?email=John@example.com", None, 200, array("john@example.com")),
    ("GET", f"{V1}?firstname=jane", None, 200, array("jane@example.com")),
    ("GET", f"{V1}?lastname=Doe", None, 200, array("jane@example.com")),
    ("GET", f"{V1}?linkedin_url=linkedin.com/in/jane-doe", None, 200, array("jane@example.com")),
    ("GET", f"{V1}?domain=example.com", None, 200, array("jane@example.com")),
    ("GET", f"{V1}?domain=bank.example", None, 200, array()),
    ("GET", f"{V1}?email=nobody@example.com", None, 200, array()),
    ("GET", f"{V1}?frstname=jane", None, 422, problem("first_name")),
    ("GET", f"{V2}?page=1&page_size=100&structure=FLAT", None, 200, page("jane@example.com", "john@example.com", flat=True)),
    ("GET", f"{V2}?page_size=1", None, 200,
     lambda body: (body["count"], body["total_pages"], body["current_page"], body["page_size"], len(body["results"])) == (2, 2, 1, 1, 1)),
    ("GET", f"{V2}?page=1&firstname=John&lastname=Doe", None, 200, page()),
    ("GET", f"{V2}?page=1&domain=example.com", None, 200, page("jane@example.com")),
    ("GET", f"{V2}?page=3", None, 200, lambda body: (body["count"], body["current_page"], body["results"]) == (2, 3, [])),
    ("GET", f"{V2}?page=0", None, 422, problem("?page")),
    ("GET", f"{V2}?page_size=101", None, 422, problem("?page_size")),
    ("GET", f"{V2}?page=1&firstname=", None, 422, problem("?firstname")),
    ("GET", f"{V1}/{{contact}}", None, 200, record(CONTACT, last_name="Doe")),
    ("GET", f"{V2}/{{contact}}?structure=FLAT", None, 200, record(CONTACT, contact_custom_fields={"Seats": "40"})),
    ("GET", f"{V1}/{{contact}}?structure=FLAT", None, 200, lambda body: body["contact_custom_fields"][0]["field_name"] == "Seats"),
    ("GET", f"{V1}/999999999", None, 404, problem("no contact")),
    ("GET", f"{V1}/{{theirs}}", None, 404, problem("no contact")),
    ("GET", f"{C1}/{{their_company}}", None, 404, problem("no company")),
    ("PATCH", f"{V1}/{{contact}}", {"contact_custom_fields": [{"field_name": "Tier", "field_value": "A"}]}, 200,
     lambda body: [custom_field["field_name"] for custom_field in body["contact_custom_fields"]] == ["Seats", "Tier"]),
    ("PATCH", f"{V2}/{{contact}}?structure=FLAT", {"contact_custom_fields": [{"field_name": "Tier", "field_value": "B"}]}, 200,
     lambda body: body["contact_custom_fields"] == {"Seats": "40", "Tier": "B"}),
    ("PATCH", f"{V1}/{{contact}}", {"company_id": 999_999_999}, 404, problem("no company with id 999999999")),
    ("PATCH", f"{V1}/{{contact}}", {"company_id": "unknown.example"}, 404, problem("unknown.example")),
    ("PATCH", f"{V1}/{{contact}}", {"email": "john@example.com"}, 409, problem("leave this field out")),
    ("PATCH", f"{V1}/{{theirs}}", {"first_name": "x"}, 404, problem("no contact")),
    ("GET", f"{V1}/{LOOKUP}?field_name=Seats&field_value=40", None, 200, array("jane@example.com", "john@example.com")),
    ("GET", f"{V1}/{LOOKUP}?field_name=Tier&field_value=b", None, 200, array("jane@example.com")),
    ("GET", f"{V1}/{LOOKUP}?field_name=None&field_value=b", None, 200, array()),
    ("GET", f"{V1}/{LOOKUP}?field_name=Tier", None, 422, problem("?field_value must be given")),
    ("GET", f"{V1}/{LOOKUP}?field_value=b&field_name=", None, 422, problem("?field_name must not be blank")),
    ("GET", f"{V2}/{LOOKUP}?field_name=Tier&field_value=B", None, 200, page("jane@example.com")),
    ("GET", f"{V2}/{LOOKUP}?field_name=Tier&field_value=B&page=1&page_size=100&structure=FLAT", None, 200,
     page("jane@example.com", flat=True)),
    # One custom field.
    ("POST", f"{V1}/{{contact}}/custom-fields", {"field_name": "Size [EU]", "field_value": "L"}, 200, record(FIELD, field_value="L")),
    ("GET", f"{V1}/{LOOKUP}?field_name=Size%20%5BEU%5D&field_value=L", None, 200, array("jane@example.com")),
    ("POST", f"{V1}/{{contact}}/custom-fields", {"field_name": " Seats ", "field_value": "41"}, 409, problem("'Seats' already")),
    ("POST", f"{V1}/{{contact}}/custom-fields", {"field_name": " ", "field_value": "41"}, 422, problem("/field_name must not be blank")),
    ("POST", f"{V1}/{{contact}}/custom-fields", {"field_name": "Seats"}, 422, problem("/field_value")),
    ("POST", f"{V1}/{{theirs}}/custom-fields", {"field_name": "Seats", "field_value": "1"}, 404, problem("no contact")),
    ("PATCH", f"{V1}/{{contact}}/custom-fields/{{field}}", {"field_name": "Seats", "field_value": "42"}, 200,
     record(FIELD, field_name="Seats", field_value="42")),
    ("PATCH", f"{V1}/{{contact}}/custom-fields/{{field}}", {"field_value": "43"}, 200, record(FIELD, field_value="43")),
    ("PATCH", f"{V1}/{{contact}}/custom-fields/{{field}}", {"field_name": "Chairs", "field_value": "43"}, 422, problem("/field_name")),
    ("PATCH", f"{V1}/{{contact}}/custom-fields/999999999", {"field_value": "43"}, 404, problem("no custom field")),
    ("PATCH", f"{V1}/{{contact}}/custom-fields/{{their_field}}", {"field_value": "43"}, 404, problem("no custom field")),
    ("DELETE", f"{V1}/{{contact}}/custom-fields/{{their_field}}", None, 404, problem("no custom field")),
    ("DELETE", f"{V1}/{{contact}}/custom-fields/{{field}}", None, 200, record(FIELD, field_name="Seats", field_value="43")),
    ("DELETE", f"{V1}/{{contact}}/custom-fields/{{field}}", None, 404, problem("no custom field")),
    ("POST", f"{V1}/{{contact}}/custom-fields", {"field_name": "Seats", "field_value": "50"}, 200, record(FIELD, field_value="50")),
    # E-mails.
    ("POST", E1, {**MAIL, "contact_email": "JANE@example.com", "custom_fields": SEATS}, 201,
     record(EMAIL, contact_email="jane@example.com", email_type="reply", interested=False, agent_email="sam@agency.example")),
    ("POST", E1, {**MAIL, "contact_email": "john@example.com", "email_type": "sent", "subject": "A question"}, 201,
     record(EMAIL, email_type="sent", custom_fields=[])),
    ("POST", E1, {**MAIL, "contact_email": "nobody@example.com"}, 404, problem("create the contact first")),
    ("POST", E1, {**MAIL, "contact_id": 999_999_999}, 404, problem("no contact")),
    ("POST", E1, MAIL, 422, problem("contact_email")),
    ("POST", E1, {**MAIL, "contact_email": "jane@example.com", "email_type": "bounce"}, 422, problem("/email_type must be sent or reply")),
    ("POST", E1, {**MAIL, "contact_email": "jane@example.com", "body": "x"}, 422, problem("/body")),
    ("POST", E1, {**MAIL, "contact_email": "jane@example.com", "email_timestamp": "soon"}, 422, problem("/email_timestamp")),
    ("GET", E1, None, 200, array("john@example.com", "jane@example.com", of="contact_email")),
    ("GET", f"{E1}?page=2&page_size=1", None, 200, array("jane@example.com", of="contact_email")),
    ("GET", f"{E1}?contact_email=Jane@example.com&campaign_id=7&origin=smartlead", None, 200, array("Re: A question", of="subject")),
    ("GET", f"{E1}?subject=A%20question", None, 200, array("john@example.com", of="contact_email")),
    ("GET", f"{E1}?origin=instantly", None, 200, array()),
    ("GET", f"{E1}?page=0", None, 422, problem("?page")),
    ("GET", f"{E1}?sender=x", None, 422, problem("sender")),
    ("GET", f"{E1}/{{email}}", None, 200, record(EMAIL, subject="Re: A question", body_text="Yes.", body_html="<p>Yes.</p>")),
    ("GET", f"{E1}/{{their_email}}", None, 404, problem("no e-mail")),
    ("POST", f"{E1}/set-interested", {"email": "jane@example.com", "subject": "Re: A question", "disposition": "meeting"}, 200,
     lambda body: body["interested"] is True and [item["field_value"] for item in body["custom_fields"]] == ["40", "meeting"]),
    ("POST", f"{E1}/set-interested", {"email": "jane@example.com", "subject": "Another"}, 404, problem("this subject")),
    ("POST", f"{E1}/set-interested", {"email": "n/a", "subject": "Another"}, 422, problem("/email")),
    ("POST", f"{E1}/{{email}}/custom-fields", {"field_name": "Tone", "field_value": "warm"}, 201, record(FIELD, field_value="warm")),
    ("POST", f"{E1}/{{email}}/custom-fields", {"field_name": "Tone", "field_value": "cold"}, 409, problem("'Tone' already")),
    ("POST", f"{E1}/{{email}}/custom-fields", {"field_name": "Tone", "field_value": " "}, 422, problem("/field_value must not be blank")),
    ("POST", f"{E1}/{{their_email}}/custom-fields", {"field_name": "Tone", "field_value": "cold"}, 404, problem("no e-mail")),
    ("DELETE", f"{E1}/{{email}}/custom-fields/{{email_field}}", None, 200, record(FIELD, field_name="Tone", field_value="warm")),
    ("DELETE", f"{E1}/{{email}}/custom-fields/{{email_field}}", None, 404, problem("no custom field")),
    ("GET", f"{E1}/{{email}}", None, 200, lambda body: [item["field_name"] for item in body["custom_fields"]] == ["Seats", "disposition"]),
    ("DELETE", f"{E1}/{{their_email}}", None, 404, problem("no e-mail")),
    ("DELETE", f"{E1}/{{email}}", None, 200, record(EMAIL, subject="Re: A question")),
    ("DELETE", f"{E1}/{{email}}", None, 404, problem("no e-mail")),
    # Deleting.
    ("DELETE", f"{V1}/{{contact}}", None, 200, record(CONTACT, email="jane@example.com")),
    ("DELETE", f"{V1}/{{contact}}", None, 404, problem("was deleted")),
    ("DELETE", f"{V1}/{{theirs}}", None, 404, problem("no contact")),
    ("GET", V1, None, 200, array("john@example.com")),
    ("DELETE", f"{C1}/{{company}}", None, 200, record(COMPANY, domain="example.com")),
    ("DELETE", f"{V2}/{{john}}", None, 200, ANY),
    # Not for a key of one client.
    ("GET", "/public/contacts-master-list", None, 403, problem("admin")),
    ("GET", "/public/v2/companies-master-list", None, 403, problem("admin")),
]  # fmt: skip
"""Method, path, body, status, and what the response must be; in this order, each on what those before it have left."""
MASTER: list[tuple[str, int, Shape]] = [
    ("/public/contacts-master-list", 200, array("jane@example.com", "john@example.com", "jane@example.com")),
    ("/public/contacts-master-list", 200, array("acme", "acme", "beta", of="client_id")),
    ("/public/contacts-master-list?email=jane@example.com", 200, array("acme", "beta", of="client_id")),
    ("/public/contacts-master-list?domain=theirs.example", 200, array("beta", of="client_id")),
    ("/public/contacts-master-list/{theirs}", 200, lambda body: set(body) == CONTACT | {"client_id"} and body["client_id"] == "beta"),
    ("/public/contacts-master-list/999999999", 404, problem("no contact")),
    (f"/public/contacts-master-list/{LOOKUP}?field_name=Seats&field_value=40", 200, array("acme", "beta", of="client_id")),
    ("/public/companies-master-list", 200, array("example.com", "theirs.example", of="domain")),
    ("/public/companies-master-list/{their_company}", 200, lambda body: body["client_id"] == "beta"),
    (f"/public/companies-master-list/{LOOKUP}?field_name=Seats&field_value=40", 200, array(of="domain")),
    ("/public/v2/contacts-master-list", 200, page("acme", "acme", "beta", of="client_id")),
    ("/public/v2/contacts-master-list?firstname=jane&page=1&structure=FLAT", 200, page("acme", "beta", of="client_id", flat=True)),
    ("/public/v2/contacts-master-list?firstname=", 422, problem("?firstname")),
    ("/public/v2/contacts-master-list/{theirs}?structure=FLAT", 200, lambda body: body["contact_custom_fields"] == {"Seats": "40"}),
    (f"/public/v2/contacts-master-list/{LOOKUP}?field_name=Seats&field_value=40", 200, page("acme", "beta", of="client_id")),
    ("/public/v2/companies-master-list?page=1&page_size=100", 200, page("acme", "beta", of="client_id")),
    ("/public/v2/companies-master-list/{their_company}", 200, lambda body: set(body) == COMPANY | {"client_id"} - {"name", "company_status"}
     or body["client_id"] == "beta"),
    (f"/public/v2/companies-master-list/{LOOKUP}?field_name=Seats&field_value=40", 200, page(of="domain")),
]  # fmt: skip
"""Path, status and response for a key of all clients."""


@dataclass
class Callers:
    """The server, and two callers of the API with keys of their own."""

    call: ApiClient
    keys: dict[str, str]

    async def __call__(self, who: str, method: str, target: str, body: object = None, **headers: str) -> Response:
        """Send a request as the API's callers do: the key in `x-api-key`."""
        return await self.call(method, target, body, x_api_key=self.keys[who], **headers)

    async def create(self, who: str, target: str, body: object) -> Any:
        """Create a record; return it."""
        reply = await self(who, "POST", target, body)
        assert reply.status == 201, reply
        return reply.json()


@pytest.fixture
async def callers(store: Store, make_client: MakeClient) -> Callers:
    """The clients `acme` and `beta`, each with a key, and a key of all clients."""
    opened, call, keys = make_client(store), make_client(store, auth="api-key"), {}
    for name in ("acme", "beta"):
        await opened.settings(name)
        client = await store.read(find_client(name))
        assert client is not None
        keys[name] = await add_key(store, client.number, (READ, WRITE), name, call.clock.now)
        keys[f"{name} administrator"] = await add_key(store, client.number, (ADMIN,), name, call.clock.now)
    keys["reader"] = await add_key(store, None, (READ,), "reader", call.clock.now)
    keys["master"] = await add_key(store, None, (ADMIN,), "master", call.clock.now)
    return Callers(call, keys)


async def theirs(callers: Callers) -> dict[str, object]:
    """Records of the other client; return their ids by the names in the tables."""
    company = await callers.create("beta", C1, {"domain": "theirs.example"})
    contact = await callers.create("beta", V1, {**JANE, "company_id": company["id"], "contact_custom_fields": SEATS})
    email = await callers.create("beta", E1, {**MAIL, "contact_id": contact["id"]})
    field = contact["contact_custom_fields"][0]["id"]
    return {"theirs": contact["id"], "their_company": company["id"], "their_field": field, "their_email": email["id"]}


@pytest.mark.parametrize("before", ["", "/api"])
async def test_revyops_calls__respond_as_their_callers_expect(callers: Callers, before: str, subtests: pytest.Subtests) -> None:
    expected = await theirs(callers)
    for number, (method, path, body, status, shape) in enumerate(CALLS):
        target = path.format(**expected) if "{" in path else path
        reply = await callers("acme", method, f"{before}{target}", body)
        with subtests.test(f"{number} {method} {path}"):
            assert reply.status == status, reply
            assert shape(reply.json()), reply
        if reply.status == 201 and path == C1:
            expected.setdefault("company", reply.json()["id"])
        elif reply.status == 201 and path == V1:
            expected |= {"contact": reply.json()["id"], "field": reply.json()["contact_custom_fields"][0]["id"]}
        elif reply.status == 201 and path.startswith(E1):
            expected.setdefault("email_field" if "{" in path else "email", reply.json()["id"])
        elif reply.status == 201:
            expected["john"] = reply.json()["id"]


async def test_master_lists__have_the_records_of_all_clients(callers: Callers, subtests: pytest.Subtests) -> None:
    company = await callers.create("acme", C1, {"domain": "example.com"})
    await callers.create("acme", V1, {**JANE, "company_id": company["id"], "contact_custom_fields": SEATS})
    await callers.create("acme", V1, {"email": "john@example.com"})
    expected = await theirs(callers)

    for number, (path, status, shape) in enumerate(MASTER):
        with subtests.test(f"{number} {path}"):
            reply = await callers("master", "GET", path.format(**expected) if "{" in path else path)

            assert reply.status == status, reply
            assert shape(reply.json()), reply


async def test_master_lists__show_an_administrator_of_one_client_that_client_only(callers: Callers, subtests: pytest.Subtests) -> None:
    await callers.create("acme", V1, {"email": "john@example.com", "contact_custom_fields": SEATS})
    expected = await theirs(callers)
    who = "acme administrator"

    for path in ("/public/contacts-master-list", f"/public/contacts-master-list/{LOOKUP}?field_name=Seats&field_value=40"):
        with subtests.test(path):
            assert [item["client_id"] for item in (await callers(who, "GET", path)).json()] == ["acme"]
    for path in ("/public/v2/contacts-master-list", f"/public/v2/contacts-master-list/{LOOKUP}?field_name=Seats&field_value=40"):
        with subtests.test(path):
            body = (await callers(who, "GET", path)).json()
            assert ([result["client_id"] for result in body["results"]], body["count"]) == (["acme"], 1)
    assert (await callers(who, "GET", f"/public/contacts-master-list/{expected['theirs']}")).status == 404
    assert (await callers("acme", "GET", "/public/contacts-master-list")).status == 403


async def test_master_lists__are_read_with_a_read_only_key_of_all_clients_in_its_own_header(callers: Callers) -> None:
    for client in ("acme", "beta"):
        await callers.create(client, V1, {"email": f"john@{client}.example"})
    key = callers.keys["reader"]

    plain = await callers.call("GET", "/public/contacts-master-list", x_master_api_key=key)
    numbered = await callers.call("GET", "/public/v2/contacts-master-list", x_master_api_key=key)
    writing = await callers.call("POST", V1, {"email": "joe@acme.example"}, x_master_api_key=key, x_client_id="acme")

    assert [item["client_id"] for item in plain.json()] == ["acme", "beta"]
    assert (numbered.status, numbered.json()["count"], writing.status) == (200, 2, 403)


async def test_v1_calls__refuse_a_missing_or_wrong_key_with_403(callers: Callers, subtests: pytest.Subtests) -> None:
    for path in (V1, f"{V1}/1", f"{V1}/{LOOKUP}?field_name=a&field_value=b", C1, "/public/contacts-master-list", E1):
        with subtests.test(path):
            nothing = await callers.call("GET", path)
            wrong = await callers.call("GET", path, x_api_key="tb_live_nothing")
            also = await callers.call("GET", path, x_master_api_key="tb_live_nothing")

            assert (nothing.status, wrong.status, also.status) == (403, 403, 403)
            assert "key" in wrong.problem["detail"]
    assert (await callers.call("POST", V1, {"email": "a@x.co"}, x_api_key="tb_live_nothing")).status == 403
    assert (await callers.call("GET", V2, x_api_key="tb_live_nothing")).status == 401
    assert (await callers.call("GET", "/public/v2/contacts-master-list", x_api_key="tb_live_nothing")).status == 401
    assert (await callers("reader", "POST", V1, {"email": "a@x.co"}, x_client_id="acme")).status == 403


async def test_custom_field_post__runs_once_with_an_idempotency_key(callers: Callers) -> None:
    number = (await callers.create("acme", V1, {"email": "jane@example.com"}))["id"]
    field = {"field_name": "Seats", "field_value": "40"}

    first, again = [await callers("acme", "POST", f"{V1}/{number}/custom-fields", field, idempotency_key="k1") for _ in range(2)]

    assert (first.status, again.status) == (200, 200)
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert (await callers("acme", "POST", f"{V1}/{number}/custom-fields", field)).status == 409


async def test_custom_field_post__leaves_no_stored_value_of_an_erased_person(callers: Callers, execute_sql: ExecuteSql) -> None:
    number = (await callers.create("acme", V1, {"email": "jane@example.com"}))["id"]
    field = {"field_name": "Note", "field_value": "a secret of Jane's"}
    await callers("acme", "POST", f"{V1}/{number}/custom-fields", field, idempotency_key="k1")

    erased = await callers("acme administrator", "DELETE", f"{V2}/{number}?erase=true")

    assert erased.status == 200
    stored = await execute_sql("SELECT * FROM idempotency_key")
    assert "secret of Jane" not in str([bytes(value) if isinstance(value, memoryview) else value for row in stored for value in row])


@pytest.mark.parametrize("target", ["/api/public/crm-webhook/acme", "/api/admin/v1/contacts", "/api/openapi.json"])
async def test_api_prefix__is_for_records_only(call: ApiClient, target: str) -> None:
    assert (await call.post(target, {})).status == 404


async def test_v1_create__is_the_same_request_under_both_addresses(callers: Callers) -> None:
    """An idempotency key holds for the record, whichever address a retry uses."""
    first, again = [
        await callers("acme", "POST", f"{before}{V1}", {"email": "a@x.example"}, idempotency_key="k1") for before in ("", "/api")
    ]

    assert (first.status, again.status, again.json()) == (201, 201, first.json())


async def test_v1_delete__moves_the_record_into_the_bin(callers: Callers) -> None:
    number = (await callers.create("acme", V1, {"email": "jane@example.com"}))["id"]

    refused = [await callers("acme", "DELETE", f"{V1}/{number}?{word}=true") for word in ("erase", "dry_run")]
    await callers("acme", "DELETE", f"{V1}/{number}")

    assert [item.status for item in refused] == [422, 422]
    assert (await callers("acme", "POST", f"{V2}/{number}/restore")).status == 200


async def test_custom_field_change__is_in_the_history_with_its_key(callers: Callers) -> None:
    number = (await callers.create("acme", V1, {"email": "jane@example.com"}))["id"]
    field = (await callers("acme", "POST", f"{V1}/{number}/custom-fields", {"field_name": "Seats", "field_value": "40"})).json()
    callers.call.clock.move(10)
    await callers("acme", "PATCH", f"{V1}/{number}/custom-fields/{field['id']}", {"field_value": "41"})

    history = (await callers("acme", "GET", f"{V2}/{number}/history?field=cf.Seats")).json()["data"]

    assert [item["value"] for item in history] == ["41", "40"]
    assert all(item["set_by"]["key_id"] for item in history)


async def test_custom_field_post__adds_a_name_once_under_many_at_once(callers: Callers) -> None:
    number = (await callers.create("acme", V1, {"email": "jane@example.com"}))["id"]
    fields = [{"field_name": "Seats", "field_value": str(index)} for index in range(5)]

    replies = await asyncio.gather(*(callers("acme", "POST", f"{V1}/{number}/custom-fields", field) for field in fields))

    assert sorted(reply.status for reply in replies) == [200, 409, 409, 409, 409]
    added = next(reply.json()["field_value"] for reply in replies if reply.status == 200)
    assert (await callers("acme", "GET", f"{V2}/{number}?structure=FLAT")).json()["contact_custom_fields"] == {"Seats": added}
