"""The daily summary: once a day at the person's time, about what the person may see, and nothing where nothing happened."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.auth.test_people import grants, office, quick_passwords
from tests.conversations.test_conversations import PATH as CONVERSATIONS
from tests.conversations.test_people import reply_to
from tests.notifying.test_notifications import PATH, Team, team

from touchbase.common.timestamps import DAY, SECOND, from_text, to_text
from touchbase.notifying import worker
from touchbase.notifying.worker import NotificationWorker

__all__ = ["office", "quick_passwords", "team"]
HOUR = 3_600


async def until(team: Team, clock: str) -> None:
    """Move to the next time at which a clock in UTC shows this."""
    now = team.office.call.clock.now
    at = from_text(f"{to_text(now)[:10]}T{clock}:00Z")
    await team.pass_time(((at - now) % DAY or DAY) / SECOND)


async def texts(team: Team, browser: Any) -> list[str]:
    return [text for text, _ in await team.told(browser)]


async def test_summary__has_the_counts_of_each_client_at_the_hour_of_the_person(team: Team) -> None:
    mira = await team.person("mira", {"daily_summary": ["email", "browser", "slack"], "summary_at": "09:30"})
    await team.office("PATCH", f"/team/v1/users/{mira.user['id']}", {"time_zone": "Asia/Kolkata"})  # 5:30 before UTC
    await until(team, "04:00")
    before = len(team.mails)
    contact = await reply_to(team.office, "ours")
    await reply_to(team.office, "yours")
    snoozed = {"snoozed_until": to_text(team.office.call.clock.now + DAY + 10 * HOUR * SECOND)}
    assert (await team.office("PATCH", f"{CONVERSATIONS}/ours/{contact}", snoozed)).status == 200
    await until(team, "03:59")
    early = len(team.mails)

    await until(team, "04:00")

    assert (before, early) == (0, 0)
    [(url, mail)] = team.mails
    assert (url, "https://touchbase.example/console/all/overview" in mail) == ("mailto:mira@example.com", True)
    lines = [
        "Today: 2 new replies, 1 open, 1 snooze ends today",
        "",
        "yours: 1 new reply, 1 open",
        "ours: 1 new reply, 1 snooze ends today",
    ]
    assert "\r\n".join(lines) in mail
    assert f"Subject: {lines[0]}" in mail
    assert await texts(team, mira) == ["\n".join(lines)]
    assert [method for method, _, _ in team.slack] == ["users.lookupByEmail", "chat.postMessage"]


async def test_day_without_anything__is_silent_and_stays_so(team: Team) -> None:
    mira = await team.person("mira", {"daily_summary": ["email", "browser"]})
    await until(team, "08:00")
    await reply_to(team.office, "ours")

    await team.pass_time(HOUR)
    again = NotificationWorker(team.worker._store, team.worker._people_store, team.office.call.clock, team.post, team.worker._place)
    await again.drain()
    quiet = (list(team.mails), await texts(team, mira))
    await until(team, "08:00")

    assert quiet == ([], [])
    assert (len(team.mails), await texts(team, mira)) == (1, ["Today: 1 new reply, 1 open"])


async def test_two_workers_and_a_restart__send_one_a_day(team: Team) -> None:
    await team.person("mira", {"daily_summary": ["email"]})
    await reply_to(team.office, "ours")
    place, clock = team.worker._place, team.office.call.clock
    workers = [NotificationWorker(team.worker._store, team.worker._people_store, clock, team.post, place) for _ in range(4)]
    clock.move((from_text(f"{to_text(clock.now)[:10]}T08:00:00Z") - clock.now) % DAY / SECOND)

    await asyncio.gather(*(each.drain() for each in workers))
    await team.pass_time(HOUR)
    once = len(team.mails)
    await until(team, "08:00")

    assert (once, len(team.mails)) == (1, 1)  # nothing came in on the second day


async def test_summary__names_only_clients_that_the_person_may_see_now(team: Team) -> None:
    rights = {"grants": grants(ours="operator", yours="viewer")}
    mira = await team.person("mira", {"daily_summary": ["browser"]}, **rights)
    for client_id in ("ours", "yours", "theirs"):
        await reply_to(team.office, client_id)
    await until(team, "08:00")
    before = await texts(team, mira)

    await team.office("PATCH", f"/team/v1/users/{mira.user['id']}", {"grants": grants(yours="viewer")})

    assert before == ["Today: 2 new replies, 2 open\n\nours: 1 new reply, 1 open\nyours: 1 new reply, 1 open"]
    assert await texts(team, mira) == ["Today: 1 new reply, 1 open"]
    shown = (await mira("GET", PATH)).json()["data"]
    assert [(told["client_id"], told["kind"], told["read"]) for told in shown] == [(None, "daily_summary", False)]
    await mira("POST", f"{PATH}/read")
    assert await team.told(mira, "?unread=true") == []


async def test_what_needs_somebody__is_told_also_without_a_reply(team: Team, execute_sql: Any) -> None:
    mira = await team.person("mira", {"daily_summary": ["browser"]})
    await execute_sql(
        "INSERT INTO fetch_state (client, tool, next_us, failures, stopped, error) SELECT id, 'hubspot', 0, 1, 1, 'refused' FROM client "
        "WHERE client_id = ?", "ours",
    )  # fmt: skip

    await until(team, "08:00")

    assert await texts(team, mira) == ["Today: 1 thing needs somebody"]


async def test_failed_count__is_repeated_and_holds_no_mail_back(team: Team, monkeypatch: Any) -> None:
    mira = await team.person("mira", {"daily_summary": ["browser"], "assignment": ["slack"]})
    contact = await reply_to(team.office, "ours")
    summarize = worker.summarize

    async def fails(*of: Any) -> str:
        raise ValueError("no")

    await until(team, "07:59")
    await team.office("PATCH", f"{CONVERSATIONS}/ours/{contact}", {"assignee_id": mira.user["id"]})
    monkeypatch.setattr(worker, "summarize", fails)
    await team.pass_time(60)
    failed = (len(team.slack), [text for text in await texts(team, mira) if text.startswith("Today")])
    monkeypatch.setattr(worker, "summarize", summarize)
    await team.pass_time(60)

    assert failed == (2, [])
    assert (await texts(team, mira))[0] == "Today: 1 new reply, 1 open"


async def test_wrong_hour__is_named(team: Team) -> None:
    mira = await team.person("mira", {})

    refused = await mira("PATCH", f"/team/v1/users/{mira.user['id']}", {"notifications": {"daily_summary": ["email"], "summary_at": "8"}})

    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "/notifications/summary_at")
