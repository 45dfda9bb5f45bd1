"""What is written about settings, commands, routes and limits is what the program does, in both directions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from docs import build

import touchbase
from touchbase.adapters import catalogue
from touchbase.adapters.registry import load_adapters
from touchbase.administration.settings_body import SettingsBody
from touchbase.common import field_limits
from touchbase.config import Settings
from touchbase.connections.api import ConnectionSettingsBody
from touchbase.connections.models import CAMPAIGN_FIELDS, MAPPABLE_FIELDS, ConnectionSettings
from touchbase.history import status
from touchbase.history.events import CRM_EVENTS, EMAIL_EVENTS, Event, effect_of
from touchbase.history.problems import SENTENCES
from touchbase.http.dependencies import RequestLimits
from touchbase.http.problems import STATUS
from touchbase.inbox.refused import CAUSES
from touchbase.routes import TAGS, description
from touchbase.server import error_responses
from touchbase.server.error_responses import ErrorResponse

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(name: str) -> Iterator[list[str]]:
    """The cells of every table row of a page, without titles and rules."""
    for line in page(name).splitlines():
        if line.startswith("| ") and not line.startswith("|---"):
            yield [cell.strip() for cell in line.strip("| ").split(" | ")]


def test_built_pages__have_every_part_and_no_braces_left(tmp_path: Path) -> None:
    build.write(tmp_path)

    built = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*") if path.is_file()}
    sources = {str(path.relative_to(build.DOCS)) for path in build.DOCS.rglob("*") if path.suffix in build.SERVED}
    assert built.keys() == sources
    for name, path in built.items():
        if name.endswith(".md"):
            assert not re.search(r"^(\{[a-z]|> A line in braces)", path.read_text(encoding="utf-8"), re.MULTILINE), name
    api, cli, tools = (built[f"reference/{name}.md"].read_text(encoding="utf-8") for name in ("api", "cli", "tools"))
    assert "\n| `POST /public/v2/contacts` | Create a contact." in api
    assert "\n## `touchbase inbox replay`\n\nApply deliveries again" in cli
    assert "\n| `--dry-run` |" in cli
    assert "\n## HubSpot (CRM)\n" in tools


def test_pages_with_parts__tell_readers_of_the_source_where_the_parts_are() -> None:
    for path in DOCS.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert (build.render(text) != text) == (build.NOTE in text and f"`/docs/reference/{path.name}`" in text), path.name


def test_openapi_file__is_the_document_that_servers_with_keys_have() -> None:
    file = json.loads((DOCS.parents[1] / "openapi.json").read_text(encoding="utf-8"))

    assert file == description(touchbase.__version__, keys_needed=True), "run `make docs`"


def test_parts__appear_on_a_page() -> None:
    pages = "\n".join(page(path.name) for path in DOCS.glob("*.md"))
    tags = set(" ".join(re.findall(r"^\{routes (.+?)\}$", pages, re.MULTILINE)).split())

    assert set(re.findall(r"^\{([a-z-]+)[^\n\"]*\}$", pages, re.MULTILINE)) == build.PARTS.keys()
    assert tags == TAGS.keys()


def test_commands__have_a_text_for_themselves_and_for_each_option() -> None:
    silent = [name for name, command in build.listed_commands() if not command.help]
    for name, command in build.listed_commands():
        silent += [
            f"{name} {param.opts[0]}" for param in command.params if isinstance(param, click.Option) and not param.hidden and not param.help
        ]

    assert silent == []


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (lambda: build.routes(*TAGS), 1),
        (build.errors, 2),
        (build.errors, 3),
        (build.settings, 2),
        (build.metrics, 3),
        (build.event_types, 1),
        (build.event_origins, 1),
        (build.agent_tools, 1),
        (build.body_settings(SettingsBody), 2),
        (build.body_settings(ConnectionSettingsBody), 2),
        (build.client_methods, 1),
        (build.client_errors, 2),
    ],
)
def test_tables_of_the_code__have_a_text_in_each_row(table: Callable[[], Iterator[build.Row]], column: int) -> None:
    _, *body = table()

    assert [row[0] for row in body if not row[column].strip(" .")] == []


def test_connection_settings__are_those_that_are_stored() -> None:
    assert msgspec.to_builtins(ConnectionSettingsBody()).keys() == {field.name for field in fields(ConnectionSettings)}


def test_connections_page__documents_every_mappable_field() -> None:
    sentence = page("connections.md").partition("`fields` may name")[2].partition("and must")[0]

    assert re.findall(r"`(\w+)`", sentence) == list(MAPPABLE_FIELDS)
    sentence = page("connections.md").partition("For a campaign tool they may be")[2].partition("; what is")[0]
    assert re.findall(r"`(\w+)`", sentence) == list(CAMPAIGN_FIELDS)


def limits() -> list[list[str]]:
    return [cells for cells in rows("limits.md") if cells[-1].startswith("`")]


def statuses() -> dict[str, int]:
    """Every code that an answer may carry, with its status."""
    own = {item.code: item.status for item in vars(error_responses).values() if isinstance(item, ErrorResponse)}
    return {**own, **STATUS}


def test_limits_page__gives_the_status_of_each_error_code(subtests: pytest.Subtests) -> None:
    for about, _, answer, _ in limits():
        with subtests.test(about):
            match = re.fullmatch(r"(\d{3}) `(\w+)`", answer)

            assert match is None or statuses().get(match[2]) == int(match[1])


def value_at(place: str) -> Any:
    """The value of `module.NAME`, or the default of `module.Class.field`."""
    module, _, name = place.rpartition(".")
    if module.rpartition(".")[2][:1].isupper():
        module, _, kind = module.rpartition(".")
        return next(field.default for field in fields(getattr(import_module(f"touchbase.{module}"), kind)) if field.name == name)
    return getattr(import_module(f"touchbase.{module}"), name)


def test_limits_page__has_the_numbers_of_the_code(subtests: pytest.Subtests) -> None:
    for about, most, _, place in limits():
        with subtests.test(about):
            value = value_at(place.strip("`"))

            assert most.partition(" ")[0] == (f"{value:,}" if isinstance(value, int) else f"{value:g}"), place


def test_limits_page__documents_every_limit() -> None:
    written = {cells[-1].strip("`") for cells in limits()}
    of_text = {f"common.field_limits.{name}" for name, value in vars(field_limits).items() if name.isupper() and isinstance(value, int)}
    of_bodies = {f"http.dependencies.RequestLimits.{field.name}" for field in fields(RequestLimits)} - {
        "http.dependencies.RequestLimits.body_seconds",
        "http.dependencies.RequestLimits.body_idle_seconds",
        "http.dependencies.RequestLimits.api_body_bytes",
        "http.dependencies.RequestLimits.page_bytes",
        "http.dependencies.RequestLimits.webhook_body_bytes",
        "http.dependencies.RequestLimits.batch_body_bytes",
        "http.dependencies.RequestLimits.file_bytes",
        "http.dependencies.RequestLimits.file_seconds",
        "http.dependencies.RequestLimits.import_previews",
        "http.dependencies.RequestLimits.stored_bytes",
    }
    of_server = {
        f"config.Settings.{field.name}"
        for field in fields(Settings)
        if field.name.startswith(("max_", "rate_limit_")) or field.name.endswith("_timeout") or field.name == "keep_alive"
    }

    of_sharing = {
        "common.fair_quota.SHARE",
        "inbox.fair_scheduler.BATCH_SIZE",
        "inbox.fair_scheduler.SMALL_BATCH_SIZE",
        "storage.QUEUE_LIMIT",
    }

    assert (of_text | of_bodies | of_server | of_sharing) - written == set()


def test_tool_catalogue__states_events_and_certainty_for_every_tool() -> None:
    tools = catalogue.catalogue()

    assert [tool.guide for tool in tools if not tool.understood or not tool.marks] == []
    assert [tool.guide for tool in tools if tool.channel == "crm" and not all(item.sure for item in tool.understood)] == []


def test_connections_page__documents_every_enrichment_tool_with_its_limits() -> None:
    adapters = load_adapters()
    fetchers = {tool: adapters.fetcher("crm", tool) for tool in adapters.tools("crm")}
    written = {
        cells[0].strip("`"): (cells[1].strip("`"), int(cells[2]), int(cells[3]))
        for cells in rows("connections.md")
        if len(cells) == 5 and cells[1].startswith("`https://")
    }

    assert written == {
        tool: (fetcher.base, fetcher.most, 60_000_000 // fetcher.pause_us) for tool, fetcher in fetchers.items() if fetcher is not None
    }


def test_every_cause_of_a_refusal__stands_on_the_page() -> None:
    section = page("errors.md").partition("## Causes of refused webhooks")[2]

    assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == CAUSES.keys()


def test_every_problem_of_a_delivery__stands_on_the_page() -> None:
    guide = (DOCS.parent / "how-to" / "find-a-missing-reply.md").read_text(encoding="utf-8").partition("## Problems")[2]

    assert set(re.findall(r"^\| `(\w+)`", guide, re.MULTILINE)) == SENTENCES.keys()


@pytest.mark.parametrize(("title", "events"), [("From campaign tools", EMAIL_EVENTS), ("From CRMs", CRM_EVENTS)])
def test_every_event__stands_on_the_page_with_its_effect(title: str, events: frozenset[str]) -> None:
    section = page("events.md").partition(f"## {title}\n")[2].partition("\n## ")[0]
    table = re.findall(r"^\| (`[^|]+`) \|([^|]*)\|", section, re.MULTILINE)
    written = {name: effect.strip(" `") for names, effect in table for name in re.findall(r"`([\w.]+)`", names)}

    assert written == {name: effect_of(Event(name, kind="hard")) for name in events}
    assert set(written.values()) - {""} <= status.STATUS_EFFECTS
