"""Every example of the pages about the Python client runs, on both engines, in the order of the page."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.client.conftest import Served

from touchbase.outgoing.signatures import new_secret, signature_headers
from touchbase_client import Follower, Touchbase

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "use-the-python-client.md").read_text(encoding="utf-8")
CSV = "email,first_name\nben@example.com,Ben\ncid@example.com,Cid\n"


def blocks() -> list[str]:
    return [textwrap.dedent(item) for item in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)]


def stop_after_stored_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower has no end; in the examples it ends after three events."""
    follow, indexes = Follower.__next__, iter(range(3))

    def until(self: Follower) -> Any:
        next(indexes)
        return follow(self)

    monkeypatch.setattr(Follower, "__next__", until)


def test_examples__run_as_they_stand(
    served: Served, admin: Touchbase, client_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(CSV)
    key = admin.admin.keys.create({"client_id": client_id, "name": "docs", "scopes": ["records:read", "records:write"]})["key"]
    secret = new_secret()
    monkeypatch.setenv("TOUCHBASE_KEY", key)
    monkeypatch.setenv("TOUCHBASE_WEBHOOK_SECRET", secret)
    stop_after_stored_events(monkeypatch)

    names: dict[str, Any] = {"__name__": "example"}
    for block in blocks():
        exec(compile(block.replace("https://touchbase.example.com", served.url), "use-the-python-client.md", "exec"), names)
    body = b'{"type": "contact.replied", "data": {}}'
    sent = signature_headers([secret], "msg_1", 0, body) | {"webhook-timestamp": "1"}
    refused = names["app"].test_client().post("/touchbase", data=body, headers=sent)

    shown = capsys.readouterr().out
    assert "she is number" in shown
    assert "it has changed since" not in shown
    assert "2 new contacts" in shown
    assert "example.com" in shown
    assert (tmp_path / "all.csv").read_text().count("@example.com") == 3
    assert (tmp_path / "cursor").read_text().startswith("evt_")
    assert refused.status_code == 401
    assert key not in shown


def test_webhook_example__accepts_what_touchbase_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    secret = new_secret()
    monkeypatch.setenv("TOUCHBASE_WEBHOOK_SECRET", secret)
    (block,) = (item for item in blocks() if "verify_webhook" in item)
    names: dict[str, Any] = {"__name__": "example"}
    exec("import os\n" + block, names)
    body = b'{"type": "contact.replied", "data": {}}'

    taken = names["app"].test_client().post("/touchbase", data=body, headers=signature_headers([secret], "m", time.time_ns() // 1000, body))

    assert taken.status_code == 204
