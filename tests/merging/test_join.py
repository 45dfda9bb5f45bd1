"""Two contacts of one person, named together by one write: every way in makes them one, or refuses."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient
from tests.examples import examples
from tests.house import NOON, House, house, read
from tests.imports.jobs import finished, upload, worker

from touchbase.common.timestamps import SECOND
from touchbase.sql.store import Store

__all__ = ["house"]
CONTACTS = "/public/v2/contacts"
ANN, PROFILE = "ann@example.com", "https://www.linkedin.com/in/ann-lee"
BOTH = {"email": ANN, "linkedin_url": PROFILE}


async def post(house: House, sent: dict[str, Any]) -> int:
    return (await house.request("POST", f"{CONTACTS}?on_duplicate=update", sent)).status


async def post_with_key(house: House, sent: dict[str, Any]) -> int:
    replies = [await house.request("POST", f"{CONTACTS}?on_duplicate=update", sent, idempotency_key="k") for _ in range(2)]
    assert replies[0].json().get("id") == replies[1].json().get("id")
    return replies[1].status


async def put_by_email(house: House, sent: dict[str, Any]) -> int:
    return (await house.request("PUT", f"{CONTACTS}?match=email", sent)).status


async def put_by_linkedin(house: House, sent: dict[str, Any]) -> int:
    return (await house.request("PUT", f"{CONTACTS}?match=linkedin_url", sent)).status


async def batch_upsert(house: House, sent: dict[str, Any]) -> int:
    commands = [{"op": "upsert", "match": "email", "body": sent}, {"op": "upsert", "body": {"email": "other@example.com"}}]
    return (await house.request("POST", f"{CONTACTS}/batch", {"commands": commands})).json()["results"][0]["status"]


async def batch_create(house: House, sent: dict[str, Any]) -> int:
    command = {"op": "create", "on_duplicate": "update", "body": sent}
    reply = await house.request("POST", f"{CONTACTS}/batch", {"commands": [command], "atomic": True})
    return 200 if reply.status == 200 else 409


async def import_row(house: House, sent: dict[str, Any], **options: str) -> int:
    rows = f"{','.join(sent)}\n{','.join(sent.values())}\n".encode()
    query = "&".join(f"{name}={value}" for name, value in options.items())
    uploaded = await house.call.in_pieces("POST", f"{CONTACTS}/imports?start=true&{query}", [rows], **{"x-client-id": house.client_id})
    await worker(house.call).drain()
    job = (await house.request("GET", f"/public/v2/jobs/{uploaded.json()['id']}")).json()
    return 409 if job["progress"]["invalid"] else 200


async def import_row_by_email(house: House, sent: dict[str, Any]) -> int:
    return await import_row(house, sent, match="email")


async def webhook(house: House, sent: dict[str, Any]) -> int:
    await house.hook("camp", {"event": "email_sent", **sent, "at": -1})
    return 200


REQUESTS = [post, post_with_key, put_by_email, put_by_linkedin, batch_upsert, batch_create, import_row, import_row_by_email]
WAYS = [*REQUESTS, webhook]


async def from_linkedin(house: House) -> int:
    """A contact that a campaign tool has made by its profile alone."""
    await house.hook("camp", {"event": "linkedin_sent", "linkedin_url": PROFILE, "last_name": "Lee", "at": -20})
    return int((await house.listed(query="sort=-id"))[0]["id"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("by_request", [True, False])
async def test_write__with_the_keys_of_two_contacts_makes_them_one(house: House, way: Any, by_request: bool) -> None:
    ann = await house.contact(email=ANN, first_name="Ann")
    other_contact = await (house.contact(linkedin_url=PROFILE, last_name="Lee") if by_request else from_linkedin(house))

    status = await way(house, BOTH)

    assert status == 200
    record = await house.get(ann)
    assert (record["email"], record["linkedin_url"], record["first_name"], record["last_name"]) == (ANN, PROFILE, "Ann", "Lee")
    assert other_contact not in [item["id"] for item in await house.listed()]
    match = (await house.request("POST", f"{CONTACTS}/match", {"items": [{"email": ANN}, {"linkedin_url": PROFILE}, BOTH]})).json()["data"]
    assert [item["id"] for item in match] == [ann] * 3
    assert await house.differences() == []


@pytest.mark.parametrize("way", WAYS)
async def test_write__with_keys_of_contacts_with_different_addresses_leaves_them(house: House, way: Any) -> None:
    await house.contact(email=ANN)
    await house.contact(email="bob@example.com", linkedin_url=PROFILE)

    status = await way(house, BOTH)

    assert {item["email"] for item in await house.listed()} >= {ANN, "bob@example.com"}
    assert status == (200 if way in (webhook, import_row, import_row_by_email) else 409)  # they leave the profile out


async def post_to_return(house: House, sent: dict[str, Any]) -> int:
    return (await house.request("POST", f"{CONTACTS}?on_duplicate=return", sent)).status


async def dry_run(house: House, sent: dict[str, Any]) -> int:
    reply = await house.request("POST", f"{CONTACTS}?on_duplicate=update&dry_run=true", sent)
    return int(reply.json()["status"]) if reply.status == 200 else reply.status


async def import_row_by_linkedin(house: House, sent: dict[str, Any]) -> int:
    return await import_row(house, sent, match="linkedin_url")


MAKE_ANOTHER = (webhook, import_row, import_row_by_email, import_row_by_linkedin)
"""They have nobody to ask: they make the contact without the profile, and list that."""


@pytest.mark.parametrize("way", [*WAYS, post_to_return, dry_run, import_row_by_linkedin])
@pytest.mark.parametrize("by_request", [True, False])
async def test_write__with_the_profile_of_a_contact_with_another_address_leaves_it(house: House, way: Any, by_request: bool) -> None:
    if by_request:
        bob = await house.contact(email="bob@example.com", linkedin_url=PROFILE, last_name="Ng")
    else:
        await house.hook("camp", {"event": "email_sent", "email": "bob@example.com", "linkedin_url": PROFILE, "last_name": "Ng", "at": -30})
        (bob,) = [item["id"] for item in await house.listed()]
    items = [BOTH, {"email": ANN}, {"linkedin_url": PROFILE}]

    status = await way(house, BOTH)

    record = await house.get(bob)
    assert (record["email"], record["linkedin_url"], record["last_name"]) == ("bob@example.com", PROFILE, "Ng")
    anns = [item.get("linkedin_url", "") for item in await house.listed(query=f"email={ANN}")]
    assert (status, anns) == ((200, [""]) if way in MAKE_ANOTHER else (409, []))
    both, _, of_profile = (await house.request("POST", f"{CONTACTS}/match", {"items": items})).json()["data"]
    assert (of_profile["id"], both["error"]["code"]) == (bob, "ambiguous")
    assert await house.differences() == []


@pytest.mark.parametrize("way", [post, put_by_linkedin, batch_create, import_row, webhook, post_to_return])
async def test_write__with_a_former_address_of_the_contact_of_its_profile_is_about_it(house: House, way: Any) -> None:
    ann = await house.contact(email=ANN, linkedin_url=PROFILE)
    await house.request("PATCH", f"{CONTACTS}/{ann}", {"email": "ann@new.example"})

    status = await way(house, BOTH)

    assert (status, [item["id"] for item in await house.listed()]) == (200, [ann])
    assert await house.differences() == []


@pytest.mark.parametrize("way", WAYS)
async def test_write__with_an_unknown_address_gives_it_to_the_contact_of_the_profile(house: House, way: Any) -> None:
    ann = await house.contact(linkedin_url=PROFILE)

    status = await way(house, BOTH)

    assert (status, (await house.get(ann))["email"]) == (200, ANN)


OTHER_PROFILE = "https://www.linkedin.com/in/ann-2"


async def test_profile_of_a_campaign_tool__is_a_further_one_of_a_contact_with_another(house: House) -> None:
    ann = await house.contact(**BOTH)
    await house.hook("camp", {"event": "email_sent", "email": ANN, "linkedin_url": OTHER_PROFILE, "at": 1})

    found = await house.request("POST", f"{CONTACTS}/match", {"items": [{"linkedin_url": OTHER_PROFILE}]})
    refused = await house.request("POST", CONTACTS, {"email": "bob@example.com", "linkedin_url": OTHER_PROFILE})

    assert (found.json()["data"][0]["id"], (await house.get(ann))["linkedin_url"]) == (ann, PROFILE)
    assert (refused.status, refused.json()["existing_id"]) == (409, ann)
    assert await house.differences() == []


@pytest.mark.parametrize("is_late", [True, False])
async def test_profile_that_a_request_replaced__is_free_again(house: House, is_late: bool) -> None:
    named = {"event": "email_sent", "email": ANN, "linkedin_url": OTHER_PROFILE}
    await house.hook("camp", {**named, "at": -30} | ({"linkedin_url": None} if is_late else {}))
    [ann] = await house.listed()
    house.call.clock.move(1)
    await house.request("PATCH", f"{CONTACTS}/{ann['id']}", {"linkedin_url": PROFILE})

    for at in (-20, 20):  # a campaign tool sends the profile with each event
        await house.hook("camp", {**named, "at": at} if at < 0 or not is_late else {"event": "email_sent", "email": ANN, "at": at})

    reply = await house.request("POST", CONTACTS, {"email": "bob@example.com", "linkedin_url": OTHER_PROFILE})
    assert (reply.status, (await house.get(ann["id"]))["linkedin_url"]) == (201, PROFILE)
    assert await house.differences() == []


@pytest.mark.parametrize("way", [post, put_by_email, batch_create, import_row])
async def test_write__with_an_external_id_and_an_address_of_two_contacts_makes_them_one(house: House, way: Any) -> None:
    ann = await house.contact(email=ANN)
    await house.contact(external_id="x-1", last_name="Lee")

    await way(house, {"email": ANN, "external_id": "x-1"})

    record = await house.get(ann)
    assert (record["external_id"], record["last_name"]) == ("x-1", "Lee")


async def test_batch__joins_in_the_order_of_its_commands(house: House) -> None:
    ann = await house.contact(email=ANN)
    contact = await house.contact(linkedin_url=PROFILE)
    bodies: list[dict[str, Any]] = [BOTH, {"linkedin_url": PROFILE, "email": "ann@new.example"}, {"linkedin_url": PROFILE, "email": None}]
    commands = [{"op": "upsert", "match": "linkedin_url", "body": body} for body in (*bodies, bodies[1])]

    reply = await house.request("POST", f"{CONTACTS}/batch", {"commands": [*commands, {"op": "create", "body": {"email": ANN}}]})

    assert [item["status"] for item in reply.json()["results"]] == [200, 409, 200, 200, 201]
    record = await house.get(ann)
    assert (record["email"], record["linkedin_url"], "emails" in record) == ("ann@new.example", PROFILE, False)
    assert contact not in [item["id"] for item in await house.listed()]
    assert await house.differences() == []


async def test_write__of_two_contacts_with_different_external_ids_is_refused(house: House) -> None:
    await house.contact(email=ANN, external_id="x-1")
    await house.contact(linkedin_url=PROFILE, external_id="x-2")

    assert await post(house, BOTH) == 409


async def test_join__can_be_undone(house: House) -> None:
    ann = await house.contact(email=ANN)
    contact = await house.contact(linkedin_url=PROFILE, last_name="Lee")
    await post(house, BOTH)
    log = (await house.request("GET", "/public/v2/events?types=contact.merged")).json()["data"]

    await house.undo(ann, log[0]["data"]["merge_id"])

    assert [item["data"]["merged"] for item in log] == [[contact]]
    assert (await house.get(contact))["last_name"] == "Lee"
    assert await house.differences() == []


async def merges(house: House, number: int) -> list[tuple[str, Any]]:
    """The events of a contact's timeline that made records one."""
    reply = await house.request("GET", f"{CONTACTS}/{number}/timeline")
    return [(each["event"], each["merged"]) for each in reply.json()["data"] if "merged" in each]


@pytest.mark.parametrize("by_request", [True, False])
async def test_timeline__shows_which_contact_a_webhook_joined(house: House, by_request: bool) -> None:
    ann = await house.contact(email=ANN)
    other = await (house.contact(linkedin_url=PROFILE) if by_request else from_linkedin(house))

    await house.hook("camp", {"event": "email_opened", **BOTH, "at": 1}, {"event": "email_clicked", **BOTH, "at": 2})
    await house.replay()

    assert await merges(house, ann) == [("email_opened", {"records": [other], "merge_id": None, "undone": False})]


async def test_timeline__shows_which_contact_a_crm_merged(house: House) -> None:
    for number, email in ((1, ANN), (2, "lee@example.com")):
        seen = {"object_type": "contact", "object_id": str(number), "email": email, "at": 1}
        await house.hook("hubspot", {"event": "contact.updated", **seen})
    lee, ann = [each["id"] for each in await house.listed(query="sort=-id")]
    gone = {"object_type": "contact", "object_id": "2", "merged_into": "1", "absorbed": True}

    await house.hook("hubspot", {"event": "contact.deleted", **gone, "at": 2})

    [contact] = await house.listed()
    joined = {"records": [ann + lee - contact["id"]], "merge_id": None, "undone": False}
    assert await merges(house, contact["id"]) == [("contact.deleted", joined)]


async def test_timeline__shows_a_merge_and_that_it_was_undone(house: House) -> None:
    ann, bob = await house.contact(email=ANN), await house.contact(email="bob@example.com")
    merge = (await house.merge(ann, bob))["merge_id"]
    shown = {"records": [bob], "merge_id": merge, "undone": False}
    assert await merges(house, ann) == [("contact.merged", shown)]

    await house.undo(ann, merge)

    assert await merges(house, ann) == [("contact.merged", shown | {"undone": True})]


async def test_join__that_is_refused_for_another_reason_changes_nothing(house: House) -> None:
    await house.call.settings(house.client_id, contact_statuses={"statuses": ["new", "old"], "transitions": {"old": []}})
    await house.contact(email=ANN, contact_status="old")
    contact = await house.contact(linkedin_url=PROFILE)

    status = await post(house, {**BOTH, "contact_status": "new"})

    assert status == 422
    assert (await house.get(contact))["linkedin_url"] == PROFILE


async def test_dry_run__shows_a_join_and_does_none(house: House) -> None:
    ann = await house.contact(email=ANN)
    contact = await house.contact(linkedin_url=PROFILE)

    reply = await house.request("PUT", f"{CONTACTS}?match=email&dry_run=true", BOTH)

    assert (reply.json()["status"], reply.json()["id"]) == (200, ann)
    assert (await house.get(contact))["linkedin_url"] == PROFILE


KEYS = {"email": [ANN, "bob@example.com"], "linkedin_url": [PROFILE, "https://www.linkedin.com/in/bob"], "external_id": ["x-1", "x-2"]}
NAMED = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in KEYS.items()}).filter(bool)
_NUMBERS = itertools.count()


async def person_of(call: ApiClient, way: Any, before: list[dict[str, str]], sent: dict[str, str]) -> set[int] | None:
    """Which of these contacts, by their place, have the keys of a write after it, or a new one (-1); None: the write was refused."""
    house = await House.of(call, f"way{next(_NUMBERS)}")
    replies = [await house.request("POST", CONTACTS, item) for item in before]
    places = {reply.json()["id"]: place for place, reply in enumerate(replies) if reply.status == 201}
    if await way(house, sent) not in (200, 201):
        return None
    assert await house.differences() == []
    items = [{name: value} for name, value in sent.items()]
    result = (await house.request("POST", f"{CONTACTS}/match", {"items": items})).json()["data"]
    return {places.get(item["id"], -1) for item in result}


@given(before=st.lists(NAMED, max_size=4), sent=NAMED)
@example(before=[{"email": ANN, "linkedin_url": PROFILE}], sent={"email": ANN, "linkedin_url": KEYS["linkedin_url"][1]})
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_two_ways_in__with_the_same_keys_find_the_same_person(
    store: Store, make_client: MakeClient, before: list[dict[str, str]], sent: dict[str, str]
) -> None:
    call = make_client(store, read=read)

    results = [await person_of(call, way, before, sent) for way in (post, put_by_email, put_by_linkedin, batch_create, batch_upsert)]

    people = [item for item in results if item is not None]
    assert all(len(item) == 1 and item == people[0] for item in people), results
    for way in (import_row, *([] if "external_id" in sent else [webhook])):  # they have nobody to ask, and leave a key out
        person = await person_of(call, way, before, sent)
        assert person is not None
        assert person == results[0] if results[0] is not None else len(person) > 1, (way, person, results)


@pytest.mark.parametrize("match", ["", "email"])
async def test_test_run_of_an_import__shows_the_rows_that_join_contacts(house: House, match: str) -> None:
    ann = await house.contact(email=ANN)
    other_contact, lee = await house.contact(linkedin_url=PROFILE), await house.contact(email="lee@example.com")
    rows = f"email,linkedin_url\n{ANN},{PROFILE}\nlee@example.com,\nlee@example.com,{PROFILE}\n".encode()
    options = {"match": match} if match else {}

    tested = await finished(house.call, await upload(house.call, rows, start="true", dry_run="true", **options))

    assert (tested["progress"]["joined"], tested["progress"]["invalid"]) == (1, 0)
    reply = await house.call.get(f"/public/v2/jobs/{tested['id']}/report")
    assert f"merges contact {other_contact} into {ann}: the row has keys of both" in reply.body.decode()
    assert {item["id"] for item in await house.listed()} == {ann, other_contact, lee}
    imported_job = await finished(house.call, await upload(house.call, rows[: rows.rindex(b"lee")], start="true", **options))
    assert imported_job["progress"]["joined"] == 1
    assert {item["id"] for item in await house.listed()} == {ann, lee}
    assert await house.differences() == []


@pytest.mark.parametrize("primary", ["ann", "lee"])
@pytest.mark.parametrize("is_first", [True, False], ids=["created first", "created last"])
async def test_crm_that_merges_two_contacts_of_requests__leaves_the_values_of_its_primary_one(
    house: House, primary: str, is_first: bool
) -> None:
    """The other one's values fill gaps only, whichever were written last."""
    people = {
        "ann": {
            "email": "ann@example.com",
            "first_name": "Ann",
            "contact_status": "won",
            "contact_custom_fields": [{"field_name": "plan", "field_value": "pro"}],
        },
        "lee": {
            "email": "lee@example.com",
            "first_name": "Lee",
            "contact_status": "new",
            "contact_custom_fields": [{"field_name": "plan", "field_value": "free"}],
        },
    }
    second = "lee" if primary == "ann" else "ann"
    people[second] |= {"last_name": "Fox"}
    ids = {}
    for name in (primary, second) if is_first else (second, primary):
        house.call.clock.move(1)
        ids[name] = await house.contact(**people[name])
        house.call.clock.move(1)
        await house.call.patch(f"/public/v2/contacts/{ids[name]}", {"first_name": name.title() + "a"})
        seconds = (house.call.clock.now - NOON) / SECOND
        observed = {"object_type": "contact", "object_id": name, "at": seconds}
        await house.hook("hubspot", {"event": "contact.updated", "email": people[name]["email"], **observed})
    house.call.clock.move(1)
    gone = {"object_type": "contact", "object_id": second, "merged_into": primary, "absorbed": True}

    await house.hook("hubspot", {"event": "contact.deleted", "at": (house.call.clock.now - NOON) / SECOND, **gone})

    [contact] = await house.listed()
    shown = (contact["id"], contact["email"], contact["first_name"], contact["last_name"], contact["contact_status"])
    expected = people[primary]
    assert shown == (ids[primary], expected["email"], primary.title() + "a", "Fox", expected["contact_status"])
    custom = [{name: field[name] for name in ("field_name", "field_value")} for field in contact["contact_custom_fields"]]
    assert custom == expected["contact_custom_fields"]
    assert sorted(contact["emails"]) == ["ann@example.com", "lee@example.com"]
    assert await house.differences() == []
    await house.replay()
    assert await house.listed() == [contact]

    house.call.clock.move(1)
    await house.call.patch(f"/public/v2/contacts/{contact['id']}", {"first_name": "Later"})
    assert (await house.get(contact["id"]))["first_name"] == "Later"
    assert await house.differences() == []
