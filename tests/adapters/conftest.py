"""All adapters, loaded once, and their fixtures: each is a webhook and what it means."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import touchbase.adapters.registry
from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import Adapters, load_adapters
from touchbase.history.events import CHANNELS

HOME = Path(touchbase.adapters.registry.__file__).parent


@dataclass(frozen=True)
class Recorded:
    """One fixture: whose folder it lies in, the call, and the events it must give."""

    id: str
    channel: str
    tool: str
    content: dict[str, Any]

    @property
    def body(self) -> bytes:
        request = self.content["request"]
        return request["text"].encode() if "text" in request else json.dumps(request["body"]).encode()

    @property
    def request(self) -> WebhookRequest:
        return self.with_body(self.body)

    def with_body(self, body: bytes) -> WebhookRequest:
        request = self.content["request"]
        headers = {name.lower(): value for name, value in request.get("headers", {}).items()}
        return WebhookRequest(self.channel, headers, request.get("query", ""), body)


def _folders() -> list[Path]:
    return [folder for channel in CHANNELS for folder in sorted((HOME / channel).iterdir()) if (folder / "__init__.py").exists()]


@cache
def all_recorded() -> tuple[Recorded, ...]:
    """Every fixture of every tool."""
    return tuple(
        Recorded(f"{folder.parent.name}-{folder.name}-{file.stem}", folder.parent.name, folder.name, json.loads(file.read_text()))
        for folder in _folders()
        for file in sorted((folder / "fixtures").glob("*.json"))
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for every tool by `folder` or by `recorded_json`."""
    for name in {"folder", "recorded_json"} & {*metafunc.fixturenames}:
        metafunc.parametrize(name, _folders(), ids=lambda folder: f"{folder.parent.name}-{folder.name}", indirect=name == "recorded_json")


@pytest.fixture
def recorded_json(request: pytest.FixtureRequest) -> list[Recorded]:
    """The fixtures of one tool that have a JSON body."""
    return [one for one in all_recorded() if (one.channel, one.tool) == request.param.parts[-2:] and "body" in one.content["request"]]


@pytest.fixture(scope="session")
def all_fixtures() -> tuple[Recorded, ...]:
    """Every fixture of every tool."""
    return all_recorded()


@pytest.fixture(scope="session")
def adapters() -> Adapters:
    return load_adapters()
