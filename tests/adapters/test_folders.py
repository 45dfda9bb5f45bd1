"""What a tool's folder holds."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from touchbase.adapters import catalogue
from touchbase.adapters.kit.declarative import TableAdapter, normalize_event_name
from touchbase.adapters.registry import Adapters
from touchbase.history.events import CRM_EVENTS, EMAIL_EVENTS


def _adapter(folder: Path):
    return import_module(f"touchbase.adapters.{folder.parent.name}.{folder.name}").ADAPTER


def test_tool_folder__has_an_adapter_a_guide_and_a_fixture(folder: Path, adapters: Adapters) -> None:
    adapter = _adapter(folder)

    assert (adapter.channel, adapter.tool) == (folder.parent.name, folder.name)
    assert adapter.tool in adapters.tools(adapter.channel)
    assert (folder / "README.md").read_text().startswith("# ")
    assert list((folder / "fixtures").glob("*.json"))


def test_tool_guide__names_the_webhook_address(folder: Path) -> None:
    path = "emailcampaign-webhook" if folder.parent.name == "email_campaign" else "crm-webhook"

    assert f"/public/{path}/<client_id>" in (folder / "README.md").read_text()


def test_tool_guide__names_every_event_of_the_table(folder: Path) -> None:
    adapter = _adapter(folder)
    names = set(adapter.meanings) if isinstance(adapter, TableAdapter) else set()

    written = {normalize_event_name(name) for name in re.findall(r"`([^`\n]+)`", (folder / "README.md").read_text())}

    assert names <= written


def test_tool_table__uses_the_shared_vocabulary(folder: Path) -> None:
    adapter = _adapter(folder)
    meanings = adapter.meanings.values() if isinstance(adapter, TableAdapter) else ()

    assert {meaning.event for meaning in meanings} <= EMAIL_EVENTS - {"unknown"}


def test_fixture__uses_the_shared_vocabulary(subtests: pytest.Subtests, all_fixtures) -> None:
    for recorded in all_fixtures:
        with subtests.test(recorded.id):
            words = EMAIL_EVENTS if recorded.channel == "email_campaign" else CRM_EVENTS

            assert {event["event"] for event in recorded.content["events"]} <= words


def test_catalogue__describes_all_signs_of_a_shape() -> None:
    told = {tool.tool: tool.recognised for tool in catalogue.catalogue() if tool.channel == "email_campaign"}

    assert told["lemlist"][0] == "_id + type, _id beginning with act_"
    assert "type + data, header svix-id" in told["resend"]
    assert "type + data, with a known name" in told["mailersend"]
    assert told["salesloft"] == ["header x-salesloft-event"]
