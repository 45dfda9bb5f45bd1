"""The team's statuses: one list for all clients, with order, label, colour, group and key."""

from __future__ import annotations

from typing import Any

from tests.auth.test_people import Office, grants, office, quick_passwords

__all__ = ["office", "quick_passwords"]
PATH = "/team/v1/statuses"
MEETING = {"name": "meeting_booked", "label": "Meeting", "color": "violet", "group": "won", "key": 2, "closes": True, "expected_days": 14}
LOOK = ("label", "color", "group", "key", "closes", "expected_days")
REPLIED = {"name": "replied", "label": "", "color": "green", "group": "active", "key": 1, "closes": False, "expected_days": None}


async def look(office: Office, client_id: str, name: str, kind: str = "contacts") -> Any:
    statuses = (await office("GET", f"/public/v2/statuses/{kind}", x_client_id=client_id)).json()["data"]
    return next(status["look"] for status in statuses if status["name"] == name)


async def test_team_statuses__are_those_of_every_client_in_the_teams_order(office: Office) -> None:
    put = await office("PUT", PATH, {"data": [REPLIED, MEETING]})
    await office("PUT", "/admin/v1/clients/new", {"settings": {"contact_statuses": {"statuses": ["meeting_booked", "replied"]}}})

    listed = await office("GET", PATH)

    assert (put.status, listed.json()["data"]) == (200, [REPLIED, MEETING])
    assert await look(office, "new", "meeting_booked") == {name: MEETING[name] for name in LOOK}
    assert await look(office, "new", "replied") == {name: REPLIED[name] for name in LOOK}


async def test_renamed_status__keeps_the_look_of_touchbases_word(office: Office) -> None:
    await office("PUT", PATH, {"data": [REPLIED]})
    await office("PATCH", "/public/v2/statuses/contacts/replied", {"name": "Interested"}, x_client_id="ours")

    assert (await look(office, "ours", "Interested"))["color"] == "green"


async def test_companys_status__has_the_look_of_its_name(office: Office) -> None:
    await office("PUT", PATH, {"data": [REPLIED, {"name": "Key account", "color": "amber", "group": "won"}]})
    await office("PUT", "/admin/v1/clients/ours", {"settings": {"company_statuses": {"statuses": ["Key account", "Other"]}}})
    ben = await office.join("ben@example.com", grants=grants(ours="viewer"))

    assert ((await look(office, "ours", "Key account", "companies"))["color"], await look(office, "ours", "Other", "companies")) == (
        "amber",
        None,
    )
    assert [status["name"] for status in (await ben("GET", PATH)).json()["data"]] == ["replied", "Key account"]


async def test_stale_version__is_refused(office: Office) -> None:
    tag = (await office("GET", PATH)).headers["etag"]
    first = await office("PUT", PATH, {"data": [REPLIED]}, if_match=tag)
    second = await office("PUT", PATH, {"data": [MEETING]}, if_match=tag)

    assert (first.status, second.status) == (200, 412)
    assert (await office("GET", PATH)).json()["data"] == [REPLIED]
    assert (await office("PUT", PATH, {"data": []}, if_match=first.headers["etag"])).json()["data"] == []


async def test_wrong_list__names_every_fault(office: Office) -> None:
    wrong = [{"name": "a", "key": 1}, {"name": "a"}, {"name": " ", "key": 1}]

    refused = await office("PUT", PATH, {"data": wrong})

    assert refused.status == 422
    assert [(error["pointer"], error["code"]) for error in refused.json()["errors"]] == [
        ("/data/1/name", "repeated"), ("/data/2/name", "blank"), ("/data/2/key", "repeated"),
    ]  # fmt: skip
    assert (await office("PUT", PATH, {"data": [{"name": "a", "color": "gold"}]})).status == 422
    assert (await office("PUT", PATH, {"data": [{"name": "a", "key": 10}]})).status == 422
    assert (await office("PUT", PATH, {"data": [{"name": "a\0"}]})).status == 422


async def test_list__is_changed_by_administrators_of_all_and_names_no_status_of_another_client(office: Office) -> None:
    await office("PUT", "/admin/v1/clients/theirs", {"settings": {"contact_statuses": {"statuses": ["Project Zeta"]}}})
    await office("PUT", PATH, {"data": [REPLIED, {"name": "Project Zeta"}]})
    ben = await office.join("ben@example.com", grants=grants(ours="admin"))
    eve = await office.join("eve@example.com", role="operator")

    assert [(await person("PUT", PATH, {"data": []})).status for person in (ben, eve)] == [403, 403]
    assert [status["name"] for status in (await ben("GET", PATH)).json()["data"]] == ["replied"]
    assert [status["name"] for status in (await eve("GET", PATH)).json()["data"]] == ["replied", "Project Zeta"]
