"""The state machine of `test_stateful_model.py`: two clients of one store, each with its model, and the calls that write records."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from functools import wraps
from operator import itemgetter
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.asgi_client import Response
from tests.house import House
from tests.records.model import Answer, Done, text
from tests.records.model_bodies import (
    CREATES,
    DRY,
    FIRM,
    FIRST,
    JOINS,
    KIND,
    LISTS,
    PERSON,
    PICK,
    UPDATES,
    UPSERTS,
    WHO,
    WORDS,
    WRITES,
    Write,
    optional,
)
from tests.records.model_compare import World, different, flat, plain, refused, same, say
from tests.records.model_fold import Values
from tests.records.model_more import WholeModel

STEP = 10
"""Seconds between two steps; events lie between them."""
NOT_THERE = 10**12
SHOWN = 600
"""Characters of a response that are printed of the program that fails."""


def step(**drawn: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """A rule after which its client is compared with the model, and now and then both are."""

    def decorate(method: Callable[..., None]) -> Any:
        @wraps(method)
        def checked(self: Records, **value: Any) -> None:
            self.sound = False
            method(self, **value)
            self.steps += 1
            self.check(None if self.steps % self.every == 0 else value.get("who"))
            self.sound = True

        return rule(**drawn)(checked)

    return decorate


class Records(RuleBasedStateMachine):
    """Programs of calls of two clients; the model of each says what each response must be."""

    world: World
    every = 4
    """Steps after which both clients are compared, and checked for consistency; after others it is the one that sent something."""

    def __init__(self) -> None:
        super().__init__()
        self.houses = self.world.two()
        self.models = [WholeModel(), WholeModel()]
        self.ready = self.world.runner
        self.keys: list[tuple[int, str, str, Values, Response]] = []
        self.used: set[int] = set()
        self.steps, self.sound = 0, True

    # Helpers.

    def begin(self, who: int) -> tuple[House, WholeModel]:
        """Let some seconds pass."""
        house = self.houses[who]
        house.call.clock.move(STEP)
        for model in self.models:
            model.now += STEP
        return house, self.models[who]

    def send(self, house: House, method: str, target: str, body: object = None, **headers: str) -> Response:
        reply = self.ready.run(house.request(method, target, body, **headers))
        say(f"{house.client_id[-1]} {method} {target} {json.dumps(body)} {headers or ''} -> {reply.status} {reply.body.decode()[:SHOWN]}")
        return reply

    def pick(self, model: WholeModel, kind: str, index: int) -> int:
        """The id of a record: of those in lists first, then others, or of none."""
        ids = [item.id for item in model.live(kind)]
        ids += [number for number in sorted(model.records[kind]) if number not in ids]
        return ids[index % len(ids)] if ids else NOT_THERE

    def body(self, model: WholeModel, body: Values) -> Values:
        """The body with the id of a company in place of its number."""
        if isinstance(body.get("company_id"), int):
            return {**body, "company_id": self.pick(model, "companies", body["company_id"])}
        return body

    def note_joins(self, house: House, model: WholeModel) -> None:
        """Note the numbers of the merges that writes made."""
        if model.joins:
            log = self.send(house, "GET", "/public/v2/events?types=contact.merged&limit=200").json()["data"]
            model.joined([item["data"]["merge_id"] for item in log][-len(model.joins) :])

    def written(self, model: WholeModel, kind: str, reply: Response, answer: Answer, method: str = "") -> None:
        """Compare the response of one write with its prediction."""
        if isinstance(answer, list):
            refused(reply.status, {} if reply.status < 300 else reply.json(), answer)
        else:
            assert reply.status == answer.status, reply.body
            model.number(answer.record, reply.json()["id"])
            model.settle()
            same(model, answer.record, reply.json())
            if method != "restore":
                reasons = model.suppressed(answer.record)
                assert reply.headers.get("touchbase-suppressed") in (reasons or {None}), (reply.headers, reasons)

    def request_of(self, model: WholeModel, write: Write) -> tuple[str, str, Values]:
        """Method, target and body of a write."""
        operation, kind, body, more = write
        path = f"/public/v2/{kind}"
        targets = {
            "create": ("POST", f"{path}?on_duplicate={more}&structure=FLAT"),
            "upsert": ("PUT", f"{path}?match={more}&structure=FLAT"),
            "update": ("PATCH", f"{path}/{self.pick(model, kind, more) if operation == 'update' else 0}?structure=FLAT"),
        }
        return (*targets[operation], self.body(model, body))

    def predicted(self, model: WholeModel, write: Write) -> Answer:
        """What the model answers; it carries the write out."""
        operation, kind, body, more = write
        body = self.body(model, body)
        if operation == "create":
            return model.create(kind, body, more)
        if operation == "upsert":
            return model.put(kind, more, body)
        return model.patch(kind, self.pick(model, kind, more), body)

    @initialize(there=st.lists(st.booleans(), min_size=10, max_size=10))
    def first(self, there: list[bool]) -> None:
        """Make the first records of both clients, one"""
        for who in (0, 1):
            for number, (kind, body) in enumerate(FIRST):
                if there[number + who * len(FIRST)]:
                    house, model = self.begin(who)
                    reply = self.send(house, "POST", f"/public/v2/{kind}?structure=FLAT", body)
                    self.written(model, kind, reply, model.create(kind, body))

    # Writes of one record and of several.

    @step(who=WHO, write=CREATES, dry=DRY)
    def create(self, who: int, write: Write, dry: bool) -> None:
        self.one_write(who, write, dry)

    @step(who=WHO, write=UPDATES, dry=DRY)
    def update(self, who: int, write: Write, dry: bool) -> None:
        self.one_write(who, write, dry)

    @step(who=WHO, write=UPSERTS, dry=DRY)
    def upsert(self, who: int, write: Write, dry: bool) -> None:
        self.one_write(who, write, dry)

    @step(who=WHO, write=JOINS, dry=DRY)
    def join(self, who: int, write: Write, dry: bool) -> None:
        self.one_write(who, write, dry)

    @step(who=WHO, write=LISTS, dry=DRY)
    def addresses(self, who: int, write: Write, dry: bool) -> None:
        self.one_write(who, write, dry)

    def one_write(self, who: int, write: Write, dry: bool) -> None:
        """Carry out one write, or a dry run of it."""
        house, model = self.begin(who)
        method, target, body = self.request_of(model, write)
        trial = copy.deepcopy(model)
        self.predicted(trial, write)
        if trial.open:
            return
        reply = self.send(house, method, f"{target}&dry_run=true" if dry else target, body)
        if dry:
            self.tried(model, write, reply)
        else:
            self.written(model, write[1], reply, self.predicted(model, write))
            self.note_joins(house, model)

    def tried(self, model: WholeModel, write: Write, reply: Response) -> None:
        """Compare the response of a dry run with what the write would do, and do nothing."""
        trial = copy.deepcopy(model)
        answer = self.predicted(trial, write)
        if isinstance(answer, list):
            return refused(reply.status, reply.json(), answer)
        result = reply.json()
        assert (reply.status, result["status"]) == (200, answer.status)
        assert result["id"] == (answer.record.id if answer.status == 200 else None)
        record = model.records[write[1]].get(answer.record.id)
        before = plain(flat(model.shown(record))) if record else {}
        after = plain(flat(trial.shown(answer.record)))
        after.pop("id")
        unset = {name for name in before if name not in after and name != "id"}
        changed = {name for name, value in after.items() if (before.get(name) or None) != (value or None)} | unset
        changed |= {name for name in after if name.startswith("cf.") and name not in before}
        said = {item["field"]: item["value"] or None for item in result["changed"]}
        if plain(said).get("emails") == before.get("emails"):  # only another spelling of the first one
            said.pop("emails", None)
        assert plain(said) == {name: after.get(name) or None for name in changed}, different(said, after)
        return None

    @step(who=WHO, kind=KIND, atomic=st.booleans(), writes=st.lists(WRITES, min_size=2, max_size=9))
    def batch(self, who: int, kind: str, atomic: bool, writes: list[Write]) -> None:
        house, model = self.begin(who)
        writes = [item for item in writes if item[1] == kind]
        if not writes:
            return
        commands = []
        for operation, _, body, more in writes:
            named = {"create": "on_duplicate", "upsert": "match", "update": "id"}[operation]
            value = self.pick(model, kind, more) if operation == "update" else more
            commands.append({"op": operation, named: value, "body": self.body(model, body)})
        trial = copy.deepcopy(model)
        answers = []
        for command in commands:
            if command["op"] == "create":
                answers.append(trial.create(kind, command["body"], command["on_duplicate"]))
            elif command["op"] == "upsert":
                answers.append(trial.put(kind, command["match"], command["body"]))
            else:
                answers.append(trial.patch(kind, command["id"], command["body"]))
            trial.settle()
        if trial.open:
            return
        reply = self.send(house, "POST", f"/public/v2/{kind}/batch", {"commands": commands, "atomic": atomic})
        if atomic and any(isinstance(item, list) for item in answers):
            assert (reply.status, reply.json()["code"]) == (422, "batch_failed"), reply.body
            return
        self.models[who] = model = trial
        assert reply.status == 200, reply.body
        for answer, result in zip(answers, reply.json()["results"], strict=True):
            if isinstance(answer, list):
                refused(result["status"], result.get("problem", {}), answer)
            else:
                assert result["status"] == answer.status, (result, answer)
                model.number(answer.record, result["id"])
                assert result["id"] == answer.record.id
        assert reply.json()["failed"] == sum(isinstance(item, list) for item in answers)
        model.settle()
        self.note_joins(house, model)

    @step(
        who=WHO,
        word=st.sampled_from([*WORDS, "contacted"]),
        body=optional(first_name=st.sampled_from(["Dee", None]), origin=st.just("bulk"), contact_status=st.sampled_from(WORDS)),
        most=st.integers(0, 3),
    )
    def bulk(self, who: int, word: str, body: Values, most: int) -> None:
        house, model = self.begin(who)
        reply = self.send(house, "PATCH", f"/public/v2/contacts?contact_status={word}", body, prefer=f"max-affected={most}")
        hit = [item for item in model.live("contacts") if model.values(item).get("status") == word]
        if not body:
            assert reply.status == 422
        elif len(hit) > most:
            assert (reply.status, reply.json()["code"], reply.json()["affected"]) == (409, "too_many_affected", len(hit))
        else:
            before = [model.shown(item) for item in hit]
            for entry in hit:
                assert isinstance(model.patch("contacts", entry.id, body), Done)
            changed = sum(model.shown(item) != was for item, was in zip(hit, before, strict=True))
            assert reply.json() == {"matched": len(hit), "changed": changed, "failed": 0, "failures": []}
        model.settle()

    @step(body=PERSON)
    def two_at_once(self, body: Values) -> None:
        """The same request of both clients at once."""
        self.begin(0)
        bodies = [self.body(model, body) for model in self.models]

        async def both() -> list[Response]:
            path = "/public/v2/contacts?structure=FLAT"
            return await asyncio.gather(*(house.request("POST", path, item) for house, item in zip(self.houses, bodies, strict=True)))

        for model, reply, entry in zip(self.models, self.ready.run(both()), bodies, strict=True):
            self.written(model, "contacts", reply, model.create("contacts", entry))

    @step(who=WHO, kind=KIND, body=PERSON, firm=FIRM)
    def create_with_key(self, who: int, kind: str, body: Values, firm: Values) -> None:
        house, model = self.begin(who)
        sent, key = self.body(model, body if kind == "contacts" else firm), f"key-{model.now}"
        reply = self.send(house, "POST", f"/public/v2/{kind}?structure=FLAT", sent, idempotency_key=key)
        self.written(model, kind, reply, model.create(kind, sent))
        if reply.status in (201, 409) and b"person_erased" not in reply.body:
            self.keys.append((who, key, kind, sent, reply))

    @precondition(lambda self: self.keys)
    @step(index=PICK)
    def repeat_with_key(self, index: int) -> None:
        who, key, kind, sent, first = self.keys[index % len(self.keys)]
        house, _ = self.begin(who)
        again = self.send(house, "POST", f"/public/v2/{kind}?structure=FLAT", sent, idempotency_key=key)
        assert (again.status, again.headers.get("idempotency-replayed")) == (first.status, "true")
        assert {**again.json(), "request_id": 0} == {**first.json(), "request_id": 0}

    # What must hold after each step.

    def check(self, only: int | None = None) -> None:
        """Lists are complete and in order, the bin too; for both clients also the consistency check finds nothing."""
        for who, (house, model) in enumerate(zip(self.houses, self.models, strict=True)):
            for kind in ("contacts", "companies") if only in (None, who) else ():
                values: list[Values] = []
                cursor: str | None = ""
                while cursor is not None:
                    page = self.send(house, "GET", f"/public/v2/{kind}?structure=FLAT&limit=4&cursor={quote(cursor)}").json()
                    values += page["data"]
                    cursor = page["next_cursor"]
                live = model.live(kind)
                assert sorted(item["id"] for item in values) == [item.id for item in live]
                # A merge, and the first request on a contact that webhooks made, may move a record.
                ids = [item.id for item in live if not item.has_merged and not item.entries[0].tool]
                assert [item["id"] for item in values if item["id"] in ids] == ids
                values.sort(key=itemgetter("id"))
                for record, body in zip(live, values, strict=True):
                    same(model, record, body)
                gone = self.send(house, "GET", f"/public/v2/{kind}/deleted?limit=200").json()["data"]
                deleted = [(item.id, text(item.deleted_at)) for item in model.deleted(kind)]
                assert [(item["id"], item["deleted_at"]) for item in gone] == deleted
            if only is None:
                assert self.ready.run(house.differences()) == []

    def teardown(self) -> None:
        """Compare both clients at the end, unless a step has failed."""
        if self.sound:
            self.check()
