"""Any sequence of calls of the records API gives what a plain model in memory predicts, on both engines.

Programs leave out: upserts with several `emails`, `external_id`, statuses of requests that opt out (`test_person.py` has those), merges of
records with two entries of one time, and undoing a merge after a request made a key of another record the survivor's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from tests.records.model import STATUS, Refused, text
from tests.records.model_bodies import CHANGES, EMAILS, KIND, LINKEDIN, PERSON, PICK, WHO, optional
from tests.records.model_compare import World, different, refused, same, to_second
from tests.records.model_fold import Values, changes
from tests.records.model_machine import step
from tests.records.model_machine_more import RecordsAndWebhooks
from tests.records.model_search import SORTS, TREES, has_words, holds, in_order

PEOPLE = "/public/v2/contacts"
LIST = "/public/v2/suppressions"
PRECONDITION = Refused(412, "precondition_failed")
SHOWN = {"contacts": ("contact_status", "email", "first_name"), "companies": ("company_status", "domain", "name")}


class Everything(RecordsAndWebhooks):
    """The calls that read, the do-not-contact list and erasure, between those that write."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[tuple[int, str], tuple[str, Values]] = {}

    @step(who=WHO, items=st.lists(optional(email=st.sampled_from(EMAILS), linkedin_url=st.sampled_from(LINKEDIN)), min_size=1, max_size=4))
    def match(self, who: int, items: list[Values]) -> None:
        house, model = self.begin(who)
        reply = self.send(house, "POST", f"{PEOPLE}/match", {"items": items})
        for item, result in zip(items, reply.json()["data"], strict=True):
            named = model.owners("contacts", item)
            owners = {entry.id: entry for entry in named.values()}
            is_another = "email" in item and list(named) == ["linkedin_url"] and "email" in model.shown(named["linkedin_url"])
            if not item or len(owners) > 1 or is_another:
                assert (result["id"], result["error"]["code"]) == (None, "ambiguous" if item else "required")
                continue
            shown = model.shown(*owners.values()) if owners else {}
            assert result["id"] == shown.get("id")
            for name in ("contact_status", "last_campaign_email_sent", "last_reply_received"):
                assert result[name] == shown.get(name)
            reasons = set().union(*(model.suppressed(owner) for owner in owners.values()))
            reasons |= model.listed(item.get("email"), item.get("linkedin_url"))
            assert result["suppressed"] in (reasons or {None, *model.of_former(item)})

    @step(who=WHO, kind=KIND, index=PICK, structure=st.sampled_from(["FLAT", "NESTED"]), body=CHANGES, patch=st.booleans())
    def known_state(self, who: int, kind: str, index: int, structure: str, body: Values, patch: bool) -> None:
        """If-None-Match is a 304, and If-Match a change, as long as the record is what it was."""
        house, model = self.begin(who)
        target = f"/public/v2/{kind}/{self.pick(model, kind, index)}?structure={structure}"
        tag, before = self.tags.get((who, target), ("", {}))
        now = self.send(house, "GET", target)
        if now.status != 200:
            return
        reply = self.send(house, "GET", target, if_none_match=tag or '"none"')
        assert reply.status == (304 if before == now.json() else 200)
        if patch and tag and kind == "contacts" and structure == "FLAT":
            number, sent = now.json()["id"], self.body(model, body)
            reply = self.send(house, "PATCH", target, sent, if_match=tag)
            if before == now.json():
                self.written(model, kind, reply, model.patch(kind, number, sent))
            else:
                assert reply.status in (412, 422, 404), reply.body
                refused(reply.status, reply.json(), [*model.parse(kind, sent, creates=False)[2], PRECONDITION])
            now = self.send(house, "GET", target)
        self.tags[who, target] = (now.headers["etag"], now.json())

    @step(who=WHO, kind=KIND, index=PICK, back=st.integers(0, 12))
    def as_of(self, who: int, kind: str, index: int, back: int) -> None:
        house, model = self.begin(who)
        number, at = self.pick(model, kind, index), model.now - 10 * back
        after = str(text(at)).replace("Z", ".5Z")  # the writes of a batch are microseconds apart
        reply = self.send(house, "GET", f"/public/v2/{kind}/{number}?structure=FLAT&as_of={after}")
        record = model.records[kind].get(number)
        if record is None or not record.live or all(entry.at > at for entry in record.entries):
            assert reply.status == 404
            return
        past = model.past(record, at)
        result = {**reply.json(), "status_changed_at": to_second(reply.json()["status_changed_at"])}
        result = {name: value for name, value in result.items() if name not in ("updated_time", "company_id", "emails")}
        past.pop("emails", None)
        if model.older_event(record):
            result.pop("email", None)
            past.pop("email", None)
        assert result == past, different(result, past)

    @step(who=WHO, kind=KIND, index=PICK, name=st.sampled_from(["status", "email", "domain", "first_name", "name", "cf.Seats"]))
    def history(self, who: int, kind: str, index: int, name: str) -> None:
        house, model = self.begin(who)
        number = self.pick(model, kind, index)
        inner = STATUS[kind] if name == "status" else name
        reply = self.send(house, "GET", f"/public/v2/{kind}/{number}/history?field={inner}&limit=200")
        record = model.records[kind].get(number)
        if record is None or not record.live:
            assert reply.status == 404
        elif inner not in SHOWN[kind] and not any(inner in entry.sets for entry in record.entries):
            assert reply.status == 422
        elif name != "email" or not model.older_event(record):
            results = [(item["value"], to_second(item["since"])) for item in reversed(reply.json()["data"])]
            assert results == [(value, text(at)) for value, at in changes(record.entries, name)]

    @step(who=WHO, value=st.sampled_from([*EMAILS, "x.example", "other.example"]), reason=st.sampled_from(["requested", "legal", "other"]))
    def suppress(self, who: int, value: str, reason: str) -> None:
        house, model = self.begin(who)
        reply = self.send(house, "POST", LIST, {"value": value, "reason": reason})
        outcome = model.suppress(value, reason)
        assert reply.status == (201 if outcome == "created" else 200), reply.body

    @step(who=WHO, index=PICK)
    def unsuppress(self, who: int, index: int) -> None:
        house, model = self.begin(who)
        entries = self.send(house, "GET", f"{LIST}?limit=200").json()["data"]
        entries = [entry for entry in entries if entry["value"] is not None]
        assert {entry["value"]: entry["reason"] for entry in entries} == model.listing()
        if entries:
            first_entry = entries[index % len(entries)]
            assert self.send(house, "DELETE", f"{LIST}/{first_entry['id']}").status == 204
            model.unsuppress(first_entry["value"])

    @step(who=WHO, index=PICK)
    def erase(self, who: int, index: int) -> None:
        house, model = self.begin(who)
        number = self.pick(model, "contacts", index)
        if not model.can_erase(number):
            return
        # An erasure removes stored responses about the person.
        self.keys = [key for key in self.keys if key[0] != who or number not in model.named(key[2], key[4].json())]
        reply = self.send(house, "DELETE", f"{PEOPLE}/{number}?erase=true")
        answer = model.erase(number)
        if isinstance(answer, list):
            refused(reply.status, reply.json(), answer)
        else:
            assert reply.status == 200, reply.body

    @step(who=WHO, body=PERSON)
    def create_again(self, who: int, body: Values) -> None:
        """An erased person, explicitly."""
        house, model = self.begin(who)
        sent = self.body(model, body)
        reply = self.send(house, "POST", f"{PEOPLE}?restore_erased=true&structure=FLAT", sent)
        self.written(model, "contacts", reply, model.create("contacts", sent, restore_erased=True))

    @step(
        who=WHO,
        where=TREES,
        sort=st.sampled_from(SORTS),
        limit=st.integers(1, 4),
        q=st.sampled_from(["", "", "", "ann", "acme lee", "a@x"]),
    )
    def search(self, who: int, where: Values, sort: str, limit: int, q: str) -> None:
        house, model = self.begin(who)
        body = {"where": where, "limit": limit, **({"sort": sort} if sort else {}), **({"q": q} if q else {})}
        values: list[Values] = []
        cursor: str | None = ""
        while cursor is not None:
            reply = self.send(
                house, "POST", f"{PEOPLE}/search?structure=FLAT", {**body, **({"cursor": cursor} if cursor else {})}, prefer="count=exact"
            )
            values += reply.json()["data"]
            cursor = reply.json()["next_cursor"]
        wanted = [item for item in model.live("contacts") if holds(model, item, where) and has_words(model, item, q)]
        assert reply.headers["total-count"] == str(len(wanted))
        assert sorted(item["id"] for item in values) == [live.id for live in wanted]
        for entry in values:
            same(model, model.records["contacts"][entry["id"]], entry)
        assert in_order(values, sort or "id")


@pytest.fixture
def world(engine_url: str) -> Iterator[World]:
    new_world = World(engine_url)
    yield new_world
    new_world.close()


def search(world: World, programs: int, steps: int, **more: Any) -> None:
    """Look for a program that the model predicts wrongly."""
    machine = type("Records", (Everything,), {"world": world})
    quiet = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None, print_blob=False)
    run_state_machine_as_test(machine, settings=settings(quiet, max_examples=programs, stateful_step_count=steps, **more))


SEATS = [{"field_name": "Seats", "field_value": "1"}, {"field_name": "Team", "field_value": ""}]
MERGES = [("contacts", policy) for policy in ("newest", "if_empty", "keep", "most_complete")] + [("companies", "if_empty")]


@pytest.mark.parametrize(("kind", "policy"), MERGES)
def test_program__of_a_life_gives_what_the_model_predicts(world: World, kind: str, policy: str) -> None:
    """Each kind of call once, in an order in which it has something to do; the search below mixes them at random."""
    run = type("Records", (Everything,), {"world": world, "every": 1})()
    run.first(there=[True] * 5 + [False, True] * 2 + [True])
    for who in (0, 1):
        run.upsert(who=who, write=("upsert", "contacts", {"email": "A@X.example", "contact_custom_fields": SEATS}, "email"), dry=True)
    run.upsert(who=0, write=("upsert", "contacts", {"email": "A@X.example", "contact_custom_fields": SEATS}, "email"), dry=False)
    run.webhook(who=0, event="email_sent", email="A@X.example", late=0, carries={"first_name": "Web"})
    run.update(who=0, write=("update", "contacts", {"email": "c@y.example", "first_name": None}, 0), dry=False)
    run.suppress(who=0, value="x.example", reason="legal")
    run.delete(who=0, kind="companies", index=0)
    run.delete(who=0, kind="contacts", index=0)
    run.webhook(who=0, event="email_replied", email="c@y.example", late=2, carries={})
    run.match(who=0, items=[{"email": "a@x.example", "linkedin_url": "linkedin.com/in/bob"}, {"email": "c@y.example"}, {}])
    run.restore(who=0, kind="contacts", index=0)
    run.restore(who=0, kind="companies", index=0)
    run.merge(who=0, kind=kind, index=1, others=[-1], policy=policy, dry=True)
    run.merge(who=0, kind=kind, index=1, others=[-1], policy=policy, dry=False)
    run.webhook(who=0, event="email_unsubscribed", email="c@y.example", late=0, carries={})
    run.update(who=0, write=("update", kind, {"contact_custom_fields": SEATS} if kind == "contacts" else {"name": "New"}, 0), dry=False)
    run.history(who=0, kind=kind, index=0, name="status")
    run.as_of(who=0, kind=kind, index=0, back=5)
    run.undo(who=0, index=0)
    run.webhook(who=0, event="email_bounced", email="a@x.example", late=0, carries={})
    run.search(who=0, where={"not": {"contact_status": "NEW"}}, sort="-first_name,email", limit=1, q="")
    run.bulk(who=0, word="do_not_contact", body={"contact_status": "won"}, most=3)
    run.erase(who=0, index=2)
    run.create_again(who=0, body={"linkedin_url": "linkedin.com/in/ann"})
    run.addresses(who=0, write=("create", "contacts", {"emails": ["d@y.example", "e@y.example"]}, "error"), dry=False)
    for dry in (True, False):
        run.join(who=0, write=("upsert", "contacts", {"email": "e@y.example", "linkedin_url": "linkedin.com/in/ann"}, "email"), dry=dry)
    assert run.models[0].merges
    run.undo(who=0, index=0)
    run.teardown()


def test_any_program__gives_what_the_model_predicts(world: World) -> None:
    search(world, 6, 16, derandomize=True)


@pytest.mark.slow
@pytest.mark.weekly
def test_any_program__of_many_gives_what_the_model_predicts(world: World) -> None:
    search(world, 30, 30, derandomize=False)
