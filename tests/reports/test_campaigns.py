"""The report by campaign, tool and time over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from tests.house import House

DAY = 86_400
CAMPAIGNS = "/public/v2/reports/campaigns"


def mail(who: str, at: int, campaign: str | None = "Autumn", event: str = "email_sent", **more: Any) -> dict[str, Any]:
    """One event of a campaign tool; times are in seconds from the clock's beginning, a Friday."""
    number = {"campaign_id": f"id-{campaign}"} if campaign else {}
    return {"event": event, "at": at, "email": f"{who}@example.com", "campaign": campaign, **number, **more}


async def report(house: House, query: str = "", path: str = CAMPAIGNS) -> list[dict[str, Any]]:
    reply = await house.request("GET", f"{path}?{query}")
    assert reply.status == 200, reply.body
    return reply.json()["data"]


def columns_of(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    """These members of each row."""
    return [tuple(row[name] for name in names) for row in rows]


async def test_campaigns__count_people_once_and_mails_each(house: House) -> None:
    await house.hook("camp", mail("ann", -900), mail("ann", -600), mail("bob", -600), mail("ann", -300, event="email_replied"))
    await house.hook("camp", mail("bob", -200, event="email_bounced", kind="hard"), mail("cat", -100, event="email_unsubscribed"))
    await house.hook("camp", mail("cat", -90, event="email_spam_complaint"), mail("ann", -80, event="email_auto_replied"))

    rows = await report(house)

    assert rows == [
        {
            "begins_at": "2026-08-31T00:00:00Z", "ends_at": "2026-11-20T09:30:00Z", "tool": "camp", "campaign": "Autumn",
            "campaign_id": "id-Autumn", "mailed": 2, "mails": 3, "replied": 1, "replies": 1, "mailed_replied": 1, "reply_rate": 0.5,
            "bounced": 1, "bounces": 1, "unsubscribed": 1, "unsubscribes": 1, "complained": 1, "complaints": 1,
        }
    ]  # fmt: skip


async def test_campaigns__group_by_campaign_and_week(house: House) -> None:
    await house.hook("camp", mail("ann", -8 * DAY), mail("bob", -DAY), mail("bob", -DAY, "Winter"), mail("cat", -DAY, None))
    await house.hook("plain", mail("ann", -DAY))

    rows = await report(house, "group_by=campaign,week&since=2w")

    assert columns_of(rows, "begins_at", "tool", "campaign", "mailed") == [
        ("2026-11-09T00:00:00Z", "camp", "Autumn", 1),
        ("2026-11-16T00:00:00Z", "camp", "Autumn", 1),
        ("2026-11-16T00:00:00Z", "camp", "Winter", 1),
        ("2026-11-16T00:00:00Z", "camp", None, 1),
        ("2026-11-16T00:00:00Z", "plain", "Autumn", 1),
    ]


async def test_campaigns__group_by_tool_alone_counts_a_person_of_two_campaigns_once(house: House) -> None:
    await house.hook("camp", mail("ann", -60), mail("ann", -50, "Winter"))
    await house.hook("plain", mail("ann", -40))

    rows = await report(house, "group_by=tool")

    assert columns_of(rows, "tool", "mailed", "mails") == [("camp", 1, 2), ("plain", 1, 1)]
    assert "campaign" not in rows[0]


async def test_campaigns__a_late_reply_counts_for_the_week_of_its_mail(house: House) -> None:
    await house.hook("camp", mail("ann", -8 * DAY), mail("bob", -8 * DAY), mail("ann", -DAY, event="email_replied"))

    rows = await report(house, "group_by=week&since=2w")

    assert columns_of(rows, "mailed", "replied", "mailed_replied", "reply_rate") == [(2, 0, 1, 0.5), (0, 1, 0, None)]


async def test_campaigns__a_reply_before_the_mail_or_to_another_campaign_is_none_to_it(house: House) -> None:
    await house.hook("camp", mail("ann", -900, event="email_replied"), mail("ann", -600), mail("bob", -500))
    await house.hook("camp", mail("bob", -400, "Winter", event="email_replied"))

    by_campaign, full_report = await report(house), await report(house, "group_by=week&since=1d")

    assert columns_of(by_campaign, "campaign", "mailed_replied") == [("Autumn", 0), ("Winter", 0)]
    assert columns_of(full_report, "mailed_replied") == [(1,)]  # Bob, whatever he answered


async def test_campaigns__a_renamed_campaign_is_one_row(house: House) -> None:
    await house.hook("camp", mail("ann", -60, campaign_id="7"), mail("bob", -50, "Winter", campaign_id="7"))

    assert columns_of(await report(house), "campaign", "campaign_id", "mailed") == [("Winter", "7", 2)]


async def test_campaigns__leave_out_deleted_people_until_they_are_restored(house: House) -> None:
    await house.hook("camp", mail("ann", -60), mail("bob", -50), mail("ann", -40, event="email_replied"))
    ann = (await house.listed("contacts", "email=ann@example.com"))[0]["id"]

    await house.delete(ann)
    without = await report(house)
    await house.restore(ann)

    assert columns_of(without, "mailed", "replied", "mailed_replied") == [(1, 0, 0)]
    assert columns_of(await report(house), "mailed", "replied", "mailed_replied") == [(2, 1, 1)]


async def test_campaigns__forget_an_erased_person(house: House) -> None:
    await house.hook("camp", mail("ann", -60), mail("bob", -50))
    ann = (await house.listed("contacts", "email=ann@example.com"))[0]["id"]

    reply = await house.request("DELETE", f"/public/v2/contacts/{ann}?erase=true")

    assert reply.status == 200, reply.body
    assert columns_of(await report(house), "mailed", "mails") == [(1, 1)]


async def test_campaigns__a_merged_person_is_one_and_a_repeat_counts_once(house: House) -> None:
    await house.hook("camp", mail("ann", -60), mail("bob", -50))
    await house.hook("camp", mail("ann", -60))
    await house.replay()
    ann, bob = (item["id"] for item in await house.listed())

    merged = await house.merge(ann, bob)
    together = await report(house)
    await house.undo(ann, merged["merge_id"])

    assert columns_of(together, "mailed", "mails") == [(1, 2)]
    assert columns_of(await report(house), "mailed", "mails") == [(2, 2)]


async def test_campaigns__weeks_begin_in_the_time_zone(house: House) -> None:
    before_monday_in_tokyo = -(4 * DAY + 18 * 3600 + 1800 + 1)  # Sunday 15:00 UTC is Monday 00:00 in Tokyo
    await house.hook("camp", mail("ann", before_monday_in_tokyo), mail("bob", before_monday_in_tokyo + 1))

    rows = await report(house, "group_by=week&since=1w&time_zone=Asia/Tokyo")

    assert columns_of(rows, "begins_at", "mailed") == [("2026-11-08T15:00:00Z", 1), ("2026-11-15T15:00:00Z", 1)]


@pytest.mark.parametrize(
    ("query", "parameter", "code"),
    [
        ("group_by=mailbox", "?group_by", "choice"),
        ("group_by=campaign,tool,week", "?group_by", "too_many"),
        ("group_by=day,week", "?group_by", "choice"),
        ("since=yesterday", "?since", "time"),
        ("since=2026-11-21", "?since", "range"),
        ("since=2000-01-01&group_by=day", "?since", "too_many"),
        ("time_zone=Mars", "?time_zone", "time_zone"),
        ("interval=day", "?interval", "unknown"),
        ("since=0001-01-01T00:00:00Z&group_by=week&time_zone=America/New_York", "?since", "range"),
    ],
)
async def test_campaigns__refuse_what_they_cannot_report(house: House, query: str, parameter: str, code: str) -> None:
    reply = await house.request("GET", f"{CAMPAIGNS}?{query}")

    assert reply.status == 422
    assert (parameter, code) in [(fault["pointer"], fault["code"]) for fault in reply.json()["errors"]]
