"""Everything in the description of the interface says what it is: a new route cannot be without descriptions and examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jsonschema_rs import Draft202012Validator
from tests.http.test_openapi_client_generators import parts

from touchbase.http.openapi import operations
from touchbase.http.openapi_members import COMMON, FORMS, LIKE, ONLY, members
from touchbase.http.openapi_operations import MERGE_PATCH, NAMES, NOUNS, PATH_PARAMETERS, RESPONSE_HEADERS
from touchbase.http.schemas import ENUMS
from touchbase.routes import description

Json = dict[str, Any]
DOCUMENT = description("1", keys_needed=True)
SCHEMAS: Json = DOCUMENT["components"]["schemas"]
ADD = "describe it at its type with Meta(description=...), or in http/openapi_members.py"


def path_parameters() -> Iterator[tuple[str, Json]]:
    for path, item in DOCUMENT["paths"].items():
        yield from ((path, parameter) for parameter in item.get("parameters", ()))


def says(item: Json) -> str:
    """A description, without what is added to it and without the form of the value."""
    text = re.sub(r"\s*Default: `.*`\.$", "", item.get("description", ""))
    return "" if text in FORMS else text


def test_schema__says_what_it_is() -> None:
    assert [name for name, schema in SCHEMAS.items() if not schema.get("description")] == []


def test_member__says_what_it_means() -> None:
    assert [f"{name}.{member}" for name, member, schema in members(SCHEMAS) if not says(schema)] == [], ADD


def test_parameter__says_what_it_does() -> None:
    inner = [(operation["operationId"], parameter) for operation in operations(DOCUMENT) for parameter in operation["parameters"]]

    assert [(where, item["name"]) for where, item in [*inner, *path_parameters()] if not says(item)] == []


def test_response_and_its_headers__say_what_they_are() -> None:
    responses = [
        (operation["operationId"], status, response)
        for operation in operations(DOCUMENT)
        for status, response in operation["responses"].items()
    ]
    silent = [(name, status) for name, status, reported in responses if "$ref" not in reported and not reported["description"]]
    headers = [
        (name, header)
        for name, _, reported in responses
        for header, said in reported.get("headers", {}).items()
        if "$ref" not in said and not said.get("description")
    ]

    assert (silent, headers) == ([], [])


def test_path_parameter__has_an_example_of_its_schema() -> None:
    wrong = []
    for path, item in path_parameters():
        schema = SCHEMAS[item["schema"]["$ref"].rpartition("/")[2]] if "$ref" in item["schema"] else item["schema"]
        if "example" not in item or not Draft202012Validator(schema).is_valid(item["example"]):
            wrong.append((path, item["name"]))

    assert wrong == []


def test_example__is_one_of_its_schema() -> None:
    full = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": DOCUMENT["components"]}

    assert [
        (name, fault.message)
        for name, schema in SCHEMAS.items()
        for shown in schema.get("examples", ())
        for fault in Draft202012Validator({**full, "$ref": f"#/components/schemas/{name}"}).iter_errors(shown)
    ] == []


def test_request_body__has_an_example() -> None:
    """The page at `/docs` fills it in, so that a person can try the request."""
    bare = [
        (operation["operationId"], media)
        for operation in operations(DOCUMENT)
        for media, body in operation.get("requestBody", {}).get("content", {}).items()
        if media in ("application/json", MERGE_PATCH)
        and not ({"example", "examples"} & {*body, *body["schema"], *_referred(body["schema"])})
    ]

    assert [name for name, _ in bare if not name.endswith("_webhook")] == []


def _referred(schema: Json) -> Json:
    response: Json = SCHEMAS.get(schema.get("$ref", "").rpartition("/")[2], {})
    return response


def test_text_for_members__is_used() -> None:
    """A text that no member uses is of a type that is not there any more, or that describes its member by itself."""
    used = {says(schema) for _, _, schema in members(SCHEMAS)}
    unused = {key: text for key, text in (ONLY | COMMON).items() if not any(item.startswith(text) for item in used)}
    unknown = [key for key in ONLY if key.partition(".")[2] not in SCHEMAS.get(key.partition(".")[0], {}).get("properties", {})]

    assert (unused, unknown) == ({}, [])
    assert {name for name, like in LIKE.items() for name in (name, *like)} <= SCHEMAS.keys()


def test_text_for_parameters_and_headers__is_used() -> None:
    segments = {segment for path in DOCUMENT["paths"] for segment in path.split("/")}
    headers = {
        name for operation in operations(DOCUMENT) for response in operation["responses"].values() for name in response.get("headers", ())
    }

    assert {name for name in PATH_PARAMETERS if f"{{{name}}}" not in segments} == set()
    assert {*NOUNS, *NAMES} <= segments
    assert headers >= RESPONSE_HEADERS.keys()


def test_enum__says_what_it_is_and_is_used() -> None:
    used = {str(part.get("$ref", "")).rpartition("/")[2] for part in parts(DOCUMENT)}

    assert {name for name, (meaning, _) in ENUMS.items() if not meaning} == set()
    assert ENUMS.keys() - used == set()
