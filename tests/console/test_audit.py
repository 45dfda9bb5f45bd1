"""The audit log in a browser: acts with their people, filtered and exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.console.conftest import NARROW, Console, axe_faults, first_key, look_faults
from tests.console.test_people import PASSWORD, invite

pytestmark = pytest.mark.slow


def test_administrator__finds_who_made_a_key_and_exports_the_log(start: Callable[..., Console], tmp_path: Path) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    page = console.open(invite(console, admin, "mira@example.com", name="Mira Sandoval", role="admin"), dark=True)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_label("Sign out (Mira Sandoval)").wait_for()
    cookie = {"Cookie": "; ".join(f"{each['name']}={each['value']}" for each in page.context.cookies())}
    of_page = {"X-Touchbase-Console": "1", "Sec-Fetch-Site": "same-origin", **cookie}
    console.server.post("/admin/v1/keys", {"name": "n8n", "client_id": "ours", "scopes": ["records:read"]}, **of_page)

    page.get_by_role("navigation").get_by_text("Audit log").click()
    acts = page.get_by_role("list", name="Acts")
    acts.get_by_text("Key n8n · Ours").wait_for()
    assert "Mira Sandoval" in acts.get_by_role("listitem").filter(has_text="Key n8n").inner_text()
    assert axe_faults(page) == []
    page.get_by_label("What").select_option("session")
    acts.get_by_text("Key n8n · Ours").wait_for(state="detached")
    acts.get_by_role("listitem").filter(has_text="Session began").wait_for()
    page.get_by_label("What").select_option("")
    page.get_by_label("Person").select_option(label="Mira Sandoval")
    acts.get_by_text("Key n8n · Ours").wait_for()
    assert acts.get_by_text("User invited").count() == 0

    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "log.csv")
    assert "key.created,ours,user," in (tmp_path / "log.csv").read_text(encoding="utf-8")
    acts.get_by_text("Export read").wait_for()
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    assert look_faults(page) == []
    assert axe_faults(page) == []
    assert json.loads(console.server.get("/team/v1/audit-events?action=export.read", **admin)[1])["data"][0]["actor"]["via"] == "console"
