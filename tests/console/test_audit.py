"""The audit log in a browser: acts with their people, filtered and exported."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import NARROW, Console, axe_faults, escape, first_key, look_faults, press
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

    page.get_by_role("navigation").get_by_text("Settings").click()
    page.get_by_role("link", name="Audit log").click()
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


def test_changes_by_import_key_agent_and_console__name_their_person(start: Callable[..., Console], tmp_path: Path) -> None:
    console = start("--auth", "api-key")
    server, admin = console.server, {"Authorization": f"Bearer {first_key(console.server)}"}
    server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    page: Any = console.open(invite(console, admin, "mira@example.com", name="Mira", role="admin"))
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Enter")
    page.get_by_label("Sign out (Mira)").wait_for()
    of_page = {"X-Touchbase-Console": "1", "Sec-Fetch-Site": "same-origin", "X-Client-Id": "ours"}
    lines = "email,first_name,last_name\nann@ours.example,Ann,Lee\n"
    page.request.post(f"{console.origin}/public/v2/contacts/imports?start=true", data=lines, headers=of_page | {"Content-Type": "text/csv"})
    while json.loads(server.get("/public/v2/contacts", **admin, **{"X-Client-Id": "ours"})[1])["data"] == []:
        time.sleep(0.05)
    scopes = ["records:read", "records:write", "admin"]
    made = page.request.post(f"{console.origin}/team/v1/keys", data={"name": "laptop", "scopes": scopes}, headers=of_page).json()
    key = {"Authorization": f"Bearer {made['key']}", "X-Client-Id": "ours"}
    server.post("/public/v2/contacts/batch", {"commands": [{"op": "update", "id": 1, "body": {"last_name": "Li"}}]}, **key)
    arguments = {"client_id": "ours", "id": 1, "status": "interested", "dry_run": False}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "change_status", "arguments": arguments}}
    server.post("/mcp", call, **key, Accept="application/json, text/event-stream")
    server.post("/admin/v1/keys", {"name": "n8n", "client_id": "ours", "scopes": ["records:read"]}, **key)
    console.go(page, "/contacts/1?client=ours")
    page.get_by_label("Change First name").click()
    page.get_by_label("First name", exact=True).fill("Anna")
    press(page, "Enter")
    page.get_by_text("First name changed.").wait_for()

    expect(page.locator(".story .source")).to_have_text(["Mira", "Mira, by MCP", "Mira, by API", "Mira, by job"])
    for field, who in (("First name", "Mira"), ("Last name", "Mira, by API"), ("Status", "Mira, by MCP"), ("Email", "Mira, by job")):
        page.get_by_role("button", name=f"of {field}", exact=False).focus()
        press(page, "Enter")
        expect(page.get_by_role("dialog").locator(".source").first).to_have_text(who)
        escape(page)
    console.go(page, "/audit?client=ours")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "log.csv")
    rows = csv.DictReader((tmp_path / "log.csv").read_text(encoding="utf-8").splitlines())
    acts = {(row["action"], row["actor_name"], row["via"]) for row in rows}
    assert {("import.started", "Mira", "console"), ("key.created", "Mira", "console"), ("key.created", "Mira", "api")} <= acts


def test_import_in_the_log__links_to_its_change(start: Callable[..., Console]) -> None:
    console = start()
    headers = {"X-Client-Id": "default", "Content-Type": "text/csv"}
    page = console.open("/audit")
    for name in ("ann", "ben"):
        page.request.post(
            f"{console.origin}/public/v2/contacts/imports?start=true", data=f"email,last_name\n{name}@ours.example,Lee\n", headers=headers
        )
    while len(json.loads(console.server.get("/team/v1/changes")[1])["data"]) < 2:
        time.sleep(0.05)
    page.reload()
    acts = page.get_by_role("list", name="Acts").get_by_role("listitem").filter(has_text="Import started")
    expect(acts.get_by_role("link", name="Show change")).to_have_count(2)
    assert axe_faults(page) == []

    acts.last.get_by_role("link", name="Show change").click()
    changes = page.get_by_role("list", name="Changes").get_by_role("listitem")
    expect(changes).to_have_count(1)
    expect(changes).to_contain_text("1 created")
    assert look_faults(page) == []
    page.get_by_role("link", name="All changes").click()
    expect(changes).to_have_count(2)
