"""Nothing that arrives may break an adapter: the worst answer is that nobody understands."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.describe import describe
from touchbase.adapters.registry import Adapters, load_adapters
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import CHANNELS, Event, Translation

ADAPTERS = load_adapters()
JUNK: list[Any] = [None, "", " ", "junk\0", 0, -1, 1e300, 10**30, True, [], {}, [None], [[]], {"a": None}, [{"id": []}], "@", "1969"]
TOOLS = [(channel, tool) for channel in CHANNELS for tool in ADAPTERS.tools(channel)]
DETECTION_KEYS = sorted({detection_key for channel in CHANNELS for detection_key in ADAPTERS._by_detection_key[channel]})
KEYS = st.sampled_from([*DETECTION_KEYS, "email", "lead", "id", "timestamp", "properties", "attributes", "name", "ids"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["a@b.co", "2026-11-20T09:30:00Z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=6),
    max_leaves=20,
)


def tolerate(request: WebhookRequest, tool: str | None = None) -> Translation | None:
    try:
        translation = ADAPTERS.translate(request, tool)
    except UnrecognisedPayload:
        return None
    json.dumps(describe(translation)).encode()
    return translation


@settings(max_examples=examples(150), deadline=None)
@given(channel=st.sampled_from(CHANNELS), body=JSON, header=st.sampled_from(["x-salesloft-event", "svix-id", "user-agent"]))
def test_adapters__accept_any_json(channel: str, body: object, header: str) -> None:
    tolerate(WebhookRequest(channel, {header: "x"}, "", json.dumps(body).encode()))


@settings(max_examples=examples(150), deadline=None)
@given(named=st.sampled_from(TOOLS), body=JSON)
def test_named_adapter__accepts_any_json(named: tuple[str, str], body: object) -> None:
    channel, tool = named

    tolerate(WebhookRequest(channel, {}, "", json.dumps(body).encode()), tool)


@settings(max_examples=examples(150), deadline=None)
@given(channel=st.sampled_from(CHANNELS), body=st.binary(max_size=300))
def test_adapters__accept_any_bytes(channel: str, body: bytes) -> None:
    tolerate(WebhookRequest(channel, {"content-type": "application/json"}, "", body))


@settings(max_examples=examples(4), deadline=None)
@given(data=st.data())
def survives_spoilt_keys(recorded, data: st.DataObject) -> None:
    body = recorded.content["request"]["body"]
    spoilt = copy.deepcopy(body)
    places = _places(spoilt)
    if places:
        for holder, key in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
            holder[key] = data.draw(st.sampled_from(JUNK))

    tolerate(recorded.with_body(json.dumps(spoilt).encode()))
    tolerate(recorded.with_body(json.dumps(spoilt).encode()), recorded.tool)


def test_adapters__accept_a_fixture_with_any_key_spoilt(subtests: pytest.Subtests, recorded_json) -> None:
    for recorded in recorded_json:
        with subtests.test(recorded.id):
            survives_spoilt_keys(recorded)


def test_adapters__accept_a_fixture_without_any_one_key(subtests: pytest.Subtests, recorded_json) -> None:
    for recorded in recorded_json:
        with subtests.test(recorded.id):
            body = recorded.content["request"]["body"]
            for number in range(len(_places(body))):
                lacking = copy.deepcopy(body)
                holder, key = _places(lacking)[number]
                holder.pop(key)
                tolerate(recorded.with_body(json.dumps(lacking).encode()), recorded.tool)


BAD_ITEMS: list[Any] = [None, 7, "x", [], {}, {"x": 1}]


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "guessed"])
def test_item_list__retains_good_items_among_bad_ones(subtests: pytest.Subtests, recorded_json, is_named: bool, adapters: Adapters) -> None:
    for recorded in recorded_json:
        with subtests.test(recorded.id):
            body = recorded.content["request"]["body"]
            good, tool = body if isinstance(body, list) else [body, body], recorded.tool if is_named else None

            # Where a header names the event, a bad item is one too, if of nobody: so only the good ones are compared.
            kept = known_events(adapters, recorded, good, tool)
            for beside in ([*BAD_ITEMS, *good], [*good, *BAD_ITEMS]):
                assert [event for event in known_events(adapters, recorded, beside, tool) if event in kept] == kept


def known_events(adapters: Adapters, recorded, items: list[Any], tool: str | None) -> list[Event]:
    events = adapters.translate(recorded.with_body(json.dumps(items).encode()), tool).events
    return [event for event in events if event.event not in ("unknown", "unrecognised", "ignored")]


@pytest.mark.parametrize("depth", [500, 5_000, 200_000])
@pytest.mark.parametrize("channel", CHANNELS)
def test_adapters__accept_any_nesting_depth(channel: str, depth: int) -> None:
    tolerate(WebhookRequest(channel, {}, "", b'{"event":' * depth + b"1" + b"}" * depth))
    tolerate(WebhookRequest(channel, {}, "", b"[" * depth + b"]" * depth))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in a body, lists and objects alike."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]
