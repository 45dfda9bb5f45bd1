"""A refused request of any content is answered within bounds: at most 50 faults, names cut before they are compared."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient
from tests.examples import examples
from tests.http.test_body_errors import WANTED, bodies

from touchbase.common import misspelt
from touchbase.common.misspelt import LONGEST_COMPARED, MOST_COMPARED, suggest
from touchbase.errors import MOST_FAULTS, Fault, Invalid
from touchbase.http.body_errors import decode_leniently, first_fault, parse_json
from touchbase.http.request_body import MOST_VALUES, check_structure
from touchbase.imports.columns import Mapping, resolve

LONGEST_ANSWER = 64 * 1024
"""Bytes of a problem response, whatever was sent."""
NAMES = {f"nme{number}": 1 for number in range(30_000)}
SEARCH, CONTACTS, BATCH = "/public/v2/contacts/search", "/public/v2/contacts", "/public/v2/contacts/batch"
ENDPOINTS, CONNECTIONS = "/public/v2/webhook-endpoints", "/admin/v1/clients/default/connections"
ENDPOINT = {"url": "https://example.com/hook"}
HOSTILE: dict[str, tuple[str, str, Any]] = {
    "unknown names": ("POST", SEARCH, {"where": NAMES}),
    "unknown members": ("POST", SEARCH, NAMES),
    "unknown operators": ("POST", SEARCH, {"where": {f"email[{name}]": 1 for name in NAMES}}),
    "numbers for objects": ("POST", SEARCH, {"where": {"any": [1] * 300_000}}),
    "empty objects": ("POST", SEARCH, {"where": {"any": [{}] * 1_000}}),
    "nested empty objects": ("POST", SEARCH, {"where": {"any": [{"any": [{}] * 50}] * 50}}),
    "long name": ("POST", SEARCH, {"where": {"e" * 900_000: 1}}),
    "values of in": ("POST", SEARCH, {"where": {"email[in]": [1] * 300_000}}),
    "fields": ("POST", SEARCH, {"fields": [*NAMES]}),
    "sort": ("POST", SEARCH, {"sort": [*NAMES]}),
    "fields of an export": ("GET", f"{CONTACTS}/export?fields={','.join(list(NAMES)[:3_000])}", None),
    "types of events": ("GET", f"/public/v2/events?types={','.join(list(NAMES)[:3_000])}", None),
    "repeated parameter": ("GET", f"{CONTACTS}?{'&'.join(['status=x'] * 5_000)}", None),
    "custom fields": ("POST", CONTACTS, {"contact_custom_fields_input": [{"a": 1}] * 20_000}),
    "custom fields without names": ("PUT", f"{CONTACTS}?match=email", {"contact_custom_fields_input": [{"field_value": 1}] * 20_000}),
    "commands": ("POST", BATCH, {"commands": [1] * 300_000}),
    "faults in commands": ("POST", BATCH, {"commands": [{"op": "create", "body": {"email": 1, "name": 2}}] * 1_000, "atomic": True}),
    "types of an endpoint": ("POST", ENDPOINTS, ENDPOINT | {"types": [*NAMES]}),
    "fields of an endpoint": ("POST", ENDPOINTS, ENDPOINT | {"fields": [f"nme{number}" for number in range(100)]}),
    "filter of an endpoint": ("POST", ENDPOINTS, ENDPOINT | {"filter": {"contact": NAMES}}),
    "filters of an endpoint": ("POST", ENDPOINTS, ENDPOINT | {"filter": {name: {} for name in NAMES}}),
    "template": ("POST", ENDPOINTS, ENDPOINT | {"kind": "slack", "template": "".join(f"{{{{a{n}}}}}" for n in range(1_000))}),
    "items of a lookup": ("POST", f"{CONTACTS}/match", {"items": [{"a": 1}] * 50_000}),
    "entries": ("POST", "/public/v2/suppressions", {"entries": [{"value": 1}] * 50_000}),
    "statuses": ("PUT", "/admin/v1/clients/default", {"settings": {"contact_statuses": [1] * 100_000}}),
    "declared types": ("PUT", "/admin/v1/clients/default", {"settings": {"contact_fields": {name: {"type": 1} for name in NAMES}}}),
    "declared fields": ("POST", CONNECTIONS, {"channel": "crm", "tool": "x", "fields": NAMES}),
    "choices of a merge": ("POST", f"{CONTACTS}/1/merge", {"records": [2], "from_ids": NAMES}),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_request__has_a_short_refusal(sqlite_call: ApiClient, name: str) -> None:
    method, path, body = HOSTILE[name]

    reply = await sqlite_call(method, path, body)

    assert 400 <= reply.status < 500, reply
    assert len(reply.problem.get("errors", [])) <= MOST_FAULTS
    assert len(reply.body) <= LONGEST_ANSWER


async def test_problem__says_how_many_faults_there_are(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.post(ENDPOINTS, ENDPOINT | {"types": [f"nme{number}" for number in range(90)]})

    assert len(reply.problem["errors"]) == 50
    assert reply.problem["detail"].endswith("(90 faults; errors has the first 50)")


async def test_batch__lists_a_thousand_faults_and_the_first_of_each_other_command(sqlite_call: ApiClient) -> None:
    command = {"op": "create", "body": {"contact_custom_fields_input": [{"a": 1}] * 40}}

    reply = await sqlite_call.post(BATCH, {"commands": [command] * 200})

    listed = [len(item["problem"]["errors"]) for item in reply.json()["results"]]
    assert len(listed) == 200
    assert max(listed) <= 50
    assert sum(listed) <= 1_200
    assert min(listed) == 1


async def test_long_invalid_body__has_its_first_fault(sqlite_call: ApiClient) -> None:
    fields = [{"field_name": "a", "field_value": "x" * 9_000}] * 40 + [{"field_name": 5, "field_value": 5}]

    reply = await sqlite_call.post(CONTACTS, {"contact_custom_fields_input": fields})

    [fault] = reply.problem["errors"]
    assert fault == {"pointer": "/contact_custom_fields_input/40/field_name", "code": "type", "detail": "must be a text, not an integer"}


async def test_long_body_with_nul__is_refused_and_one_with_its_text_is_taken(sqlite_call: ApiClient) -> None:
    def body(end: str) -> bytes:
        return json.dumps({"email": "a@example.com", "first_name": end, "ignored": "x" * 300_000}).encode()

    refused = await sqlite_call("POST", CONTACTS, raw=body("\0"), content_type="application/json")
    taken = await sqlite_call("POST", CONTACTS, raw=body("\\u0000"), content_type="application/json")

    assert refused.status == 422
    assert "NUL" in refused.problem["detail"]
    assert taken.status == 201, taken


@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_first_fault__is_among_all_faults(data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(WANTED))
    body = json.dumps(data.draw(bodies(wanted))).encode()
    assume(not any(constant in body for constant in (b"NaN", b"Infinity")))  # no JSON, which has one fault of another kind

    try:
        msgspec.json.decode(body, type=wanted)
    except msgspec.ValidationError as error:
        first = first_fault(error)
        _, faults = decode_leniently(parse_json(body), wanted)
        assert any(fault.pointer.startswith(first.pointer) or first.pointer.startswith(fault.pointer) for fault in faults), (first, faults)
    except msgspec.DecodeError:
        pass


@pytest.mark.parametrize("body", [b'{"a":[' + b"1," * MOST_VALUES + b"1]}", b'["' + b'","' * 3 * MOST_VALUES + b'"]', b"[" * 3_000_000])
def test_check_structure__refuses_too_many_values(body: bytes) -> None:
    with pytest.raises(Invalid, match="more than 1,000,000 values"):
        check_structure(body, 64)


@settings(max_examples=examples(25), deadline=None)
@given(st.recursive(st.none() | st.text('a[{",\\}]'), lambda inner: st.lists(inner) | st.dictionaries(st.text('[{",\\'), inner)))
def test_check_structure__takes_any_json_whatever_its_texts(value: Any) -> None:
    check_structure(json.dumps(value).encode(), 64)


def test_mapping__of_many_unknown_columns_and_targets_has_bounded_faults() -> None:
    header = [f"column {number}" for number in range(1_000)]
    mapping = Mapping("contact", dict.fromkeys([*header, *(f"colunm {number}" for number in range(20_000))], "frist_name"))

    with pytest.raises(Invalid) as refused:
        resolve(mapping, header)

    assert refused.value.more > 20_000
    assert len(str(refused.value)) <= LONGEST_ANSWER


def test_invalid__counts_what_it_does_not_list() -> None:
    error = Invalid([Fault(f"/{number}", "x", "y") for number in range(60)], more=7)

    assert (len(error.faults), error.more) == (50, 17)


def test_suggest__compares_a_bounded_part_of_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(misspelt, "get_close_matches", lambda name, expected, *_: compared.append((name, expected)) or [])

    suggest("x" * 1_000_000, (f"{number:05}" * 100 for number in range(100_000)))

    [(name, expected_value)] = compared
    assert len(name) == LONGEST_COMPARED
    assert len(expected_value) <= MOST_COMPARED
    assert max(map(len, expected_value)) <= LONGEST_COMPARED


@pytest.mark.parametrize(("name", "near"), [("emial", "email"), ("linkedin", "linkedin_url"), ("zzz", None)])
def test_suggest__finds_the_nearest_name(name: str, near: str | None) -> None:
    assert suggest(name, ["first_name", "email", "linkedin_url", *(f"cf.{number}" for number in range(200))]) == near
