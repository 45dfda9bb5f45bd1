"""The description of the interface serves generators of clients: what they misread is not in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from touchbase.clients.models import KEEP_BODIES_DAYS
from touchbase.http.openapi import DESCRIBED, ENUMS, TAGS, TYPES, description, operations

Json = dict[str, Any]
OPEN, GUARDED = description("1", keys_needed=False), description("1", keys_needed=True)
SCHEMAS: Json = OPEN["components"]["schemas"]
BODIES = sorted(name for name in SCHEMAS if name.endswith(("Request", "Change", "Body", "Input", "Rotation")) or name == "NewClient")


def parts(node: Any) -> Iterator[Json]:
    """Every object of the document."""
    if isinstance(node, dict):
        yield node
        for each in node.values():
            yield from parts(each)
    elif isinstance(node, list):
        for each in node:
            yield from parts(each)


def parameters(document: Json) -> Iterator[Json]:
    for item in document["paths"].values():
        yield from item.get("parameters", ())
    for operation in operations(document):
        yield from operation["parameters"]


@pytest.mark.parametrize("name", BODIES)
def test_a_member_that_may_be_left_out_has_no_default(name: str) -> None:
    """Generators make a member with a default required of the caller."""
    assert [member for member, schema in SCHEMAS[name]["properties"].items() if "default" in schema] == []


def test_a_default_is_said_in_words() -> None:
    assert SCHEMAS["SettingsBody"]["properties"]["keep_bodies_days"]["description"].endswith(f"Default: `{KEEP_BODIES_DAYS}`.")
    assert SCHEMAS["ReplayRequest"]["properties"]["dry_run"]["description"].endswith("Default: `false`.")


def test_what_an_answer_always_has_is_required_of_it() -> None:
    assert {"fetching", "access_token"} <= set(SCHEMAS["ConnectionOut"]["required"])
    assert "next_cursor" in SCHEMAS["ConnectionPage"]["required"]
    assert "generated_secret" not in SCHEMAS["ConnectionOut"]["required"]
    assert [name for name, schema in SCHEMAS.items() for each in schema.get("properties", {}).values() if "default" in each] == []


def test_every_set_of_values_is_a_named_component() -> None:
    """A set that is new: name it with `named_enum` (`http/schemas.py`)."""
    named = [schema["enum"] for schema in SCHEMAS.values() if "enum" in schema]

    assert [each["enum"] for each in parts(OPEN) if isinstance(each.get("enum"), list) and each["enum"] not in named] == []
    assert sum(isinstance(each.get("enum"), list) for each in parts(OPEN)) == len(named)
    assert {name: list(values) for name, (_, values) in ENUMS.items()} == {
        name: schema["enum"] for name, schema in SCHEMAS.items() if "enum" in schema
    }


def test_every_meaning_has_one_name() -> None:
    _, made = msgspec.json.schema_components(TYPES)

    assert len({frozenset(values) for _, values in ENUMS.values()}) == len(ENUMS)
    assert ENUMS.keys() & made.keys() == set()


def test_a_member_whose_values_are_known_says_them() -> None:
    def named(schema: str, member: str) -> str:
        return str(SCHEMAS[schema]["properties"][member]["$ref"]).rpartition("/")[2]

    assert named("DeliveryOut", "state") == named("DeliveryGroupOut", "state") == "DeliveryState"
    assert named("DeliveryOut", "channel") == named("ConnectionOut", "channel") == named("ConnectionRequest", "channel") == "Channel"
    assert (named("ClientOut", "state"), named("KeyOut", "state")) == ("ClientState", "KeyState")


def test_what_is_true_or_false_is_a_boolean() -> None:
    kinds = {each["name"]: each["schema"].get("type") for each in parameters(OPEN)}

    assert (kinds["restore_erased"], kinds["erase"]) == ("boolean", "boolean")
    assert [each for each in parts(OPEN) if {"true", "false"} & {str(value) for value in (*each.get("enum", ()), each.get("const"))}] == []


def test_every_route_is_one_operation_with_all_its_texts() -> None:
    described = {each["operationId"]: (each["summary"], each["description"].removesuffix(".")) for each in operations(OPEN)}

    assert len(described) == len(DESCRIBED)
    assert [name for name, texts in described.items() if not all(texts)] == []


def test_an_operation_says_which_scope_it_needs() -> None:
    scopes = {route.operation_id: route.scope for route in DESCRIBED if route.scope}

    said = {each["operationId"]: each["description"].rpartition(" Needs the scope `")[2] for each in operations(OPEN)}
    assert {name: text.removesuffix("`.") for name, text in said.items() if name in scopes} == scopes


def test_every_tag_is_described_once() -> None:
    assert {tag for each in operations(OPEN) for tag in each["tags"]} == TAGS.keys()
    assert OPEN["tags"] == [{"name": name, "description": about} for name, about in TAGS.items()]


def test_only_with_keys_a_call_needs_one() -> None:
    assert OPEN["security"] == []
    assert "securitySchemes" not in OPEN["components"]
    assert GUARDED["security"] == [{"key": []}, {"keyHeader": []}]
    assert {each["operationId"] for each in operations(GUARDED) if "security" in each} == {
        "emailcampaign_webhook", "check_emailcampaign_webhook", "crm_webhook", "check_crm_webhook",
    }  # fmt: skip


@pytest.mark.parametrize(("public_url", "server"), [("", "/"), ("https://hooks.acme.test/touchbase", "https://hooks.acme.test/touchbase")])
def test_the_server_is_the_public_address_or_the_one_that_answered(public_url: str, server: str) -> None:
    assert [each["url"] for each in description("1", keys_needed=True, public_url=public_url)["servers"]] == [server]


def test_the_licence_is_named() -> None:
    assert OPEN["info"]["license"] == {"name": "Apache License 2.0", "identifier": "Apache-2.0"}


@pytest.mark.parametrize("name", ["emailcampaign", "crm"])
def test_a_webhook_call_has_a_body_that_a_generated_client_can_send(name: str) -> None:
    content = OPEN["paths"][f"/public/{name}-webhook/{{client_id}}"]["post"]["requestBody"]["content"]

    assert list(content) == ["application/json"]
    assert content["application/json"]["schema"].keys() == {"description"}


def test_the_same_description_is_made_each_time() -> None:
    assert description("1", keys_needed=False) == OPEN
