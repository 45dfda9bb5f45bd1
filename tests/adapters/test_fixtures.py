"""Every fixture of every tool means what it says it means, and is its own tool's."""

from __future__ import annotations

import pytest

from touchbase.adapters.kit.describe import describe
from touchbase.adapters.kit.parse import parse, unwrap
from touchbase.adapters.registry import Adapters


def test_fixture__translates_as_expected(subtests: pytest.Subtests, all_fixtures, adapters: Adapters) -> None:
    for recorded in all_fixtures:
        with subtests.test(recorded.id):
            expected = recorded.content["events"]

            told = describe(adapters.translate(recorded.request))

            assert told["tool"] == recorded.content["tool"]
            shown = [{name: event[name] for name in wanted} for event, wanted in zip(told["events"], expected, strict=True)]
            assert shown == expected


def test_fixture__translates_the_same_when_its_tool_is_named(subtests: pytest.Subtests, all_fixtures, adapters: Adapters) -> None:
    for recorded in all_fixtures:
        with subtests.test(recorded.id):
            guessed = adapters.translate(recorded.request)

            named = adapters.translate(recorded.request, recorded.tool)

            assert describe(named) == describe(guessed)


def test_fixture__is_recognised_most_confidently_by_its_own_tool(subtests: pytest.Subtests, all_fixtures, adapters: Adapters) -> None:
    for recorded in all_fixtures:
        with subtests.test(recorded.id):
            call = parse(recorded.request)

            confidence = max(adapters.recognise(call), adapters.recognise(unwrap(call)))

            assert confidence[0][1] == recorded.tool
            assert [tool for how_confident, tool in confidence if how_confident == confidence[0][0]] == [recorded.tool]


def test_fixture__lies_in_the_folder_of_its_tool(subtests: pytest.Subtests, all_fixtures) -> None:
    for recorded in all_fixtures:
        with subtests.test(recorded.id):
            assert recorded.content["tool"] == recorded.tool
            assert recorded.content["about"]
