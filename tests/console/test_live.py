"""Live changes in the browser: new replies, what colleagues do, and the end of a session, without a reload."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import Console, first_key, look_faults, press, settle
from tests.console.test_people import PASSWORD, invite

pytestmark = pytest.mark.slow
REPLIES_TOP = "document.querySelector('#replies').scrollTop"


class Team:
    """A server with keys, two clients with three replies each, and people in browsers of their own."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.admin = {"Authorization": f"Bearer {first_key(console.server)}"}
        for client_id in ("ours", "yours"):
            console.server.post("/admin/v1/clients", {"client_id": client_id, "name": client_id.title()}, **self.admin)
            for name in ("Ada", "Bo", "Cy"):
                self.reply(client_id, name)

    def reply(self, client_id: str, name: str, text: str = "Yes, call me.") -> int:
        """Receive a reply of a new contact; return the id."""
        of = {**self.admin, "X-Client-Id": client_id}
        email = f"{name.lower()}@{client_id}.example"
        _, contact = self.console.server.post("/public/v2/contacts", {"email": email, "first_name": name}, **of)
        status, _ = self.console.server.post("/public/v2/messages", {"direction": "received", "contact_email": email, "text": text}, **of)
        assert status == 201
        return int(contact.get("id") or contact["existing_id"])

    def join(self, name: str, path: str = "/replies?client=ours&all=1", **rights: Any) -> Any:
        """Invite somebody, who opens the replies."""
        page = self.console.open(
            invite(self.console, self.admin, f"{name.lower()}@example.com", name=name, **rights or {"role": "operator"})
        )
        page.get_by_label("Password").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.get_by_label(f"Sign out ({name})").wait_for()
        # The stream has begun once it was answered.
        with page.expect_response("**/team/v1/stream"):
            self.console.go(page, path)
        return page


@pytest.fixture
def team(start: Callable[..., Console]) -> Team:
    return Team(start("--auth", "api-key"))


def names(page: Any) -> list[str]:
    return list(page.locator(".reply .strong").all_inner_texts())


def test_reply_that_arrives__raises_bar_and_counter_and_the_list_stands_still(team: Team) -> None:
    page = team.join("Mira")
    page.locator(".reply").nth(5).wait_for()
    before = names(page)
    press(page, "j")
    page.locator(".pane .letter").wait_for()

    team.reply("ours", "Dan")
    page.get_by_role("button", name="1 new reply: load").wait_for()
    page.locator(".tabs a", has_text="All 7").wait_for()
    assert names(page) == before
    team.reply("yours", "Eve")
    page.get_by_role("button", name="2 new replies: load").wait_for()
    assert look_faults(page) == []

    page.keyboard.press(".")
    page.locator(".reply", has_text="Eve").wait_for()
    assert names(page) == ["Eve", "Dan", *before]
    page.locator(".arrived").wait_for(state="detached")


def test_colleagues_act__is_named_in_the_row_before_the_row_leaves(team: Team) -> None:
    mira, ben = team.join("Mira"), team.join("Ben")
    press(ben, "j")
    ben.locator(".pane .letter").wait_for()
    name = ben.locator(".reply[aria-current] .strong").inner_text()
    mine = mira.locator(".reply").first

    press(ben, "e")
    mine.get_by_text("Done by Ben").wait_for()
    assert mine.locator(".strong").inner_text() == name
    assert look_faults(mira) == []
    mira.get_by_text("Done by Ben").wait_for(state="detached")
    mira.locator(".reply").nth(5).wait_for(state="detached")
    assert len(names(mira)) == 5


def test_colleague_who_writes_an_answer__is_named_in_the_row(team: Team) -> None:
    mira, ben = team.join("Mira"), team.join("Ben")
    contact = team.reply("ours", "Ada")

    ben.evaluate(
        """([path, text]) => fetch(path, { method: 'PUT', body: JSON.stringify({ text }),
          headers: { 'x-touchbase-console': '1', 'content-type': 'application/json' } })""",
        [f"/team/v1/conversations/ours/{contact}/draft", "Thursday at ten"],
    )

    row = mira.locator(".reply", has_text="Ours").filter(has_text="Ada")
    row.get_by_text("Ben is answering").wait_for()
    press(mira, "j")
    assert ben.get_by_text("is answering").count() == 0
    ben.locator(".tabs a", has_text="All").wait_for()
    assert len(names(mira)) == 6


def test_conversation_that_is_read__stays_when_a_colleague_has_done_it(team: Team) -> None:
    mira, ben = team.join("Mira"), team.join("Ben")
    for page in (mira, ben):
        press(page, "j")
        page.locator(".pane .letter").wait_for()
    name = mira.locator(".reply[aria-current] .strong").inner_text()

    press(ben, "e")
    mira.locator(".reply[aria-current]").get_by_text("Done by Ben").wait_for()
    mira.locator(".pane").get_by_role("button", name="Reopen").wait_for()
    assert mira.locator(".reply[aria-current] .strong").inner_text() == name
    press(mira, "j")
    mira.locator(".reply").nth(5).wait_for(state="detached")
    assert mira.locator(".reply[aria-current]").count() == 1


def test_reply__is_read_after_a_second_in_the_pane_and_unread_for_others(team: Team) -> None:
    mira, ben = team.join("Mira"), team.join("Ben")
    mira.locator(".reply.unread").nth(5).wait_for()
    press(mira, "j")
    mira.locator(".reply[aria-current]:not(.unread)").wait_for()
    assert mira.locator(".reply.unread").count() == 5

    mira.get_by_role("button", name="Filter", exact=True).click()
    mira.get_by_label("Read", exact=True).select_option("true")
    mira.wait_for_url("**unread=true**")
    mira.locator(".reply").nth(5).wait_for(state="detached")
    mira.locator(".reply").nth(4).wait_for()
    assert look_faults(mira) == []
    assert ben.locator(".reply.unread").count() == 6


def test_ended_session__asks_to_sign_in_at_once(team: Team) -> None:
    page = team.join("Mira")
    page.locator(".reply").nth(5).wait_for()
    [user] = json.loads(team.console.server.get("/team/v1/users", **team.admin)[1])["data"]
    assert team.console.server.get(f"/team/v1/sessions?user_id={user['id']}", "DELETE", **team.admin)[0] == 204

    page.get_by_role("dialog").get_by_label("Password").wait_for()


class Keys:
    """Keys as a person presses them, counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.count = page, 0

    def press(self, *keys: str) -> None:
        press(self.page, *keys)
        self.count += sum(len(key.split()) for key in keys)


def test_monday_at_nine__takes_the_counted_keys_and_no_mouse(team: Team) -> None:
    automatic = [{"client_id": "ours", "contact_id": team.reply("ours", f"Auto{number}")} for number in range(4)]
    team.console.server.post("/team/v1/conversations/bulk", {"conversations": automatic, "change": {"kind": "automatic"}}, **team.admin)
    team.join("Ben")
    page = team.join("Mira", "")
    page.locator(".work").get_by_text("6 open").wait_for()
    page.locator(".work").get_by_text("4 automatic").wait_for()
    keys = Keys(page)

    keys.press("g r")
    page.locator(".reply").nth(5).wait_for()
    keys.press("j")
    page.locator(".pane .marks kbd").first.wait_for()
    # Half of the replies need a status too.
    keys.count = 0
    for number in range(4):
        name = page.locator(".reply[aria-current] .strong").inner_text()
        if number % 2:
            keys.press("8")  # Replied: what a digit sets is the same for each of several clients
            page.get_by_text(f"{name}: status set to", exact=False).first.wait_for()
        keys.press("e")
        page.get_by_text(f"{name}: done.").first.wait_for()
    assert keys.count <= 1.5 * 4

    keys.count = 0
    keys.press("b")
    page.get_by_role("dialog").wait_for()
    keys.press("Enter")
    page.get_by_text(": blocked.").wait_for()
    assert keys.count <= 2
    page.locator(".tabs a", has_text="All 1").wait_for()

    keys.count = 0
    keys.press("a", "b", "Enter")
    page.get_by_text("assigned to Ben.").wait_for()
    assert keys.count <= 4

    keys.count = 0
    keys.press("Shift+Digit5")
    page.locator(".tabs a[aria-current]", has_text="Automatic").wait_for()
    page.locator(".reply").nth(3).wait_for()
    keys.press("Control+a", "e")
    page.get_by_text("4 done.").wait_for()
    assert keys.count <= 3
    expect(page.locator(".reply")).to_have_count(0)


def test_twenty_replies_of_two_clients__keep_their_place_and_are_done_by_keys(team: Team) -> None:
    for number in range(14):
        team.reply(("ours", "yours")[number % 2], f"P{number:02}")
    page = team.join("Mira", path="/all/replies?all=1")
    page.locator(".tabs a", has_text="All 20").wait_for()
    page.locator(".reply > button").first.click()
    press(page, *"j" * 12)
    chosen = page.locator(".reply[aria-current]")
    name = chosen.locator(".strong").inner_text()
    page.locator(".pane .place", has_text="13 of 20").wait_for()
    top = page.evaluate(REPLIES_TOP)
    assert top > 0

    press(page, "o")
    page.locator("h1", has_text=name).wait_for()
    page.go_back()
    expect(chosen.locator(".strong")).to_have_text(name)
    expect(chosen.locator("button")).to_be_focused()
    settle(page)
    assert page.evaluate(REPLIES_TOP) == top

    for _ in range(20):
        press(page, "e")
    page.locator(".tabs a", has_text="All 0").wait_for()
    expect(page.locator(".reply")).to_have_count(0)
    counters = json.loads(team.console.server.get("/team/v1/counters", **team.admin)[1])
    assert (counters["open"], counters["unread"]) == (0, 0)


def test_overview__has_the_open_replies_of_each_client_and_leads_to_them(team: Team) -> None:
    page = team.join("Mira", path="/all/overview", role="admin")
    row = page.locator("tr", has=page.get_by_role("link", name="Yours", exact=True))
    row.get_by_role("link", name="3", exact=True).wait_for()

    team.reply("yours", "Dan")
    row.get_by_role("link", name="4", exact=True).click()

    page.wait_for_url("**/replies**")
    expect(page.locator(".reply")).to_have_count(4)
