"""The client offers what the OpenAPI document has, and nothing else. This compares with the document, not with the generator."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docs.build import is_method, methods

from touchbase.http.openapi import METHODS
from touchbase.routes import description
from touchbase_client import AsyncTouchbase, Touchbase, models, requests
from touchbase_client.request import NO_BODY, Request, Write

ROOT = Path(__file__).parents[2]
SDK = ROOT / "sdk" / "python"
PACKAGE = SDK / "src" / "touchbase_client"
Json = dict[str, Any]
DOCUMENT = description("1", keys_needed=True)
SCHEMAS: Json = DOCUMENT["components"]["schemas"]
SAMPLES: Json = {"id": 7, "field_id": 8, "merge_id": 9, "filters": {"email[in]": "a"}, "page": 1}


def operations() -> Iterator[tuple[str, str, Json, list[Json]]]:
    """Method, path, operation and parameters of each operation."""
    for path, item in DOCUMENT["paths"].items():
        for method in (entry for entry in METHODS if entry in item):
            yield method.upper(), path, item[method], [*item.get("parameters", []), *item[method]["parameters"]]


def functions() -> Iterator[Callable[..., Request[Any]]]:
    """Every function of requests."""
    for _, function in inspect.getmembers(requests, inspect.isfunction):
        if function.__module__ == requests.__name__:
            yield function


def sample(make: Callable[..., Request[Any]]) -> Request[Any]:
    """The request with every parameter given."""
    names = inspect.signature(make).parameters
    return make(**{name: SAMPLES.get(name, f"a {name}") for name in names})


MADE: dict[str, list[tuple[Callable[..., Request[Any]], Request[Any]]]] = {}
for _each in functions():
    _request = sample(_each)
    MADE.setdefault(_request.operation, []).append((_each, _request))


def offered(request: Request[Any]) -> set[tuple[str, str]]:
    """The parameters that a request has, by place and name."""
    result = {("path", name) for name in request.in_path} | {("query", name) for name in request.query}
    result |= {("header", name) for name in request.headers if name != "Accept"}
    result |= {("query", "dry_run")} if isinstance(request, Write) else set()
    return result | ({("header", "X-Client-Id")} if request.of_client else set())


def test_generated_files__are_those_that_the_document_gives(tmp_path: Path) -> None:
    """`-S`: the generator has the standard library alone."""
    subprocess.run([sys.executable, "-S", SDK / "generate.py", tmp_path], check=True)
    generated = {path.relative_to(tmp_path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.py")}
    present = {path.relative_to(PACKAGE): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}

    assert [str(name) for name, text in generated.items() if present.get(name) != text] == [], "run `make install`"
    assert {name for name in present if name.parts[0] == "_sync"} == {name for name in generated if name.parts[0] == "_sync"}


def test_operations__are_all_covered_and_no_other_is_offered() -> None:
    assert MADE.keys() == {operation["operationId"] for _, _, operation, _ in operations()}


def test_parameters__of_each_operation_can_be_given_and_no_other(subtests: pytest.Subtests) -> None:
    for method, path, operation, parameters in operations():
        with subtests.test(operation["operationId"]):
            results = [created for _, created in MADE[operation["operationId"]]]

            assert {(created.method, created.path) for created in results} == {(method, path)}
            assert set().union(*map(offered, results)) == {(parameter["in"], parameter["name"]) for parameter in parameters}
            assert {created.body is not NO_BODY for created in results} == {"requestBody" in operation}
            assert {created.takes_key for created in results} == {any(parameter["name"] == "Idempotency-Key" for parameter in parameters)}
            assert all("{" not in created.target for created in results)


def test_parameters__that_are_required_must_be_given(subtests: pytest.Subtests) -> None:
    for _, _, operation, parameters in operations():
        with subtests.test(operation["operationId"]):
            required = {parameter["name"] for parameter in parameters if parameter["required"]}
            for make, _ in MADE[operation["operationId"]]:
                must = {name for name, parameter in inspect.signature(make).parameters.items() if parameter.default is parameter.empty}

                assert must - {"body", "page"} == required


def test_bodies_and_answers__have_the_types_of_the_document(subtests: pytest.Subtests) -> None:
    for _, _, operation, _ in operations():
        with subtests.test(operation["operationId"]):
            answers = [response for response in operation["responses"].values() if "$ref" not in response]
            expected = named(str([answer.get("content", {}) for answer in answers]))
            typed = [make.__annotations__ for make, _ in MADE[operation["operationId"]]]
            returned = set().union(*(set(re.findall(r"\w+", item["return"])) & SCHEMAS.keys() for item in typed))
            items = {name for name in returned - expected if any(name in items_of(page) for page in expected)}

            assert returned - items == expected
            assert {item.get("body") for item in typed} <= {None, "Any", "File", *named(str(operation.get("requestBody", {})))}


def named(text: str) -> set[str]:
    return set(re.findall(r"#/components/schemas/(\w+)", text))


def items_of(page: str) -> set[str]:
    return named(str(SCHEMAS[page].get("properties", {}).get("data", {}).get("items", {})))


def test_types__have_the_members_of_the_schemas(subtests: pytest.Subtests) -> None:
    names = {name for name in vars(models) if name[0].isupper()} - {"Any", "Literal", "NotRequired", "TypedDict"}

    assert names == SCHEMAS.keys() - {"Problem"}
    for name in names:
        with subtests.test(name):
            kind = getattr(models, name)
            if "enum" in SCHEMAS[name]:
                assert set(typing.get_args(kind)) == {*SCHEMAS[name]["enum"]}
                continue
            hints = typing.get_type_hints(kind, vars(models), include_extras=True)
            required = {member for member, hint in hints.items() if typing.get_origin(hint) is not typing.NotRequired}

            assert hints.keys() == SCHEMAS[name].get("properties", {}).keys()
            assert required == {*SCHEMAS[name].get("required", [])}


def test_groups__of_both_clients_have_a_method_for_each_function() -> None:
    clients = (Touchbase("http://127.0.0.1"), AsyncTouchbase("http://127.0.0.1"))
    in_sync, in_async = ({name: method for name, method in methods(client) if is_method(method)} for client in clients)

    assert in_sync.keys() == in_async.keys()
    assert [name for name in in_sync if in_sync[name].__wrapped__ is not in_async[name].__wrapped__] == []
    assert {*functions()} - {method.__wrapped__ for method in in_sync.values()} == {requests.stream_events, requests.stream_changes}


def test_methods__show_their_parameters_and_what_they_do() -> None:
    create = Touchbase("http://127.0.0.1").contacts.create

    assert [*inspect.signature(create).parameters][:2] == ["body", "structure"]
    assert create.__doc__ == requests.create_contact.__doc__
