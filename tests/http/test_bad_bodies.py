"""Interface 7: every body that cannot be read or taken, with the status and the words of its refusal."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from tests.asgi_client import ApiClient

from touchbase.http.request_body import MOST_PIECES

CONTACTS = "/public/v2/contacts"
SMALL = b'{"first_name":"Jane"}'
CUSTOM = "/contact_custom_fields_input"


def long(name: str, length: int) -> bytes:
    return json.dumps({name: "x" * length}).encode()


async def refusal(call: ApiClient, raw: bytes, **headers: str) -> dict[str, Any]:
    """The problem that a body meets, the same wherever a record's fields are taken."""
    headers = {"content-type": "application/json", **headers}
    created = await call("POST", CONTACTS, raw=raw, **headers)
    await call.post(CONTACTS, {"first_name": "Jane"})
    changed = await call("PATCH", f"{CONTACTS}/1", raw=raw, **headers)
    assert created.status >= 400, created
    assert changed.problem == created.problem
    assert created.problem["status"] == created.status
    return created.problem


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"", "the body is empty; send a JSON object, {} if there are no members"),
        (b" \n", "the body is empty; send a JSON object, {} if there are no members"),
        (b"{", "the body is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"nonsense", "the body is not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b'{"email": "a@example.com"', "the body is not JSON: Expecting ',' delimiter: line 1 column 26 (char 25)"),
        (b'{"email": "a@example.com"} x', "the body is not JSON: Extra data: line 1 column 28 (char 27)"),
        (b'{"email": NaN}', "the body is not JSON: NaN is no JSON value"),
        (b'{"company_id": Infinity}', "the body is not JSON: Infinity is no JSON value"),
        (b'{"unknown": -Infinity}', "the body is not JSON: -Infinity is no JSON value"),
        (b'{"company_id": 01}', "the body is not JSON: Expecting ',' delimiter: line 1 column 17 (char 16)"),
        (b'{"first_name": "a\x00b"}', "the body is not JSON: Invalid control character at: line 1 column 18 (char 17)"),
        (b'{"first_name": "\xff"}', "the body is not UTF-8: byte 16 cannot be read"),
        (
            b"\xef\xbb\xbf{}",
            "the body begins with a byte order mark (EF BB BF), which JSON must not have; save it as UTF-8 without one",
        ),
        (b'{"unknown": "\xff"}', "the body is not UTF-8: byte 13 cannot be read"),
        (b'{"first_name": "\xed\xa0\x80"}', "the body is not UTF-8: byte 16 cannot be read"),
        ('{"first_name": "é"}'.encode("utf-16"), "the body is not UTF-8: byte 0 cannot be read"),
        (b"[" * 100_000, "the body is nested deeper than 64 levels, or its brackets do not match"),
        (b'{"x":' * 50_000 + b"1" + b"}" * 50_000, "the body is nested deeper than 64 levels, or its brackets do not match"),
        (b'{"x":' + b"[" * 64 + b"]" * 64 + b"}", "the body is nested deeper than 64 levels, or its brackets do not match"),
        (b'{"first_name": 5, "first_name": "a"}', "the body cannot be decoded at `$.first_name`; perhaps it has one name twice"),
        (b"[" * 40 + b"}" * 40, "the body is not JSON: Expecting value: line 1 column 41 (char 40)"),
    ],
    ids=lambda value: str(value[:30]),
)
async def test_malformed_body__gets_400(sqlite_call: ApiClient, raw: bytes, detail: str) -> None:
    assert await refusal(sqlite_call, raw) == {
        "type": "about:blank",
        "title": "Bad Request",
        "status": 400,
        "detail": detail,
        "code": "malformed_body",
    }


@pytest.mark.parametrize(
    ("raw", "pointer", "code", "detail"),
    [
        (b"[]", "", "type", "must be an object, not a list"),
        (b"null", "", "null", "must be an object, not null"),
        (b'"text"', "", "type", "must be an object, not a text"),
        (b"7", "", "type", "must be an object, not an integer"),
        (b'{"email": 5}', "/email", "type", "must be a text, not an integer"),
        (b'{"email": ["a@example.com"]}', "/email", "type", "must be a text, not a list"),
        (b'{"email": {}}', "/email", "type", "must be a text, not an object"),
        (b'{"origin": true}', "/origin", "type", "must be a text, not true or false"),
        (b'{"origin": 1.5}', "/origin", "type", "must be a text, not a number with decimals"),
        (b'{"company_id": "1"}', "/company_id", "domain", "is not a domain name: '1' should look like example.com"),
        (b'{"company_id": 1.0}', "/company_id", "type", "must be an integer, not a number with decimals"),
        (b'{"company_id": true}', "/company_id", "type", "must be an integer, not true or false"),
        (b'{"company_id": 0}', "/company_id", "range", "must be an integer from 1 to 9007199254740991"),
        (b'{"company_id": -1}', "/company_id", "range", "must be an integer from 1 to 9007199254740991"),
        (b'{"company_id": 9007199254740992}', "/company_id", "range", "must be an integer from 1 to 9007199254740991"),
        (b'{"company_id": 18446744073709551616}', "/company_id", "range", "must be an integer from 1 to 9007199254740991"),
        (b'{"company_id": ' + b"9" * 10_000 + b"}", "/company_id", "range", "must be an integer from 1 to 9007199254740991"),
        (b'{"contact_custom_fields_input": {}}', "/contact_custom_fields_input", "type", "must be a list, not an object"),
        (b'{"contact_custom_fields_input": [null]}', "/contact_custom_fields_input/0", "null", "must be an object, not null"),
        (b'{"contact_custom_fields_input": [1]}', "/contact_custom_fields_input/0", "type", "must be an object, not an integer"),
        (b'{"contact_custom_fields_input": [{"field_value": ""}]}', f"{CUSTOM}/0/field_name", "required", "is required"),
        (b'{"contact_custom_fields_input": [{"field_name": "a"}]}', f"{CUSTOM}/0/field_value", "required", "is required"),
        (
            b'{"contact_custom_fields_input": [{"field_name": " ", "field_value": ""}]}',
            "/contact_custom_fields_input/0/field_name",
            "required",
            "must not be blank",
        ),
        (b'{"first_name": "a\\u0000b"}', "/first_name", "unusable_text", "must not contain the NUL character (\\u0000)"),
        (
            b'{"contact_custom_fields_input": [{"field_name": "a\\u0000", "field_value": ""}]}',
            "/contact_custom_fields_input/0/field_name",
            "unusable_text",
            "must not contain the NUL character (\\u0000)",
        ),
        (b'{"email": "nonsense"}', "/email", "email", "is not an e-mail address: An email address must have an @-sign."),
        (long("first_name", 201), "/first_name", "too_long", "must have at most 200 characters, and has 201"),
        (long("last_name", 201), "/last_name", "too_long", "must have at most 200 characters, and has 201"),
        (json.dumps({"origin": "é" * 201}).encode(), "/origin", "too_long", "must have at most 200 characters, and has 201"),
        (long("contact_status", 201), "/contact_status", "too_long", "must have at most 200 characters, and has 201"),
        (long("email", 255), "/email", "too_long", "must have at most 254 characters, and has 255"),
        (long("linkedin_url", 2001), "/linkedin_url", "too_long", "must have at most 2000 characters, and has 2001"),
        (
            json.dumps({"contact_custom_fields_input": [{"field_name": "a", "field_value": "x" * 10_001}]}).encode(),
            "/contact_custom_fields_input/0/field_value",
            "too_long",
            "must have at most 10000 characters, and has 10001",
        ),
        (
            json.dumps({"contact_custom_fields_input": [{"field_name": "x" * 201, "field_value": ""}]}).encode(),
            "/contact_custom_fields_input/0/field_name",
            "too_long",
            "must have at most 200 characters, and has 201",
        ),
    ],
    ids=lambda value: str(value[:40]),
)
async def test_invalid_field__gets_422_and_is_named(sqlite_call: ApiClient, raw: bytes, pointer: str, code: str, detail: str) -> None:
    problem = await refusal(sqlite_call, raw)

    assert problem["errors"] == [{"pointer": pointer, "code": code, "detail": detail}]
    assert problem == {
        "type": "about:blank",
        "title": "Unprocessable Content",
        "status": 422,
        "detail": f"{pointer or 'the body'} {detail}",
        "code": "invalid",
        "errors": problem["errors"],
    }


@pytest.mark.parametrize(
    ("raw", "pointer"),
    [
        (b'{"first_name": "\\ud800"}', "/first_name"),
        (b'{"first_name": "\\udc00\\ud800"}', "/first_name"),
        (b'{"unknown": ["\\ud800"]}', "/unknown/0"),
        (b'{"un\\ud800known": 1}', "/un\ufffdknown"),
        (b'{"email": "\\ud83e@example.com"}', "/email"),
    ],
)
async def test_unpaired_surrogate__is_refused_anywhere_in_the_body(sqlite_call: ApiClient, raw: bytes, pointer: str) -> None:
    problem = await refusal(sqlite_call, raw)

    assert problem["errors"] == [
        {
            "pointer": pointer,
            "code": "unusable_text",
            "detail": "contains half of a surrogate pair, which is no character; send both halves or the character itself",
        }
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"first_name": "\\ud83e\\udd8a"}',
        b'{"first_name": "\\\\u0000"}',
        b'{"origin": "a", "unknown": "\\u0000"}',
        b'{"origin": "a", "unknown": ' + b"9" * 5000 + b"}",
        b'{"origin": "a", "unknown": 1e999}',
        b'{"origin": "a", "unknown": ' + b"[" * 63 + b"]" * 63 + b"}",
        b'{"origin": "a", "unknown": [' + b"[]," * 5000 + b"[]]}",
        b'{"first_name": "[[[[[' + b"[" * 190 + b'"}',
        b'{"origin": "a", "origin": "b"}',
        b' \r\n\t{"origin": "a"}\n',
    ],
    ids=lambda value: str(value[:30]),
)
async def test_unusual_but_valid_body__is_accepted(sqlite_call: ApiClient, raw: bytes) -> None:
    reply = await sqlite_call("POST", CONTACTS, raw=raw, content_type="application/json")

    assert reply.status == 201, reply


async def test_invalid_body__reports_all_faults_of_types_and_rules(sqlite_call: ApiClient) -> None:
    body = {
        "email": "nonsense",
        "first_name": None,
        "company_id": 2**60,
        "contact_custom_fields_input": [
            {"field_name": "a", "field_value": "x"},
            {"field_name": "a", "field_value": 5},
            {"field_value": None},
            "text",
        ],
        "contact_status": "x" * 300,
    }

    reply = await sqlite_call.post(CONTACTS, body)

    assert reply.status == 422
    assert sorted(fault["pointer"] for fault in reply.problem["errors"]) == [
        "/company_id",
        "/contact_custom_fields_input/1/field_name",
        "/contact_custom_fields_input/1/field_value",
        "/contact_custom_fields_input/2/field_name",
        "/contact_custom_fields_input/2/field_value",
        "/contact_custom_fields_input/3",
        "/contact_status",
        "/email",
        "/first_name",
    ]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "text/json", "json", "multipart/form-data; a=b"])
async def test_content_type__other_than_json_gets_415(sqlite_call: ApiClient, kind: str) -> None:
    problem = await refusal(sqlite_call, b"{}", content_type=kind)

    name = kind.partition(";")[0]
    assert (problem["status"], problem["code"]) == (415, "unsupported_media_type")
    assert problem["detail"] == f"Content-Type '{name}' is not supported; send application/json"


@pytest.mark.parametrize(
    "kind",
    ["application/json; charset=utf-8", "APPLICATION/JSON;charset=UTF-8", "application/merge-patch+json", "application/vnd.x+json", ""],
)
async def test_content_type__accepts_every_json_media_type(sqlite_call: ApiClient, kind: str) -> None:
    assert (await sqlite_call("POST", CONTACTS, raw=SMALL, content_type=kind)).status == 201


async def test_content_type__when_missing_is_read_as_json(sqlite_call: ApiClient) -> None:
    assert (await sqlite_call("POST", CONTACTS, raw=SMALL)).status == 201


async def test_api_body_bytes__refuses_a_larger_body_with_413(sqlite_call: ApiClient) -> None:
    megabytes = [b" " * 1_000_000] * 30

    problems = [
        await refusal(sqlite_call, b"".join(megabytes)),
        (await sqlite_call.in_pieces("POST", CONTACTS, megabytes)).problem,
        await refusal(sqlite_call, b"{}" + b" " * 1_048_575),
    ]

    assert [(problem["status"], problem["detail"]) for problem in problems] == [(413, "the body may have at most 1048576 bytes")] * 3


async def test_api_body_bytes__accepts_a_body_of_exactly_the_limit(sqlite_call: ApiClient) -> None:
    assert (await sqlite_call("POST", CONTACTS, raw=SMALL.ljust(1_048_576))).status == 201


async def test_gzip_body__is_decompressed(sqlite_call: ApiClient) -> None:
    body = gzip.compress(b'{"first_name": "Jane"}')

    reply = await sqlite_call("POST", CONTACTS, raw=body, content_type="application/json", content_encoding="gzip")

    assert (reply.status, reply.json()["first_name"]) == (201, "Jane")


async def test_gzip_body__that_expands_beyond_the_limit_gets_413(sqlite_call: ApiClient) -> None:
    bombs = [gzip.compress(b" " * 1_048_577), gzip.compress(b"\0" * 200_000_000, 9), gzip.compress(b" " * 600_000) * 2]

    for bomb in bombs:
        problem = await refusal(sqlite_call, bomb, content_encoding="gzip")
        assert (problem["status"], problem["detail"]) == (413, "the body expands to more than 1048576 bytes")


@pytest.mark.parametrize("raw", [b"this is no gzip", gzip.compress(b"{}", mtime=0)[:-5], gzip.compress(b"{}", mtime=0) + b"x"])
async def test_gzip_body__that_is_corrupt_gets_400(sqlite_call: ApiClient, raw: bytes) -> None:
    problem = await refusal(sqlite_call, raw, content_encoding="gzip")

    assert (problem["status"], problem["code"]) == (400, "malformed_body")
    assert problem["detail"].startswith("the body has Content-Encoding gzip and ")


async def test_gzip_body__accepts_a_few_members_and_refuses_many_without_reading(sqlite_call: ApiClient) -> None:
    few = b"".join(gzip.compress(piece) for piece in [b'{"first_name"', *[b" "] * (MOST_PIECES - 2), b': "Jane"}'])
    # Nothing comes out of it, so that no limit on what comes out holds it.
    many = gzip.compress(b"") * (MOST_PIECES + 1)

    taken = await sqlite_call("POST", CONTACTS, raw=few, content_encoding="gzip")
    refused = await refusal(sqlite_call, many, content_encoding="gzip")

    assert (taken.status, taken.json()["first_name"]) == (201, "Jane")
    assert (refused["status"], refused["code"]) == (400, "malformed_body")
    assert refused["detail"] == "the body has more than 16 gzip members; compress it as one"


@pytest.mark.parametrize("packing", ["deflate", "br", "gzip, gzip", "zstd"])
async def test_content_encoding__other_than_gzip_gets_415(sqlite_call: ApiClient, packing: str) -> None:
    problem = await refusal(sqlite_call, zlib.compress(b"{}"), content_encoding=packing)

    assert problem["status"] == 415
    assert packing in problem["detail"]


async def test_content_encoding__accepts_identity(sqlite_call: ApiClient) -> None:
    assert (await sqlite_call("POST", CONTACTS, raw=SMALL, content_encoding="identity")).status == 201
