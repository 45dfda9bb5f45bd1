"""Reports by step and label, reports beside the period before, and the lists of the people that a report counts."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from tests.house import House
from tests.reports.test_campaigns import CAMPAIGNS, DAY, columns_of, mail, report

PEOPLE = ("mailed", "replied", "mailed_replied", "bounced", "unsubscribed", "complained")


def step(who: str, at: int, number: str | None, event: str = "email_sent", **more: Any) -> dict[str, Any]:
    """An event with a message that names its step, as most tools send it."""
    return mail(who, at, event=event, step=number, message={"subject": "Hello", "text": f"{who} {at}"}, **more)


def reply(who: str, at: int, category: str | None = None, number: str | None = None) -> dict[str, Any]:
    return mail(who, at, event="email_replied", step=number, message={"text": f"{who} {at}", "category": category})


@pytest.fixture
async def sequence(house: House) -> House:
    """Three people with two steps; two replies, to the first and to the second."""
    await house.hook("camp", *(step(who, at, "1") for who, at in (("ann", -900), ("bob", -890), ("cat", -880))))
    await house.hook("camp", step("ann", -600, "2"), step("bob", -590, "2"), step("dan", -580, None))
    await house.hook("camp", reply("cat", -500, "interested"), reply("ann", -400, "question"), reply("ann", -300, "interested"))
    await house.hook("camp", mail("bob", -200, event="email_bounced", kind="hard"), mail("cat", -100, event="email_unsubscribed"))
    return house


async def test_steps__count_replies_for_the_last_mail_before_them(sequence: House) -> None:
    rows = await report(sequence, "group_by=step")

    assert columns_of(rows, "step", "mailed", "replied", "replies", "mailed_replied", "bounced", "unsubscribed") == [
        ("1", 3, 1, 1, 1, 0, 1),
        ("2", 2, 1, 2, 1, 1, 0),
        (None, 1, 0, 0, 0, 0, 0),
    ]


async def test_steps__a_step_that_the_reply_names_comes_first(sequence: House) -> None:
    await sequence.hook("camp", reply("bob", -50, number="1"))

    rows = await report(sequence, "group_by=step,campaign")

    assert columns_of(rows, "step", "campaign", "replied") == [("1", "Autumn", 2), ("2", "Autumn", 1), (None, "Autumn", 0)]


async def test_labels__count_replies_only(sequence: House) -> None:
    rows = await report(sequence, "group_by=label")

    assert columns_of(rows, "label", "mailed", "replied", "replies") == [("interested", 0, 2, 2), ("question", 0, 1, 1)]


async def test_labels__a_person_s_choice_comes_first(sequence: House) -> None:
    cat = (await sequence.listed("contacts", "email=cat@example.com"))[0]["id"]
    changed = await sequence.call("PATCH", f"/team/v1/conversations/{sequence.client_id}/{cat}", {"label": "meeting"})
    assert changed.status == 200, changed.body

    rows = await report(sequence, "group_by=label")

    assert columns_of(rows, "label", "replied") == [("interested", 1), ("meeting", 1), ("question", 1)]


async def test_every_number__is_the_length_of_its_list(sequence: House) -> None:
    await sequence.hook("plain", mail("ann", -8 * DAY, "Winter"), mail("eve", -8 * DAY, None))
    await sequence.hook("plain", mail("eve", -60, None, event="email_replied"))
    checked = 0
    for group_by in ("client", "campaign", "tool", "step", "label", "day", "step,day", "campaign,step"):
        for row in await report(sequence, f"group_by={group_by}&since=12d"):
            row["campaign"] = row.get("campaign_id") or row.get("campaign")
            groups = ["campaign"] * ("campaign_id" in row) + [name for name in ("tool", "step", "label") if name in row]
            values = "".join(f";{name}={quote(row[name] or '', safe='')}" for name in groups)
            for people in PEOPLE if group_by != "label" else ("replied",):
                counted = f"{people};since={row['begins_at']};until={row['ends_at']}{values}"
                listed = await sequence.listed("contacts", f"counted={quote(counted, safe='')}")
                assert len(listed) == row[people], (group_by, row, counted)
                checked += row[people]
    assert checked > 20


async def test_counted__is_a_filter_like_others(sequence: House) -> None:
    async def emails(**where: Any) -> list[str]:
        found = await sequence.request("POST", "/public/v2/contacts/search", {"where": where})
        assert found.status == 200, found.body
        return sorted(item["email"].partition("@")[0] for item in found.json()["data"])

    assert await emails(counted="replied;since=1d") == ["ann", "cat"]
    assert await emails(**{"counted[ne]": "replied", "email[starts_with]": "c"}) == []
    assert await emails(**{"counted[ne]": "replied"}) == ["bob", "dan"]
    assert await emails(any=[{"counted": "bounced"}, {"email": "dan@example.com"}]) == ["bob", "dan"]
    assert await emails(counted="mailed;until=2026-11-20T09:15:05Z") == ["ann"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("counted=people", "choice"),
        ("counted=replied;mailbox=x", "choice"),
        ("counted=replied;step=1;step=2", "choice"),
        ("counted=mailed;label=interested", "choice"),
        ("counted=replied;since=monday", "time"),
        ("counted[in]=replied", "operator"),
        ("counted[is_set]=true", "operator"),
        ("counted=replied;step=%2500", "unusable_text"),
    ],
)
async def test_counted__refuses_what_no_report_counts(house: House, query: str, code: str) -> None:
    answer = await house.request("GET", f"/public/v2/contacts?{query}")

    assert (answer.status, [fault["code"] for fault in answer.json()["errors"]]) == (422, [code])


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (CAMPAIGNS, "group_by=day&since=2d"),
        (CAMPAIGNS, "group_by=step&since=2d"),
        (CAMPAIGNS, "group_by=client&since=2026-11-19"),
        ("/public/v2/reports/contacts/statuses", "interval=week&since=2w&time_zone=Europe/Berlin"),
        ("/public/v2/reports/contacts/funnel", "since=15d"),
    ],
)
async def test_compare__has_the_rows_that_the_period_before_has_by_itself(sequence: House, path: str, query: str) -> None:
    await sequence.hook("camp", mail("ann", -3 * DAY), mail("eve", -4 * DAY), mail("fay", -16 * DAY))
    sequence.call.clock.move(20 * DAY if path != CAMPAIGNS else 0)
    compared = (await sequence.request("GET", f"{path}?{query}&compare=previous")).json()
    begins, ends = compared["previous"]["begins_at"], compared["previous"]["ends_at"]

    interval = "&".join(part for part in query.split("&") if not part.startswith("since"))
    alone = (await sequence.request("GET", f"{path}?{interval}&since={begins}&until={ends}")).json()
    plain = (await sequence.request("GET", f"{path}?{query}")).json()

    assert compared["previous"]["data"] == alone["data"] != []
    assert compared["data"] == plain["data"]
    assert "previous" not in plain


async def test_compare__of_all_clients_names_them(sequence: House) -> None:
    await sequence.hook("camp", mail("ann", -3 * DAY))

    answer = (await sequence.call.get("/admin/v1/reports/campaigns?group_by=tool&since=2d&compare=previous")).json()
    assert columns_of(answer["previous"]["data"], "client_id", "tool", "mailed") == [(sequence.client_id, "camp", 1)]


async def test_compare__refuses_other_words(house: House) -> None:
    answer = await house.request("GET", f"{CAMPAIGNS}?compare=last_year")

    assert (answer.status, answer.json()["errors"][0]["pointer"]) == (422, "?compare")
