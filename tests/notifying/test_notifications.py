"""Notifications: each person is told once of what they chose, in the console and by e-mail, and of nothing that they may not see."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.auth.test_people import Browser, Office, grants, office, quick_passwords
from tests.conftest import ExecuteSql
from tests.conversations.test_conversations import PATH as CONVERSATIONS
from tests.conversations.test_people import reply_to
from tests.live.test_stream import another_reply

from touchbase.attention import plans
from touchbase.notifying import worker
from touchbase.notifying.worker import NotificationWorker
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.models import UNREACHABLE, Installation
from touchbase.sql.store import Store
from touchbase.web import build_app

__all__ = ["office", "quick_passwords"]
PATH = "/team/v1/notifications"


@dataclass
class Team:
    """People with a mail server."""

    office: Office
    worker: NotificationWorker
    mails: list[tuple[str, str]] = field(default_factory=list)
    answers: list[ReceiverAnswer] = field(default_factory=list)
    """Answers of the mail server before the usual one."""

    slack: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """Requests to Slack."""

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        if url.startswith("https://slack.com/"):
            self.slack.append((url.rpartition("/")[2], headers, body))
            return (
                self.answers.pop(0)
                if self.answers
                else ReceiverAnswer(1, 200, body='{"ok":true,"user":{"id":"U07MIRA","team_id":"T1","name":"mi')
            )
        answer = self.answers.pop(0) if self.answers else ReceiverAnswer(1, 250)
        if answer.status == 250:
            self.mails.append((url, body.decode()))
        return answer

    async def person(self, name: str, wanted: dict[str, Any], **rights: Any) -> Browser:
        browser = await self.office.join(f"{name}@example.com", **(rights or {"role": "operator"}))
        reply = await browser("PATCH", f"/team/v1/users/{browser.user['id']}", {"notifications": wanted})
        assert reply.status == 200, reply.body
        return browser

    async def pass_time(self, seconds: float = 1) -> None:
        self.office.call.clock.move(seconds)
        await self.worker.drain()

    async def told(self, browser: Browser, query: str = "") -> list[tuple[str, bool]]:
        reply = await browser("GET", f"{PATH}{query}")
        assert reply.status == 200, reply.body
        return [(each["text"], each["browser"]) for each in reply.json()["data"]]


@pytest.fixture
def team(office: Office, store: Store) -> Team:
    opened: Team

    async def post(url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        return await opened.post(url, headers, body)

    place = Installation("https://touchbase.example", "Touchbase <tb@example.com>", mail_domains=("example.com",), slack_token="xoxb-1")
    office.call.app = build_app(replace(office.call.parts, installation=Installation(slack_token="xoxb-1")))
    opened = Team(office, NotificationWorker(store, store, office.call.clock, post, place))
    return opened


async def assign(team: Team, contact: int, to: str, client_id: str = "ours") -> None:
    reply = await team.office("PATCH", f"{CONVERSATIONS}/{client_id}/{contact}", {"assignee_id": to})
    assert reply.status == 200, reply.body


async def test_assignment__is_told_once_by_browser_and_mail(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"assignment": ["browser", "email"]})
    ben = await team.person("ben", {})
    await assign(team, contact, mira.user["id"])

    await team.pass_time()
    await team.pass_time(301)
    await team.pass_time(301)

    line = "The conversation with ann@ours.example is yours (ours)"
    assert (await team.told(mira), await team.told(ben)) == ([(line, True)], [])
    [(url, mail)] = team.mails
    assert url == "mailto:mira@example.com"
    assert line in re.sub(r"\s+", " ", mail)
    assert "https://touchbase.example/console/replies?client=" in mail


async def test_own_act__tells_nobody(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"assignment": ["browser"]})

    await mira("PATCH", f"{CONVERSATIONS}/ours/{contact}", {"assignee_id": "me"})
    await team.pass_time()

    assert await team.told(mira) == []


async def test_reply__is_told_to_who_works_on_it(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira, ben = [await team.person(name, {"reply": ["browser"]}) for name in ("mira", "ben")]
    await team.pass_time()
    await assign(team, contact, mira.user["id"])
    await team.pass_time()

    await another_reply(team.office, "ours", contact)
    await team.pass_time()

    assert (await team.told(mira), await team.told(ben)) == ([("ann@ours.example replied to you (ours)", True)], [])


async def test_foreign_client__tells_nobody_and_lost_rights_hide_what_was_told(team: Team) -> None:
    contacts = {client_id: await reply_to(team.office, client_id) for client_id in ("ours", "theirs")}
    mira = await team.person("mira", {"assignment": ["browser", "email"]}, grants=grants(ours="operator", theirs="operator"))
    for client_id, contact in contacts.items():
        await assign(team, contact, mira.user["id"], client_id)
    await team.pass_time()
    before = len(await team.told(mira))

    await team.office("PATCH", f"/team/v1/users/{mira.user['id']}", {"grants": grants(ours="operator")})
    await team.pass_time(301)

    assert (before, [text for text, _ in await team.told(mira)]) == (2, ["The conversation with ann@ours.example is yours (ours)"])
    assert len(team.mails) == 1


async def test_quiet_hours__hold_mails_back_and_show_nothing(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"assignment": ["browser", "email"], "quiet_from": "00:00", "quiet_until": "23:59"})
    await assign(team, contact, mira.user["id"])

    await team.pass_time()
    await team.pass_time(301)

    assert (await team.told(mira), team.mails) == ([("The conversation with ann@ours.example is yours (ours)", False)], [])
    await team.pass_time(86_400)
    assert len(team.mails) == 1


async def test_mail_that_no_server_took__is_sent_later_and_another_failure_is_not_repeated(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"assignment": ["email"]})
    await assign(team, contact, mira.user["id"])
    team.answers += [ReceiverAnswer(0, failure=UNREACHABLE, error="refused"), ReceiverAnswer(0, failure="timeout", error="silent")]

    for _ in range(4):
        await team.pass_time(301)

    assert (team.mails, team.answers) == ([], [])


async def test_read_notifications__are_not_mailed(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"assignment": ["browser", "email"]})
    await assign(team, contact, mira.user["id"])
    await team.pass_time()

    read = await mira("POST", f"{PATH}/read")
    await team.pass_time(301)

    assert (read.status, await team.told(mira, "?unread=true"), team.mails) == (204, [], [])
    assert len(await team.told(mira)) == 1
    assert (await team.office("POST", f"{PATH}/read")).status == 403
    assert (await team.office("GET", PATH)).json()["data"] == []


async def test_address_that_may_get_no_mail__gets_none(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    team.worker._place = Installation("", "Touchbase <tb@example.com>", mail_domains=("other.example",))
    mira = await team.person("mira", {"assignment": ["email"]})
    await assign(team, contact, mira.user["id"])

    await team.pass_time()
    await team.pass_time(301)

    assert team.mails == []
    assert len(await team.told(mira)) == 1


async def test_what_nobody_sends__is_refused(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")

    refused = await mira(
        "PATCH", f"/team/v1/users/{mira.user['id']}", {"notifications": {"task_due": ["email", "slack"], "reply": ["slack"]}}
    )

    assert [each["pointer"] for each in refused.json()["errors"]] == ["/notifications/reply", "/notifications/task_due"]


async def test_deleted_contact__takes_its_notifications_along(team: Team, execute_sql: Callable[..., Any]) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"assignment": ["browser"]})
    await assign(team, contact, mira.user["id"])
    await team.pass_time()

    await team.office("POST", f"/public/v2/contacts/{contact}/erase", {"confirm": True}, x_client_id="ours")
    await team.office("DELETE", f"/public/v2/contacts/{contact}", x_client_id="ours")

    assert all("ann@ours.example" not in text for text, _ in await team.told(mira))


@pytest.mark.parametrize("most", [200, 1])
async def test_critical_items__are_told_of_each_client_also_without_events(
    team: Team, execute_sql: ExecuteSql, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    for module, name in ((plans, "MOST"), (worker, "MOST_ITEMS")):
        monkeypatch.setattr(module, name, most)
    mira = await team.person("mira", {"critical": ["browser"]}, grants=grants(ours="operator", yours="operator"))
    for client_id in ("ours", "yours", "theirs"):
        await execute_sql(
            "INSERT INTO fetch_state (client, tool, next_us, failures, stopped, error) SELECT id, 'hubspot', 0, 1, 1, 'refused' "
            "FROM client WHERE client_id = ?", client_id,
        )  # fmt: skip

    await team.pass_time()

    assert sorted(await team.told(mira)) == [(f"{name} needs somebody: fetching crm hubspot", True) for name in ("ours", "yours")]


async def test_settings_that_cannot_be_read__stop_no_other_notification(team: Team, execute_sql: ExecuteSql) -> None:
    contact = await reply_to(team.office, "ours")
    mira, ben = [await team.person(name, {"assignment": ["browser"], "positive_reply": ["browser"]}) for name in ("mira", "ben")]
    wanted = '{"assignment":["browser"],"quiet_from":"25:00","quiet_until":"24:00"}'
    await execute_sql("UPDATE user_account SET notifications = ?, time_zone = 'Nowhere/Land' WHERE id = ?", wanted, ben.user["id"])
    await assign(team, contact, ben.user["id"])
    await team.pass_time()
    await assign(team, contact, mira.user["id"])

    await team.pass_time()

    line = "The conversation with ann@ours.example is yours (ours)"
    assert (await team.told(mira), await team.told(ben)) == ([(line, True)], [(line, True)])


async def test_names_with_line_breaks_and_controls__are_mailed_in_one_line(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    changed = [
        await team.office("PATCH", "/admin/v1/clients/ours", {"name": "Our\u2028s\x85Bcc: x@y.example\u202e"}),
        await team.office("PATCH", f"/public/v2/contacts/{contact}", {"first_name": "Ja\u2028ne\u202e"}, x_client_id="ours"),
    ]
    assert [reply.status for reply in changed] == [200, 200]
    mira = await team.person("mira", {"assignment": ["browser", "email"], "reply": ["email"]})
    await assign(team, contact, mira.user["id"])
    await team.pass_time()
    await another_reply(team.office, "ours", contact)

    await team.pass_time()
    await team.pass_time(301)

    [(_, mail)] = team.mails
    assert "Subject: 3 notifications about Our s Bcc: x@y.example" in mail
    assert [text for text, is_shown in await team.told(mira) if is_shown] == [
        "The conversation with Ja ne is yours (Our s Bcc: x@y.example )"
    ]


async def test_first_round__reads_no_log_of_a_client_where_nothing_is_new(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, _ = [await reply_to(team.office, client_id) for client_id in ("ours", "yours")]
    mira = await team.person("mira", {"assignment": ["browser"], "positive_reply": ["browser"]})
    team.office.call.clock.move(2 * 3600)
    contact = await reply_to(team.office, "theirs")
    await assign(team, contact, mira.user["id"], "theirs")
    numbers: list[int] = []
    look_at = NotificationWorker._look_at

    async def counted(self: NotificationWorker, client: int, after: int, now: int) -> None:
        numbers.append(client)
        await look_at(self, client, after, now)

    monkeypatch.setattr(NotificationWorker, "_look_at", counted)
    await team.pass_time()
    await team.pass_time()
    assert (len(numbers), len(await team.told(mira))) == (1, 1)

    await assign(team, ours, mira.user["id"])
    await team.pass_time()
    assert (len({*numbers}), len(await team.told(mira))) == (2, 2)


async def test_slack__gets_a_direct_message_at_once_and_no_mail(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"assignment": ["slack"], "critical": ["email"]})
    await assign(team, contact, mira.user["id"])

    await team.pass_time()
    await team.pass_time(301)

    (looked_up, headers, form), (sent, _, body) = team.slack
    assert (looked_up, headers["authorization"], form) == ("users.lookupByEmail", "Bearer xoxb-1", b"email=mira%40example.com")
    message = json.loads(body)
    assert (sent, message["channel"]) == ("chat.postMessage", "U07MIRA")
    assert message["text"].startswith("The conversation with ann@ours.example is yours (ours)")
    assert team.mails == []
    assert await team.told(mira) == [("The conversation with ann@ours.example is yours (ours)", False)]


async def test_slack__out_of_reach_is_tried_again_and_a_mail_is_not_repeated(team: Team) -> None:
    contact = await reply_to(team.office, "ours")
    mira = await team.person("mira", {"assignment": ["slack"]})
    ben = await team.person("ben", {"assignment": ["slack", "email"]})
    down = ReceiverAnswer(1, failure=UNREACHABLE, error="no route")
    team.answers = [down]
    await assign(team, contact, mira.user["id"])
    await team.pass_time()
    await team.pass_time(301)
    only_slack = [method for method, _, _ in team.slack]
    team.answers = [down]
    await assign(team, contact, ben.user["id"])
    await team.pass_time(301)
    await team.pass_time(301)

    assert only_slack == ["users.lookupByEmail", "users.lookupByEmail", "chat.postMessage"]
    assert [url for url, _ in team.mails] == ["mailto:ben@example.com"]
