"""Renaming a field and merging two: records, history, later writes under the old name, replays, the bin."""

from __future__ import annotations

import pytest
from tests.custom_fields.fields import contact, done, inputs, listed, path, rename, uses, values
from tests.house import House

from touchbase.common.timestamps import to_text

JANE = "jane@a.example"
SEVEN = {"object_type": "contact", "object_id": "7"}


def said(at: int, email: str = JANE, **custom: str | None) -> dict[str, object]:
    """A CRM's event that sets custom fields."""
    return {"event": "contact.updated", "at": at, "object_type": "contact", "object_id": email, "email": email, "custom": custom}


async def test_rename__moves_the_values_and_the_history_says_so(house: House) -> None:
    jane = await contact(house, JANE, Industry="Bank", Seats="4")
    other_contact = await contact(house, "ann@a.example", Seats="4")
    before = (await house.get(other_contact))["updated_time"]
    house.call.clock.move(60)

    tried = await house.request("PATCH", f"{path('Industry')}?dry_run=true", {"name": "Sector"})
    assert tried.json() == {
        "dry_run": True, "records": 1,
        "samples": [{"id": jane, "before": {"Industry": "Bank", "Sector": None}, "after": {"Industry": None, "Sector": "Bank"}}],
    }  # fmt: skip
    assert await uses(house) == {"Industry": 1, "Seats": 2}
    job = await rename(house, "Industry", "Sector")

    assert job["settings"] == {"action": "rename", "field": "Industry", "into": "Sector"}
    assert job["progress"] == {"records": 1, "total": 1, "percent": 100}
    assert await values(house, jane) == {"Sector": "Bank", "Seats": "4"}
    assert (await house.get(other_contact))["updated_time"] == before
    result = (await listed(house))[1]
    assert (result["name"], result["former_names"]) == ("Sector", ["Industry"])
    timeline = (await house.request("GET", f"/public/v2/contacts/{jane}/timeline")).json()["data"]
    assert [item["request_id"] for item in timeline if item["event"] == "contact.updated"] == [f"job:{job['id']}"]
    assert await house.differences() == []


async def changes(house: House, number: int, field: str = "Sector") -> list[tuple[object, ...]]:
    """The changes of a custom field in the timeline of a contact, oldest first; with no other custom field beside it."""
    timeline = (await house.request("GET", f"/public/v2/contacts/{number}/timeline")).json()["data"]
    changed = [change for event in reversed(timeline) for change in event["changed"] if change["field"] in (field, "Industry", "Branch")]
    assert {change["field"] for change in changed} <= {field}, changed
    return [(change["previous"], change["value"], change.get("former_name")) for change in changed]


async def test_rename__the_history_has_one_field_under_its_present_name(house: House) -> None:
    jane = await contact(house, JANE, Industry="Bank")
    await house.hook("hubspot", said(1, Industry="Retail") | {"changed": [{"property": "Industry", "value": "Retail"}]})
    house.call.clock.move(60)
    between = house.call.clock.now
    job = await rename(house, "Industry", "Sector")
    house.call.clock.move(60)
    await house.hook("hubspot", said(120, Industry="Food"))
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(Sector="Energy")})

    assert await changes(house, jane) == [
        (None, "Bank", "Industry"), ("Bank", "Retail", "Industry"), ("Retail", "Retail", "Industry"), ("Retail", "Food", None),
        ("Food", "Energy", None),
    ]  # fmt: skip
    for name in ("Industry", "Sector"):
        history = (await house.request("GET", f"/public/v2/contacts/{jane}/history?field=cf.{name}")).json()["data"]
        assert [(item["field"], item["previous"], item["value"]) for item in reversed(history)] == [
            ("cf.Sector", None, "Bank"), ("cf.Sector", "Bank", "Retail"), ("cf.Sector", "Retail", "Food"), ("cf.Sector", "Food", "Energy"),
        ]  # fmt: skip
        [sector] = (await house.request("GET", f"/public/v2/contacts/{jane}/explain?field=cf.{name}")).json()["data"]
        reasons = {item["event"]["request_id"]: item["reason"] for item in sector["others"]}
        assert (sector["field"], sector["value"]) == ("cf.Sector", "Energy")
        assert reasons[f"job:{job['id']}"] == "it renamed 'Industry'; the event that had set the value stays its source"
    explained = (await house.request("GET", f"/public/v2/contacts/{jane}/explain")).json()["data"]
    assert [item["field"] for item in explained if item["field"].startswith("cf.")] == ["cf.Sector"]
    past = (await house.request("GET", f"/public/v2/contacts/{jane}?structure=FLAT&as_of={to_text(between)}")).json()
    assert past["contact_custom_fields"] == {"Sector": "Retail"}


async def test_rename__a_late_value_is_told_once_in_a_record_that_came_after(house: House) -> None:
    await contact(house, JANE, Industry="Bank")
    await rename(house, "Industry", "Sector")
    house.call.clock.move(60)

    changed = [{"property": "Industry", "value": "Retail", "previous": "Shops"}]
    await house.hook("hubspot", said(30, "new@a.example", Industry="Retail") | {"changed": changed})

    [new] = [item["id"] for item in await house.listed() if item["email"] == "new@a.example"]
    assert await changes(house, new) == [(None, "Retail", None)]


async def test_rename__back_and_a_new_field_of_the_former_name_are_told_apart(house: House) -> None:
    jane = await contact(house, JANE, Industry="Bank")
    for former, name in (("Industry", "Line"), ("Line", "Industry"), ("Industry", "Sector")):
        house.call.clock.move(60)
        await rename(house, former, name)
    assert {change[:2] for change in await changes(house, jane)} == {(None, "Bank"), ("Bank", "Bank")}
    assert (await house.request("DELETE", path("Industry"))).status == 204
    house.call.clock.move(60)
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(Industry="heavy")})

    for name, values_ in (("Sector", ["Bank"]), ("Industry", ["heavy"])):
        history = (await house.request("GET", f"/public/v2/contacts/{jane}/history?field=cf.{name}")).json()["data"]
        assert [item["value"] for item in history] == values_


async def test_merge__is_one_field_where_one_was_and_two_where_both_were(house: House) -> None:
    both = await contact(house, JANE, Branch="Money", Industry="Bank")
    first_contact = await contact(house, "ann@a.example", Branch="Retail")
    house.call.clock.move(60)
    await done(house, await house.request("POST", f"{path('Branch')}/merge", {"into": "Industry"}))

    history = (await house.request("GET", f"/public/v2/contacts/{first_contact}/history")).json()["data"]
    assert [(item["field"], item["value"]) for item in history if item["field"].startswith("cf.")] == [("cf.Industry", "Retail")]
    history = (await house.request("GET", f"/public/v2/contacts/{both}/history")).json()["data"]
    assert {(item["field"], item["previous"], item["value"]) for item in history if item["field"].startswith("cf.")} == {
        ("cf.Branch", None, "Money"), ("cf.Branch", "Money", None), ("cf.Industry", None, "Bank"),
    }  # fmt: skip


async def test_rename__writes_under_the_old_name_reach_the_field(house: House) -> None:
    jane = await contact(house, JANE, Industry="Bank")
    await rename(house, "Industry", "Sector")
    house.call.clock.move(60)

    await house.hook("hubspot", said(30, Industry="Retail"))
    assert await values(house, jane) == {"Sector": "Retail"}
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(Industry="Energy")})
    new = await contact(house, "new@a.example", Industry="Energy")
    assert await values(house, jane) == await values(house, new) == {"Sector": "Energy"}
    assert len(await house.listed(query="cf.Industry=energy")) == 2
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(Industry=None)})
    assert await values(house, jane) == {}
    both = await house.request("POST", "/public/v2/contacts", {"contact_custom_fields_input": inputs(Industry="a", Sector="b")})
    assert (both.status, both.problem["errors"][0]["code"]) == (422, "repeated")
    await house.replay()
    assert await values(house, jane) == {}
    assert await house.differences() == []


async def test_rename__a_replay_and_repeats_do_not_bring_the_old_field_back(house: House) -> None:
    await house.hook("hubspot", said(1, Industry="Bank"))
    house.call.clock.move(60)
    [record] = await house.listed()
    await rename(house, "Industry", "Sector")

    await house.replay()
    await house.hook("hubspot", said(1, Industry="Bank"))

    assert await values(house, record["id"]) == {"Sector": "Bank"}
    assert await uses(house) == {"Sector": 1}
    assert await house.differences() == []


async def test_rename__webhooks_that_waited_and_records_from_the_bin_have_the_new_name(house: House) -> None:
    jane = await contact(house, JANE, Industry="Bank")
    await house.delete(jane)
    await house.hook("hubspot", {**SEVEN, "event": "contact.updated", "at": 5, "custom": {"Industry": "IT"}})
    assert await house.states() == ["parked"]
    house.call.clock.move(60)
    keep = await contact(house, "keep@a.example", Industry="Retail")
    await rename(house, "Industry", "Sector")

    await house.restore(jane)
    await house.hook("hubspot", {**SEVEN, "event": "contact.created", "at": 50, "email": "seven@a.example"})

    [seven] = [item["id"] for item in await house.listed() if item["email"] == "seven@a.example"]
    assert [await values(house, item) for item in (jane, keep, seven)] == [{"Sector": "Bank"}, {"Sector": "Retail"}, {"Sector": "IT"}]
    feed = (await house.request("GET", "/public/v2/events?limit=200")).json()["data"]
    reported = [(event["type"], event["data"]["changed"].get("cf.Sector")) for event in feed if event["data"]["record_id"] in (jane, seven)]
    assert reported[-2:] == [("contact.restored", [None, "Bank"]), ("contact.created", [None, "IT"])]
    assert await uses(house) == {"Sector": 3}
    assert await house.differences() == []


async def test_rename__undoing_a_merge_of_records_gives_the_new_name(house: House) -> None:
    jane = await contact(house, JANE, Industry="Bank")
    ann = await contact(house, "ann@a.example", Industry="Retail")
    merge = (await house.merge(jane, ann))["merge_id"]
    house.call.clock.move(60)
    await rename(house, "Industry", "Sector")

    await house.undo(jane, merge)

    assert [await values(house, item) for item in (jane, ann)] == [{"Sector": "Bank"}, {"Sector": "Retail"}]
    assert await house.differences() == []
    feed = (await house.request("GET", "/public/v2/events?limit=200")).json()["data"]
    of_ann = [event for event in feed if event["data"]["record_id"] == ann]
    assert [event["type"] for event in of_ann] == ["contact.created", "contact.restored"]
    assert of_ann[1]["data"]["changed"] == {"email": [None, "ann@a.example"], "cf.Sector": [None, "Retail"]}


async def test_rename__back_and_on_is_followed_by_every_name(house: House) -> None:
    jane = await contact(house, JANE, A="1")
    for old, new in (("A", "B"), ("B", "C"), ("C", "A"), ("A", "D")):
        await rename(house, old, new)
        house.call.clock.move(1)

    for number, name in enumerate("ABCD"):
        await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(**{name: str(number)})})
        assert await values(house, jane) == {"D": str(number)}
    [result] = await listed(house)
    assert result["former_names"] == ["A", "B", "C"]
    assert (await house.request("POST", path(), {"name": "A"})).status == 409
    assert (await house.request("DELETE", path("A"))).status == 204
    assert (await house.request("POST", path(), {"name": "A"})).status == 201
    assert await house.differences() == []


async def test_rename__to_a_name_in_use_is_refused(house: House) -> None:
    await contact(house, JANE, Industry="Bank", Sector="Money")

    for query in ("", "?dry_run=true"):
        taken = await house.request("PATCH", f"{path('Industry')}{query}", {"name": "Sector"})
        missing = await house.request("PATCH", f"{path('Branch')}{query}", {"name": "Sector2"})
        assert (taken.status, taken.problem["code"]) == (409, "duplicate")
        assert missing.status == 404
    assert await uses(house) == {"Industry": 1, "Sector": 1}


async def test_rename__to_the_name_of_a_field_that_was_removed_keeps_the_values(house: House) -> None:
    jane = await contact(house, JANE, Sector="Old", Industry="Bank")
    house.call.clock.move(60)
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(Sector=None)})
    house.call.clock.move(60)
    await rename(house, "Industry", "Sector")
    assert await values(house, jane) == {"Sector": "Bank"}
    house.call.clock.move(60)
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(Industry=None)})
    assert await values(house, jane) == {}
    assert await house.differences() == []


async def test_rename__keeps_the_type_and_settings_replaced_later_keep_the_name(house: House) -> None:
    await house.request("POST", path(), {"name": "Seats", "type": "number"})
    jane = await contact(house, JANE, Seats="4")
    await rename(house, "Seats", "Employees")

    wrong = await house.request("POST", "/public/v2/contacts", {"contact_custom_fields_input": inputs(Seats="many")})
    assert (wrong.status, wrong.problem["errors"][0]["code"]) == (422, "number")
    await house.call.settings(house.client_id)
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"contact_custom_fields": inputs(Seats="5")})
    assert await values(house, jane) == {"Employees": "5"}


async def test_merge__keeps_the_value_of_the_other_field(house: House) -> None:
    both = await contact(house, JANE, Branch="Money", Industry="Bank")
    first_contact = await contact(house, "ann@a.example", Branch="Retail")
    blank = await contact(house, "bob@a.example", Branch="IT", Industry="x")
    await house.request("PATCH", f"/public/v2/contacts/{blank}", {"contact_custom_fields": inputs(Industry=None)})
    house.call.clock.move(60)

    tried = await house.request("POST", f"{path('Branch')}/merge?dry_run=true", {"into": "Industry"})
    assert [sample["after"]["Industry"] for sample in tried.json()["samples"]] == ["Bank", "Retail", "IT"]
    job = await done(house, await house.request("POST", f"{path('Branch')}/merge", {"into": "Industry"}))

    assert job["progress"]["records"] == 3
    assert [await values(house, item) for item in (both, first_contact, blank)] == [{"Industry": word} for word in ("Bank", "Retail", "IT")]
    await house.hook("hubspot", said(50, Branch="Food"))
    assert await values(house, both) == {"Industry": "Food"}
    assert await house.differences() == []


async def test_companies__are_renamed_too(house: House) -> None:
    number = await house.company("a.example", company_custom_fields=inputs(Size="10"))
    await contact(house, JANE, Size="L")

    await rename(house, "Size", "Employees", "companies")

    assert await values(house, number, "companies") == {"Employees": "10"}
    assert await uses(house) == {"Size": 1}
    assert await house.differences() == []


@pytest.mark.parametrize("is_later", [False, True])
async def test_rename__to_the_name_of_a_removed_field_counts_for_a_record_in_the_bin(house: House, is_later: bool) -> None:
    written = [{"Old": "gone"}, {"Size": "9"}][:: -1 if is_later else 1]
    number = await contact(house, JANE, **written[0])
    house.call.clock.move(1)
    await house.request("PATCH", f"/public/v2/contacts/{number}", {"contact_custom_fields_input": inputs(**written[1])})
    other_contact = await contact(house, email="other@example.com", Old="gone", Size="8")
    await house.delete(number)
    house.call.clock.move(1)
    await done(house, await house.request("DELETE", f"{path('Old')}?values=delete"))
    house.call.clock.move(1)
    await rename(house, "Size", "Old")

    await house.request("POST", f"/public/v2/contacts/{number}/restore")

    assert (await values(house, number), await values(house, other_contact)) == ({"Old": "9"}, {"Old": "8"})
    assert await house.differences() == []
