"""All adapters, loaded once, and their fixtures: each is a call and what it means, and so a test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import touchbase.adapters
from touchbase.adapters import Adapters, load_adapters
from touchbase.domain.delivery import CHANNELS, WebhookRequest

HOME = Path(touchbase.adapters.__file__).parent


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


def _recorded() -> Iterator[Recorded]:
    for folder in _folders():
        channel, tool = folder.parent.name, folder.name
        for file in sorted((folder / "fixtures").glob("*.json")):
            yield Recorded(f"{channel}-{tool}-{file.stem}", channel, tool, json.loads(file.read_text()))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for every fixture by `recorded`, for those with a JSON body by `recorded_json`, for every tool by `folder`."""
    if "recorded" in metafunc.fixturenames:
        metafunc.parametrize("recorded", list(_recorded()), ids=lambda one: one.id)
    if "recorded_json" in metafunc.fixturenames:
        metafunc.parametrize("recorded_json", [one for one in _recorded() if "body" in one.content["request"]], ids=lambda one: one.id)
    if "folder" in metafunc.fixturenames:
        metafunc.parametrize("folder", _folders(), ids=lambda folder: f"{folder.parent.name}-{folder.name}")


@pytest.fixture(scope="session")
def adapters() -> Adapters:
    return load_adapters()
