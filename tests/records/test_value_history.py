"""The values of a record over time: their history, the record as of a time, and why each value is what it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient
from tests.examples import examples

from touchbase.common.timestamps import SECOND, from_text, to_text
from touchbase.deliveries.delivery import Delivery
from touchbase.history.events import Event, StoredEvent, Translation
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE
from touchbase.http.page_turns import WHOLE_PLACES
from touchbase.records import timelines
from touchbase.records.field_projection import API, FieldWrites, Objects, Written
from touchbase.records.value_history import MOST_OTHERS, ExplainedValue, OtherEvent

CREATED, SENT, REPLIED, LATE_SENT = "2026-11-17T08:00:00Z", "2026-11-18T08:00:00Z", "2026-11-19T08:00:00Z", "2026-11-19T20:00:00Z"
NOW = "2026-11-20T09:30:00Z"
DAY = 86_400.0


async def receive(call: ApiClient, body: str, *events: Event) -> None:
    """Receive one webhook and apply it as these events."""

    def translate(delivery: Delivery) -> Translation:
        return Translation("instantly", list(events))

    await call("POST", "/public/emailcampaign-webhook/default", raw=body.encode())
    await call.parts.store.work(call.kept[-1], 10, translate, call.clock.now)


def fact(name: str, at: str, **values: Any) -> Event:
    return Event(name, from_text(at), email="jane@example.com", campaign="Autumn", **values)


async def jane(call: ApiClient) -> None:
    """Jane was created, mailed, replied and was mailed again; the webhooks arrive newest first."""
    call.clock.now = from_text(CREATED)
    fields = [{"field_name": "Seats", "field_value": "10"}]
    await call.post("/public/v2/contacts", {"email": "jane@example.com", "contact_custom_fields_input": fields}, x_request_id="post-1")
    call.clock.now = from_text(NOW)
    await receive(call, "3", fact("email_sent", LATE_SENT))
    await receive(call, "2", fact("email_replied", REPLIED, first_name="Jane"))
    await receive(call, "1", fact("email_sent", SENT))


async def test_explain__names_further_linkedin_profiles_of_a_contact(call: ApiClient) -> None:
    first, other, new = (f"https://www.linkedin.com/in/jane-{name}" for name in ("first", "other", "new"))
    call.clock.now = from_text(CREATED)
    await call.post("/public/v2/contacts", {"email": "jane@example.com", "linkedin_url": first})
    call.clock.now = from_text(NOW)
    before = (await call.get("/public/v2/contacts/1/explain")).json()
    await receive(call, "1", fact("email_sent", SENT, linkedin_url=other))

    named = (await call.get("/public/v2/contacts/1/explain")).json()
    of_one = (await call.get("/public/v2/contacts/1/explain?field=email")).json()
    await call("PATCH", "/public/v2/contacts/1", {"linkedin_url": new})
    after = (await call.get("/public/v2/contacts/1/explain")).json()

    assert named["linkedin_profiles"] == ["linkedin.com/in/jane-other"]
    assert "linkedin_profiles" not in before | of_one
    assert after["linkedin_profiles"] == ["linkedin.com/in/jane-other"]  # the replaced one leads here no more


async def test_history__lists_each_value_of_a_field_with_its_time_and_source(call: ApiClient) -> None:
    await jane(call)

    page = (await call.get("/public/v2/contacts/1/history?field=contact_status")).json()

    assert [(item["value"], item["since"], item["until"], item["seconds"]) for item in page["data"]] == [
        ("replied", REPLIED, None, DAY + 1.5 * 3600),
        ("contacted", SENT, REPLIED, DAY),
    ]
    assert page["data"][0]["set_by"] == {
        "event": "email_replied", "occurred_at": REPLIED, "received_at": NOW, "tool": "instantly", "campaign": "Autumn",
        "delivery_id": 2, "key_id": None, "request_id": None,
        "actor": {"type": "tool", "id": None, "name": "instantly", "via": "webhook"},
    }  # fmt: skip
    assert page["next_cursor"] is None


async def test_history__of_all_fields_has_pages(call: ApiClient) -> None:
    await jane(call)
    full_history = (await call.get("/public/v2/contacts/1/history")).json()["data"]

    results: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = (await call.get(f"/public/v2/contacts/1/history?limit=2&cursor={cursor}")).json()
        results += page["data"]
        cursor = page["next_cursor"]

    assert results == full_history
    assert {item["field"] for item in full_history} >= {"email", "contact_status", "first_name", "cf.Seats", "last_reply_received"}


async def test_as_of__returns_the_values_of_that_time(call: ApiClient) -> None:
    await jane(call)
    await call.patch("/public/v2/contacts/1", {"contact_custom_fields": [{"field_name": "Seats", "field_value": "20"}], "first_name": "J."})

    past = await call.get(f"/public/v2/contacts/1?as_of={SENT}&structure=FLAT")
    present = await call.get("/public/v2/contacts/1?structure=FLAT")

    assert past.status == 200
    assert "etag" not in past.headers
    assert past.json() == {
        "id": 1, "updated_time": SENT, "first_name": "", "last_name": "", "origin": "", "email": "jane@example.com",
        "contact_status": "contacted", "previous_status": None, "status_changed_at": SENT, "first_campaign_email_sent": SENT,
        "last_campaign_email_sent": SENT, "last_reply_received": None, "contact_custom_fields": {"Seats": "10"},
    }  # fmt: skip
    assert (present.json()["first_name"], present.json()["contact_custom_fields"]) == ("J.", {"Seats": "20"})


async def test_as_of__now_returns_the_current_record(call: ApiClient) -> None:
    await jane(call)
    now = to_text(call.clock.now)

    past = (await call.get(f"/public/v2/contacts/1?as_of={now}")).json()
    present = (await call.get("/public/v2/contacts/1")).json()

    assert {**past, "updated_time": None} == {**present, "updated_time": None}


async def test_as_of__before_the_first_event_returns_404(call: ApiClient) -> None:
    await jane(call)

    refused = await call.get("/public/v2/contacts/1?as_of=2026-11-01")

    assert refused.status == 404
    assert CREATED in refused.problem["detail"]


async def test_explain__names_the_source_of_each_value_and_the_values_without_effect(call: ApiClient) -> None:
    await jane(call)
    await receive(call, "4", fact("email_opened", NOW, first_name="Janet"))

    explained = {item["field"]: item for item in (await call.get("/public/v2/contacts/1/explain")).json()["data"]}

    status = explained["contact_status"]
    assert (status["value"], status["set_by"]["delivery_id"]) == ("replied", 2)
    assert [(first["value"], first["event"]["delivery_id"], first["reason"]) for first in status["others"]] == [
        ("contacted", 1, "a sent mail sets a status only on somebody who was not contacted yet; 'replied' is further along"),
        ("contacted", 3, f"email_replied of instantly replaced it at {REPLIED}"),
    ]
    first_name = explained["first_name"]
    assert (first_name["value"], first_name["set_by"]["delivery_id"]) == ("Jane", 2)
    assert [(first["value"], first["reason"]) for first in first_name["others"]] == [
        ("Janet", "a value that a campaign tool carries along only fills an empty field")
    ]
    assert explained["email"]["set_by"]["request_id"] == "post-1"
    assert explained["last_name"] == {"field": "last_name", "value": None, "set_by": None, "others": [], "others_total": 0}


async def test_explain__names_a_status_outside_the_set_of_the_client(call: ApiClient) -> None:
    call.clock.now = from_text(CREATED)
    await call.settings("default", contact_statuses={"statuses": ["contacted", "customer"], "transitions": {}})
    await call.post("/public/v2/contacts", {"email": "jane@example.com"})
    await receive(call, "1", fact("email_sent", SENT), fact("lead_status_changed", REPLIED, status="hot"))

    (status,) = (await call.get("/public/v2/contacts/1/explain?field=contact_status")).json()["data"]

    assert status["value"] == "contacted"
    assert [(first["value"], "'hot'" in first["reason"]) for first in status["others"]] == [("hot", True)]


@pytest.mark.parametrize("route", ["history", "explain"])
async def test_history_and_explain__refuse_an_unknown_field_and_suggest_the_nearest(call: ApiClient, route: str) -> None:
    await jane(call)

    refused = await call.get(f"/public/v2/contacts/1/{route}?field=contact_statu")

    assert refused.status == 422
    assert refused.problem["errors"][0]["pointer"] == "?field"
    assert "did you mean contact_status?" in refused.problem["errors"][0]["detail"]


async def test_company__has_history_as_of_and_explain(call: ApiClient) -> None:
    call.clock.now = from_text(CREATED)
    await call.post("/public/v2/companies", {"domain": "example.com", "name": "Example", "company_status": "new"})
    call.clock.now = from_text(NOW)
    await call.patch("/public/v2/companies/1", {"name": "Example Ltd", "company_status": "customer"})

    names = (await call.get("/public/v2/companies/1/history?field=name")).json()["data"]
    past = (await call.get(f"/public/v2/companies/1?as_of={SENT}")).json()
    (explained,) = (await call.get("/public/v2/companies/1/explain?field=company_status")).json()["data"]

    assert [(name["value"], name["previous"]) for name in names] == [("Example Ltd", "Example"), ("Example", None)]
    assert (past["name"], past["company_status"], past["domain"]) == ("Example", "new", "example.com")
    assert (explained["value"], explained["set_by"]["event"]) == ("customer", "company.updated")


NAMES = ["email_sent", "email_replied", "email_bounced", "email_unsubscribed", "email_resubscribed", "lead_status_changed", "email_opened"]
FACTS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 20), st.sampled_from(["", "Ann", "Bo"])), min_size=1, max_size=8)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(facts=FACTS, seats=st.lists(st.sampled_from(["1", "2", None]), max_size=3))
async def test_any_history__adds_up_to_its_record(call: ApiClient, facts: list[tuple[str, int, str]], seats: list[str | None]) -> None:
    call.clock.now = from_text(NOW)
    address = f"p{len(call.kept)}@example.com"
    for number, (name, hour, first_name) in enumerate(facts):
        event = Event(name, from_text(CREATED) + hour * 3600 * SECOND, email=address, first_name=first_name or None)
        event.kind, event.status = "hard", "hot"
        await receive(call, f"{address} {number}", event)
    contacts = (await call.get(f"/public/v2/contacts?email={address}")).json()["data"]
    if not contacts:
        return  # only events that create nobody
    path = f"/public/v2/contacts/{contacts[0]['id']}"
    for value in seats:
        call.clock.move(60)
        await call.patch(path, {"contact_custom_fields": [{"field_name": "Seats", "field_value": value}]})
    call.clock.move(60)

    present = (await call.get(path)).json()
    past = (await call.get(f"{path}?as_of={to_text(call.clock.now)}")).json()
    explained = {item["field"]: item["value"] for item in (await call.get(f"{path}/explain")).json()["data"]}
    changes = (await call.get(f"{path}/history?limit=200")).json()["data"]

    assert {**past, "updated_time": None} == {**present, "updated_time": None}
    for name in ("contact_status", "last_reply_received", "first_campaign_email_sent", "first_name"):
        assert (explained[name] or None) == (present.get(name) or None)
    newest: dict[str, Any] = {}
    for change in reversed(changes):
        assert change["previous"] == newest.get(change["field"])
        newest[change["field"]] = change["value"]
    assert {name: newest.get(name) for name in explained} == explained


async def test_long_history__is_computed_from_its_newest_events_and_says_since_when(
    call: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await jane(call)
    complete = (await call.get("/public/v2/contacts/1/timeline")).json()
    monkeypatch.setattr(timelines, "MAX_HISTORY", 3)

    pages, cursor = [], ""
    while cursor is not None:
        pages.append((await call.get(f"/public/v2/contacts/1/timeline?limit=2&cursor={cursor}")).json())
        cursor = pages[-1]["next_cursor"]
    explained = (await call.get("/public/v2/contacts/1/explain?field=contact_status")).json()
    history = (await call.get("/public/v2/contacts/1/history?field=contact_status")).json()
    refused = await call.get(f"/public/v2/contacts/1?as_of={REPLIED}")

    listed = [event["occurred_at"] for page in pages for event in page["data"]]
    assert listed == [event["occurred_at"] for event in complete["data"]]
    assert pages[0]["computed_since"] == SENT
    assert (explained["computed_since"], explained["data"][0]["set_by"]["event"]) == (SENT, "email_replied")
    assert (history["computed_since"], [change["value"] for change in history["data"]]) == (SENT, ["replied", "contacted"])
    assert (refused.status, refused.json()["errors"][0]["pointer"]) == (422, "?as_of")
    assert "computed_since" not in complete


def other_event(at: int) -> OtherEvent:
    event = StoredEvent(1, 1, at, f"k{at}", "contact.updated", "", None, "api", "api", None, None, at, 1, {})
    return OtherEvent(event, None, "")


async def test_explained_value__holds_few_of_many_other_events_and_shows_the_newest() -> None:
    value, held = ExplainedValue("cf.x", None), 0
    for at in (*range(0, 1_000, 2), *range(999, 0, -2)):
        value.add(other_event(at))
        held = max(held, len(value.others))
    value.cut()

    assert held < 2 * MOST_OTHERS
    assert value.others_total == 1_000
    assert [first.event.occurred_us for first in value.others] == [*range(999, 999 - MOST_OTHERS, -1)]


async def test_answers_from_a_history__wait_for_one_of_two_places(call: ApiClient) -> None:
    await jane(call)
    pages = call.parts.pages
    held = [await pages.acquire(number, 1, is_full_page=True) for number in range(WHOLE_PLACES)]
    paths = ("timeline", "history", "explain", f"?as_of={NOW}", "")

    requested = {
        path: asyncio.ensure_future(call.get(f"/public/v2/contacts/1{'' if path.startswith('?') else '/'}{path}".rstrip("/")))
        for path in paths
    }
    await requested[""]
    for _ in range(100):
        await asyncio.sleep(0)
    waiting = {path for path, task in requested.items() if not task.done()}
    for number, size in enumerate(held):
        pages.release(number, size, is_full_page=True)

    assert waiting == {*paths} - {""}
    assert [(await task).status for task in requested.values()] == [200] * len(paths)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, "a", "b"]),
            st.sampled_from([CARRIED, DELIBERATE]),
            st.integers(1, 4),
            st.sampled_from([API, ("crm", "contact", "1"), ("crm", "contact", "2"), ("other", "lead", "1")]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_writes__have_the_winner_of_all_of_them(facts: list[tuple[str | None, int, int, Any]]) -> None:
    objects = Objects(first={source: (1, source[2]) for *_, source in facts}, last={source: (9, "", False) for *_, source in facts})
    writes = [Written(value, (priority, at, f"{number}"), source) for number, (value, priority, at, source) in enumerate(facts)]
    folded = FieldWrites()
    for write in writes:
        folded.add(write)

    assert folded.winner(objects) == winner_of_all(writes, objects)


def winner_of_all(writes: list[Written], objects: Objects) -> Written:
    """The rules of `FieldWrites`, written for all writes at once."""
    deliberate = [write for write in writes if write.stamp[0] == DELIBERATE]
    if not deliberate:
        return min(writes, key=lambda write: write.stamp)  # the first tool that carries a value along
    last = {source: max((w for w in deliberate if w.source == source), key=lambda w: w.stamp) for source in {w.source for w in deliberate}}
    api = last.pop(API, None)
    standing = [w for w in last.values() if w.value is not None and (api is None or w.stamp > api.stamp)]
    first_of_kind = {w.source[:2]: w for w in sorted(standing, key=lambda w: objects.rank(w.source), reverse=True)}
    if standing:
        return max(first_of_kind.values(), key=lambda write: write.stamp)
    candidates = [write for write in last.values() if write.value is None] + ([] if api is None else [api])
    return max(candidates or last.values(), key=lambda write: write.stamp)
