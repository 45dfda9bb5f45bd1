"""The receiver on the page for people who receive events works as it is written there."""

from __future__ import annotations

import importlib
import re
import time
from pathlib import Path
from types import ModuleType

import pytest

from touchbase.outgoing.signatures import signature_headers

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "receive-events.md"
BODY = b'{"type":"contact.replied","timestamp":"2026-11-26T09:00:00Z","data":{"id":"evt_1","object":{"email":"jane@example.com"}}}'


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's Python block as a module."""
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    (tmp_path / "receiver_of_the_page.py").write_text(block[1], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module("receiver_of_the_page")


def test_flask_receiver__takes_a_signed_event_and_no_other(receiver: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    secret = re.search(r'"(whsec_[^"]+)"', PAGE.read_text(encoding="utf-8"))
    assert secret is not None
    headers = signature_headers([secret[1]], "evt_1", time.time_ns() // 1000, BODY)
    flask = receiver.app.test_client()

    taken = flask.post("/hooks/touchbase", data=BODY, headers=headers)
    changed = flask.post("/hooks/touchbase", data=BODY.replace(b"jane", b"joan"), headers=headers)

    assert taken.status_code == 204
    assert capsys.readouterr().out == "evt_1 contact.replied {'email': 'jane@example.com'}\n"
    assert changed.status_code == 500
