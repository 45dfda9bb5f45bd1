"""Typing errors in bodies and parameters, ignored members, strict handling, and the names that other products use."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.asgi_client import ApiClient

from touchbase.records.api.bodies import MOST_EXAMINED, MemberCheck, _members
from touchbase.records.api.resource_type import COMPANIES, CONTACTS

CONTACTS_PATH, COMPANIES_PATH = "/public/v2/contacts", "/public/v2/companies"
STRICT = {"prefer": "handling=strict"}
CHECK = MemberCheck(_members(CONTACTS))
WRITABLE = sorted(CHECK._members.writable)


def faults(reply: Any) -> dict[str, str]:
    assert (reply.status, reply.problem["code"]) == (422, "invalid"), reply
    return {fault["pointer"]: fault["detail"] for fault in reply.problem["errors"]}


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("Email", "email"), ("e-mail", "email"), ("emial", "email"), ("contact_email", "email"), ("firstName", "first_name"),
        ("lastname", "last_name"), ("status", "contact_status"), ("contactStatus", "contact_status"), ("linkedin", "linkedin_url"),
        ("contact_custom_field", "contact_custom_fields"), ("custom_fields", "contact_custom_fields_input"), ("companyId", "company_id"),
    ],
)  # fmt: skip
async def test_member_near_to_a_known_one__is_refused_with_the_right_name(sqlite_call: ApiClient, name: str, right: str) -> None:
    replies = [
        await sqlite_call.post(CONTACTS_PATH, {"first_name": "Ann", name: "x"}),
        await sqlite_call.patch(f"{CONTACTS_PATH}/1", {name: "x"}),
    ]

    for reply in replies:
        assert faults(reply) == {f"/{name}": f"is no member of a contact; the member is called {right}"}
    assert (await sqlite_call.get(CONTACTS_PATH)).json()["data"] == []


async def test_typing_error__is_reported_with_all_other_faults(sqlite_call: ApiClient) -> None:
    await sqlite_call.settings(contact_statuses={"statuses": ["new"]})

    reply = await sqlite_call.post(CONTACTS_PATH, {"Email": "x", "first_name": 7, "contact_status": "old", "nonsense": 1})
    company = await sqlite_call.post(COMPANIES_PATH, {"Domain": "example.com"})

    assert faults(reply).keys() == {"/Email", "/first_name", "/contact_status"}
    assert faults(company).keys() == {"/Domain", "/domain"}


async def test_other_unknown_members__are_ignored_and_named_in_a_header(call: ApiClient) -> None:
    body = {"email": "jane@example.com", "title": "CEO", "phone": "1", "id": 9, "updated_time": "x", "ünïcode, odd\n": 1}

    response = await call.post(CONTACTS_PATH, body)
    changed = await call.patch(f"{CONTACTS_PATH}/1", {"first_name": "Jane", "city": "Bern"})
    plain = await call.post(COMPANIES_PATH, {"domain": "example.com", "id": 4})

    assert (response.status, response.json()["id"]) == (201, 1)
    assert response.headers["touchbase-ignored"] == "title, phone, %C3%BCn%C3%AFcode%2C odd%0A"
    assert (changed.status, changed.headers["touchbase-ignored"]) == (200, "city")
    assert "touchbase-ignored" not in plain.headers


async def test_strict_handling__refuses_every_unknown_member_but_read_only_ones(call: ApiClient) -> None:
    custom = [{"id": 3, "updated_time": "x", "field_name": "Seats", "field_value": "4", "type": "number"}]
    refused = await call.post(CONTACTS_PATH, {"title": "CEO", "contact_custom_fields": custom}, **STRICT)
    response = await call.post(CONTACTS_PATH, {"email": "jane@example.com"}, prefer='respond-async, Handling="strict"; x=y')
    sent_back = await call.patch(f"{CONTACTS_PATH}/1", (await call.get(f"{CONTACTS_PATH}/1")).json(), **STRICT)
    lenient = await call.post(CONTACTS_PATH, {"title": "CEO", "first_name": "Jane"}, prefer="handling=lenient")

    assert faults(refused).keys() == {"/title", "/contact_custom_fields/0/type"}
    assert (response.status, response.headers["preference-applied"]) == (201, "handling=strict")
    assert (sent_back.status, sent_back.headers["preference-applied"]) == (200, "handling=strict")
    assert (lenient.status, "preference-applied" in lenient.headers) == (201, False)


async def test_misspelt_parameter_of_a_write__is_refused(sqlite_call: ApiClient) -> None:
    replies = [
        await sqlite_call.post(f"{CONTACTS_PATH}?on_duplicates=return", {}),
        await sqlite_call.post(f"{CONTACTS_PATH}?Structure=FLAT", {}),
        await sqlite_call.patch(f"{CONTACTS_PATH}/1?structur=FLAT", {}),
    ]
    response = await sqlite_call.post(f"{CONTACTS_PATH}?utm_source=x", {"first_name": "Jane"})

    assert [[*faults(reply)] for reply in replies] == [["?on_duplicates"], ["?Structure"], ["?structur"]]
    assert response.status == 201


@given(st.sampled_from(WRITABLE), st.data())
def test_any_name_with_one_wrong_letter__is_a_typing_error_or_is_known(right: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(right) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyzABCXYZ"))
    wrong = data.draw(
        st.sampled_from([right[:at] + right[at + 1 :], right[:at] + letter + right[at:], right[:at] + letter + right[at + 1 :]])
    )
    assume(wrong not in CHECK._members.names)

    unknown = CHECK.unknown(b'{"%s": 1}' % wrong.encode())

    assert [fault.pointer for fault in unknown.faults] == [f"/{wrong}"]


@given(st.dictionaries(st.text(max_size=30), st.none(), max_size=80))
def test_any_unknown_member__is_a_fault_or_ignored_and_never_both(body: dict[str, None]) -> None:
    import json

    raw, names = json.dumps(body).encode(), body.keys() - CHECK._members.names
    lenient, strict = CHECK.unknown(raw), CHECK.unknown(raw, strict=True)

    assert len(lenient.ignored) + len(lenient.faults) == len(names)
    assert set(lenient.ignored) <= names
    assert len(strict.faults) == min(len(names), MOST_EXAMINED)


@pytest.mark.parametrize(("path", "names"), [
    (CONTACTS_PATH, ("contact_custom_fields", "contact_custom_fields_input")),
    (COMPANIES_PATH, ("company_custom_fields", "company_custom_fields_input")),
])  # fmt: skip
async def test_custom_fields__have_two_names_in_requests(call: ApiClient, path: str, names: tuple[str, str]) -> None:
    seats, shown = [{"field_name": "Seats", "field_value": "4"}], names[0]
    more = [{"field_name": "Seats", "field_value": "5"}]
    responses = [await call.post(path, {"domain": f"{name}.example".replace("_", "-"), name: seats}) for name in names]
    both = await call.post(path, {"domain": "both.example", names[0]: seats, names[1]: seats})
    changed = [await call.patch(f"{path}/1", {name: value}) for name, value in ((names[0], more), (names[1], seats))]
    refused = [
        await call.post(path, {"domain": "x.example", names[0]: seats, names[1]: more}),
        await call.patch(f"{path}/1", {names[0]: seats, names[1]: None}),
    ]

    assert [[item["field_value"] for item in reply.json()[shown]] for reply in (*responses, both, *changed)] == [["4"]] * 3 + [["5"], ["4"]]
    for reply in refused:
        assert faults(reply).keys() == {f"/{name}" for name in names}


async def test_company__may_be_named_by_its_domain(call: ApiClient) -> None:
    await call.post(COMPANIES_PATH, {"domain": "example.com"})
    response = await call.post(CONTACTS_PATH, {"email": "jane@example.com", "company_id": " https://WWW.example.com/about "})
    await call.post(CONTACTS_PATH, {"email": "john@example.com"})
    changed = await call.patch(f"{CONTACTS_PATH}/2", {"company_id": "example.com"})
    unset = await call.patch(f"{CONTACTS_PATH}/2", {"company_id": " "})
    unknown = [
        await call.post(CONTACTS_PATH, {"company_id": "other.example"}),
        await call.patch(f"{CONTACTS_PATH}/2", {"company_id": "other.example"}),
    ]
    invalid = await call.post(CONTACTS_PATH, {"company_id": "17", "email": "no"})
    foreign = await call.post(CONTACTS_PATH, {"company_id": "example.com"}, x_client_id="other")

    assert (response.json()["company_id"], changed.json()["company_id"]) == (1, 1)
    assert "company_id" not in unset.json()
    assert [(reply.status, reply.problem["code"]) for reply in (*unknown, foreign)] == [(404, "not_found")] * 3
    assert faults(invalid).keys() == {"/company_id", "/email"}


def test_companies__have_their_own_names() -> None:
    check = MemberCheck(_members(COMPANIES))

    assert {name: check._search(name) for name in ("status", "company_name", "Domain", "custom_fields", "email", "title")} == {
        "status": "company_status", "company_name": "name", "Domain": "domain", "custom_fields": "company_custom_fields", "email": None,
        "title": None,
    }  # fmt: skip
