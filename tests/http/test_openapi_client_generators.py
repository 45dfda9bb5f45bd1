"""The description of the interface serves generators of clients: what they misread is not in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from touchbase.clients.models import KEEP_BODIES_DAYS
from touchbase.http.openapi import operations
from touchbase.http.schemas import ENUMS
from touchbase.routes import DESCRIBED, TAGS, TYPES, description

Json = dict[str, Any]
OPEN, GUARDED = description("1", keys_needed=False), description("1", keys_needed=True)
SCHEMAS: Json = OPEN["components"]["schemas"]
BODIES = sorted(name for name in SCHEMAS if name.endswith(("Request", "Change", "Body", "Input", "Rotation")) or name == "NewClient")


def parts(node: Any) -> Iterator[Json]:
    """Every object of the document."""
    if isinstance(node, dict):
        yield node
        for item in node.values():
            yield from parts(item)
    elif isinstance(node, list):
        for item in node:
            yield from parts(item)


def parameters(document: Json) -> Iterator[Json]:
    for item in document["paths"].values():
        yield from item.get("parameters", ())
    for operation in operations(document):
        yield from operation["parameters"]


@pytest.mark.parametrize("name", BODIES)
def test_request_schema__has_no_defaults(name: str) -> None:
    """Generators make a member with a default required of the caller."""
    assert [member for member, schema in SCHEMAS[name]["properties"].items() if "default" in schema] == []


def test_parameter__has_no_default() -> None:
    """Clients and pages send a default that they see; a `page` that was not asked for makes the response a numbered page."""
    assert [(parameter["name"], parameter["schema"]) for parameter in parameters(OPEN) if "default" in parameter["schema"]] == []
    assert {parameter["description"] for parameter in parameters(OPEN) if parameter["name"] == "page_size"} == {
        "Records in a page. Default: `100`."
    }


def test_field_description__states_the_default() -> None:
    assert SCHEMAS["SettingsBody"]["properties"]["keep_bodies_days"]["description"].endswith(f"Default: `{KEEP_BODIES_DAYS}`.")
    assert SCHEMAS["ReplayRequest"]["properties"]["dry_run"]["description"].endswith("Default: `false`.")


def test_response_schema__requires_every_field_that_is_always_present() -> None:
    assert {"fetching", "access_token"} <= set(SCHEMAS["ConnectionOut"]["required"])
    assert "next_cursor" in SCHEMAS["ConnectionPage"]["required"]
    assert "generated_secret" not in SCHEMAS["ConnectionOut"]["required"]
    assert [name for name, schema in SCHEMAS.items() for item in schema.get("properties", {}).values() if "default" in item] == []


def test_enum__is_always_a_named_component() -> None:
    """A set that is new: name it with `named_enum` (`http/schemas.py`)."""
    named = [schema["enum"] for schema in SCHEMAS.values() if "enum" in schema]

    assert [part["enum"] for part in parts(OPEN) if isinstance(part.get("enum"), list) and part["enum"] not in named] == []
    assert sum(isinstance(part.get("enum"), list) for part in parts(OPEN)) == len(named)
    assert {name: list(values) for name, (_, values) in ENUMS.items()} == {
        name: schema["enum"] for name, schema in SCHEMAS.items() if "enum" in schema
    }


def test_enum__names_are_unique_and_differ_from_other_components() -> None:
    _, schema_component = msgspec.json.schema_components(TYPES)

    assert len({frozenset(values) for _, values in ENUMS.values()}) == len(ENUMS)
    assert ENUMS.keys() & schema_component.keys() == set()


def test_field_with_fixed_values__refers_to_its_enum() -> None:
    def named(schema: str, member: str) -> str:
        return str(SCHEMAS[schema]["properties"][member]["$ref"]).rpartition("/")[2]

    assert named("DeliveryOut", "state") == named("DeliveryGroupOut", "state") == "DeliveryState"
    assert named("DeliveryOut", "channel") == named("ConnectionOut", "channel") == named("ConnectionRequest", "channel") == "Channel"
    assert (named("ClientOut", "state"), named("KeyOut", "state")) == ("ClientState", "KeyState")


def test_true_or_false_parameter__has_the_type_boolean() -> None:
    kinds = {parameter["name"]: parameter["schema"].get("type") for parameter in parameters(OPEN)}

    assert (kinds["restore_erased"], kinds["erase"]) == ("boolean", "boolean")
    assert [part for part in parts(OPEN) if {"true", "false"} & {str(value) for value in (*part.get("enum", ()), part.get("const"))}] == []


def test_route__is_one_operation_with_a_summary_and_a_description() -> None:
    described = {
        operation["operationId"]: (operation["summary"], operation["description"].removesuffix(".")) for operation in operations(OPEN)
    }

    assert len(described) == len(DESCRIBED)
    assert [name for name, texts in described.items() if not all(texts)] == []


def test_operation_description__names_the_required_scope() -> None:
    scopes = {route.operation_id: route.scope for route in DESCRIBED if route.scope}

    said = {operation["operationId"]: operation["description"].rpartition(" Needs the scope `")[2] for operation in operations(OPEN)}
    assert {name: text.removesuffix("`.") for name, text in said.items() if name in scopes} == scopes


def test_tag__is_described_once() -> None:
    assert {tag for operation in operations(OPEN) for tag in operation["tags"]} == TAGS.keys()
    assert OPEN["tags"] == [{"name": name, "description": about} for name, about in TAGS.items()]


def test_security__is_required_only_with_api_keys() -> None:
    assert OPEN["security"] == []
    assert "securitySchemes" not in OPEN["components"]
    assert GUARDED["security"] == [{"key": []}, {"keyHeader": []}]
    assert {operation["operationId"] for operation in operations(GUARDED) if "security" in operation} == {
        "emailcampaign_webhook", "check_emailcampaign_webhook", "crm_webhook", "check_crm_webhook",
    }  # fmt: skip


@pytest.mark.parametrize(("public_url", "server"), [("", "/"), ("https://hooks.acme.test/touchbase", "https://hooks.acme.test/touchbase")])
def test_servers__lists_the_public_url_or_the_root(public_url: str, server: str) -> None:
    assert [item["url"] for item in description("1", keys_needed=True, public_url=public_url)["servers"]] == [server]


def test_info__names_the_licence() -> None:
    assert OPEN["info"]["license"] == {"name": "Apache License 2.0", "identifier": "Apache-2.0"}


@pytest.mark.parametrize("name", ["emailcampaign", "crm"])
def test_webhook_operation__accepts_any_json_body(name: str) -> None:
    content = OPEN["paths"][f"/public/{name}-webhook/{{client_id}}"]["post"]["requestBody"]["content"]

    assert list(content) == ["application/json"]
    assert content["application/json"]["schema"].keys() == {"description"}


def test_description__is_equal_each_time() -> None:
    assert description("1", keys_needed=False) == OPEN
