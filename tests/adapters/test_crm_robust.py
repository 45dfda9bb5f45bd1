"""CRM adapters take whatever comes: no body, however broken, makes one raise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.adapters import crm
from touchbase.adapters.interface import Adapter, ParsedWebhook, WebhookRequest
from touchbase.adapters.kit.parse import parse
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import CRM, CRM_EVENTS

FOLDER = Path(crm.__file__).parent
JUNK: list[Any] = [
    None,
    "",
    "x",
    "\x00\ud800",
    0,
    -1,
    10**30,
    1e308,
    True,
    [],
    [None],
    [[]],
    {},
    {"": None},
    {"id": {}},
    ["a", {"value": []}],
]


def adapters() -> list[Adapter]:
    registry = load_adapters()
    return [adapter for tool in registry.tools(CRM) if (adapter := registry._by_name[CRM][tool]).channel == CRM]


ADAPTERS = adapters()
BY_NAME = {adapter.tool: adapter for adapter in ADAPTERS}


def call_of(fixture: dict[str, Any], data: object) -> ParsedWebhook:
    request = fixture["request"]
    return ParsedWebhook(WebhookRequest(CRM, request["headers"], request["query"], b""), request["headers"], data)


def check(adapter: Adapter, call: ParsedWebhook) -> None:
    assert 0 <= adapter.recognise(call) <= 100
    for event in adapter.translate(call):
        assert event.event in CRM_EVENTS
        assert event.object_id is None or isinstance(event.object_id, str)
        for name, value in [*event.fields.items(), *event.custom.items()]:
            assert isinstance(name, str)
            assert value is None or isinstance(value, str)


def spoilt(data: Any) -> Iterator[Any]:
    """The body with each of its parts in turn taken away or replaced by junk; the body itself stays whole."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield {name: other for name, other in data.items() if name != key}
            yield from ({**data, key: junk} for junk in JUNK)
            yield from ({**data, key: inner} for inner in spoilt(value))
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield data[:place] + data[place + 1 :]
            yield from ([*data[:place], junk, *data[place + 1 :]] for junk in JUNK)
            yield from ([*data[:place], inner, *data[place + 1 :]] for inner in spoilt(value))


@pytest.mark.parametrize("tool", BY_NAME)
def test_crm_adapters__accept_a_fixture_with_any_part_missing_or_spoilt(subtests: pytest.Subtests, tool: str) -> None:
    for path in sorted(FOLDER.glob(f"{tool}/fixtures/*.json")):
        with subtests.test(path.stem):
            fixture = json.loads(path.read_text())
            request = fixture["request"]
            text = request.get("text", "").encode()
            body = request["body"] if "body" in request else parse(WebhookRequest(CRM, request["headers"], "", text)).data

            for variant in spoilt(body):
                check(BY_NAME[fixture["tool"]], call_of(fixture, variant))


def test_crm_fixtures__belong_exactly_to_the_tested_adapters() -> None:
    assert {path.parts[-3] for path in FOLDER.glob("*/fixtures/*.json")} == set(BY_NAME)


@given(body=st.binary(max_size=200))
@settings(max_examples=examples(60), deadline=None)
def test_salesforce__accepts_any_bytes_in_its_namespace(body: bytes) -> None:
    xml = b'<a xmlns="http://soap.sforce.com/2005/09/outbound">' + body + b"</a>"

    check(BY_NAME["salesforce"], parse(WebhookRequest(CRM, {}, "", xml)))
