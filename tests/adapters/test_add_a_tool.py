"""docs/how-to/add-a-tool.md: its adapter reads its fixture as it is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.adapters.conftest import Recorded

from touchbase.adapters.kit.describe import describe
from touchbase.adapters.kit.parse import parse
from touchbase.history.events import Translation

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-tool.md"


def block(language: str) -> str:
    match = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert match
    return match[1]


def test_add_a_tool_page__has_an_adapter_that_reads_its_fixture() -> None:
    fixture, written = json.loads(block("json")), {}
    exec(compile(block("python"), PAGE, "exec"), written)
    adapter: Any = written["ADAPTER"]
    call = parse(Recorded("page", "email_campaign", fixture["tool"], fixture).request)

    told: Any = describe(Translation(adapter.tool, adapter.translate(call)))

    assert adapter.recognise(call) == 90
    assert told["tool"] == fixture["tool"]
    assert [{name: event[name] for name in wanted} for event, wanted in zip(told["events"], fixture["events"], strict=True)] == fixture[
        "events"
    ]
