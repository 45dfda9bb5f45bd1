"""The state machine of `test_stateful_model.py`: two clients of one store, each with its model, and the calls that write."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.asgi_client import ApiClient, Clock, Response
from tests.conftest import ENCRYPTION_KEYS
from tests.house import House
from tests.records.model import CUSTOM, NOON, Answer, Done, Record, Refused, text
from tests.records.model_bodies import CREATES, DRY, EMAILS, FIRM, FIRST, KIND, PERSON, PICK, UPDATES, UPSERTS, WHO, WORDS, WRITES, Write, optional
from tests.records.model_fold import Values
from tests.records.model_more import WholeModel

from touchbase.http.app import Dependencies
from touchbase.storage import open_store

STEP = 10
"""Seconds between two steps; events lie between them."""
NOT_THERE = 10**12
LOG: list[str] | None = None


def step(**drawn: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """A rule after which both clients are compared with their models."""

    def decorate(method: Callable[..., None]) -> Any:
        @wraps(method)
        def checked(self: Records, **given: Any) -> None:
            method(self, **given)
            self.check()

        return rule(**drawn)(checked)

    return decorate


class World:
    """A store of one engine; each program gets two new clients in it."""

    def __init__(self, url: str) -> None:
        self.runner = asyncio.Runner()
        self.store = self.runner.run(open_store(url, encryption_keys=ENCRYPTION_KEYS))
        self.made = 0

    def two(self) -> list[House]:
        """Two new clients of one application."""
        self.made += 1
        clock = Clock()
        call = ApiClient(Dependencies(store=self.store, clock=clock, version="1"), clock)
        return [self.runner.run(House.of(call, f"program-{self.made}-{n}")) for n in range(2)]

    def close(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()


class Records(RuleBasedStateMachine):
    """Programs of calls of two clients; the model of each says what each response must be."""

    world: World

    def __init__(self) -> None:
        super().__init__()
        if LOG is not None: LOG.clear()
        self.houses = self.world.two()
        self.models = [WholeModel(), WholeModel()]
        self.ready = self.world.runner
        self.keys: list[tuple[int, str, str, Values, Response]] = []
        self.used: set[int] = set()

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
        if LOG is not None: LOG.append(f"{house.client_id[-1]} {method} {target} {json.dumps(body)} {headers or ''} -> {reply.status} {reply.body.decode()[:600]}")
        return reply

    def pick(self, model: WholeModel, kind: str, index: int) -> int:
        """The id of a record: of those in lists first, then others, or of none."""
        ids = [each.id for each in model.live(kind)]
        ids += [number for number in sorted(model.records[kind]) if number not in ids]
        return ids[index % len(ids)] if ids else NOT_THERE

    def body(self, model: WholeModel, body: Values) -> Values:
        """The body with the id of a company in place of its number."""
        if isinstance(body.get("company_id"), int):
            return {**body, "company_id": self.pick(model, "companies", body["company_id"])}
        return body

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
        """Make the first records of both clients, one """
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

    def one_write(self, who: int, write: Write, dry: bool) -> None:
        """Carry out one write, or a dry run of it."""
        house, model = self.begin(who)
        method, target, body = self.request_of(model, write)
        reply = self.send(house, method, f"{target}&dry_run=true" if dry else target, body)
        if dry:
            self.tried(model, write, reply)
        else:
            self.written(model, write[1], reply, self.predicted(model, write))

    def tried(self, model: WholeModel, write: Write, reply: Response) -> None:
        """Compare the response of a dry run with what the write would do, and do nothing."""
        trial = copy.deepcopy(model)
        answer = self.predicted(trial, write)
        if isinstance(answer, list):
            return refused(reply.status, reply.json(), answer)
        found = reply.json()
        assert (reply.status, found["status"]) == (200, answer.status)
        assert found["id"] == (answer.record.id if answer.status == 200 else None)
        record = model.records[write[1]].get(answer.record.id)
        before = flat(model.shown(record)) if record else {}
        after = flat(trial.shown(answer.record))
        after.pop("id")
        unset = {name for name in before if name not in after and name != "id"}
        changed = {name for name, value in after.items() if (before.get(name) or None) != (value or None)} | unset
        changed |= {name for name in after if name.startswith("cf.") and name not in before}
        said = {each["field"]: each["value"] or None for each in found["changed"]}
        assert said == {name: after.get(name) or None for name in changed}, different(said, after)
        return None

    @step(who=WHO, kind=KIND, atomic=st.booleans(), writes=st.lists(WRITES, min_size=2, max_size=9))
    def batch(self, who: int, kind: str, atomic: bool, writes: list[Write]) -> None:
        house, model = self.begin(who)
        writes = [each for each in writes if each[1] == kind]
        if not writes:
            return
        commands = []
        for operation, _, body, more in writes:
            named = {"create": "on_duplicate", "upsert": "match", "update": "id"}[operation]
            value = self.pick(model, kind, more) if operation == "update" else more
            commands.append({"op": operation, named: value, "body": self.body(model, body)})
        reply = self.send(house, "POST", f"/public/v2/{kind}/batch", {"commands": commands, "atomic": atomic})
        trial = copy.deepcopy(model)
        answers = []
        for command in commands:
            if command["op"] == "create":
                answers.append(trial.create(kind, command["body"], command["on_duplicate"]))
            elif command["op"] == "upsert":
                answers.append(trial.put(kind, command["match"], command["body"]))
            else:
                answers.append(trial.patch(kind, command["id"], command["body"]))
        if atomic and any(isinstance(each, list) for each in answers):
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
        assert reply.json()["failed"] == sum(isinstance(each, list) for each in answers)
        model.settle()

    @step(who=WHO, word=st.sampled_from([*WORDS, "contacted"]), body=optional(first_name=st.sampled_from(["Dee", None]), origin=st.just("bulk"), contact_status=st.sampled_from(WORDS)), most=st.integers(0, 3))
    def bulk(self, who: int, word: str, body: Values, most: int) -> None:
        house, model = self.begin(who)
        reply = self.send(house, "PATCH", f"/public/v2/contacts?contact_status={word}", body, prefer=f"max-affected={most}")
        hit = [each for each in model.live("contacts") if model.values(each).get("status") == word]
        if not body:
            assert reply.status == 422
        elif len(hit) > most:
            assert (reply.status, reply.json()["code"], reply.json()["affected"]) == (409, "too_many_affected", len(hit))
        else:
            before = [model.shown(each) for each in hit]
            for each in hit:
                assert isinstance(model.patch("contacts", each.id, body), Done)
            changed = sum(model.shown(each) != was for each, was in zip(hit, before, strict=True))
            assert reply.json() == {"matched": len(hit), "changed": changed, "failed": 0, "failures": []}
        model.settle()

    @step(body=PERSON)
    def two_at_once(self, body: Values) -> None:
        """The same request of both clients at once."""
        self.begin(0)
        bodies = [self.body(model, body) for model in self.models]

        async def both() -> list[Response]:
            path = "/public/v2/contacts?structure=FLAT"
            return await asyncio.gather(*(house.request("POST", path, each) for house, each in zip(self.houses, bodies, strict=True)))

        for model, reply, each in zip(self.models, self.ready.run(both()), bodies, strict=True):
            self.written(model, "contacts", reply, model.create("contacts", each))

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

    # The bin and merges.

    @step(who=WHO, kind=KIND, index=PICK)
    def delete(self, who: int, kind: str, index: int) -> None:
        house, model = self.begin(who)
        number = self.pick(model, kind, index)
        record = model.records[kind].get(number)
        before = model.shown(record) if record else {}
        reply, answer = self.send(house, "DELETE", f"/public/v2/{kind}/{number}?structure=FLAT"), model.delete(kind, number)
        model.settle()
        if isinstance(answer, list):
            return refused(reply.status, reply.json(), answer)
        assert {**reply.json(), "updated_time": 0} == {**before, "updated_time": 0}
        return None

    @step(who=WHO, kind=KIND, index=PICK)
    def restore(self, who: int, kind: str, index: int) -> None:
        house, model = self.begin(who)
        gone = model.deleted(kind)
        number = gone[index % len(gone)].id if gone else self.pick(model, kind, index)
        reply = self.send(house, "POST", f"/public/v2/{kind}/{number}/restore?structure=FLAT")
        self.written(model, kind, reply, model.restore(kind, number), "restore")

    @step(who=WHO, kind=KIND, index=PICK, others=st.lists(st.sampled_from([1, 1, 1, 2, 3, 0]), min_size=1, max_size=2), policy=st.sampled_from(["newest", "if_empty", "keep", "most_complete"]), dry=DRY)
    def merge(self, who: int, kind: str, index: int, others: list[int], policy: str, dry: bool) -> None:
        house, model = self.begin(who)
        number, rest = self.pick(model, kind, index), [self.pick(model, kind, index + each) for each in others]
        if model.same_times(kind, [number, *rest]):
            return None
        body = {"with": rest, "survivorship": policy, "dry_run": dry}
        reply = self.send(house, "POST", f"/public/v2/{kind}/{number}/merge?structure=FLAT", body)
        trial = copy.deepcopy(model) if dry else model
        answer = trial.merge(kind, number, rest, policy)
        if isinstance(answer, list):
            return refused(reply.status, reply.json(), answer)
        assert reply.status == 200, reply.body
        if not dry:
            trial.merged(kind, reply.json()["merge_id"])
        trial.settle()
        same(trial, answer.record, reply.json()["contact" if kind == "contacts" else "company"], loose=dry)
        return None

    @step(who=WHO, index=PICK)
    def undo(self, who: int, index: int) -> None:
        house, model = self.begin(who)
        known = sorted(model.merges)
        kind, merge_id = known[index % len(known)] if known else ("contacts", NOT_THERE)
        number = model.merges[kind, merge_id].survivor if known else self.pick(model, kind, index)
        reply = self.send(house, "POST", f"/public/v2/{kind}/{number}/merge/{merge_id}/undo?structure=FLAT")
        answer = model.undo(kind, number, merge_id)
        if isinstance(answer, list):
            return refused(reply.status, reply.json(), answer)
        assert reply.status == 200, reply.body
        model.settle()
        for body in reply.json()["data"]:
            same(model, model.records[kind][body["id"]], body)
        return None

    # Webhooks.

    @step(who=WHO, event=st.sampled_from(["email_sent", "email_replied", "email_bounced", "email_unsubscribed"]), email=st.sampled_from(EMAILS), late=st.integers(0, 4), carries=optional(first_name=st.sampled_from(["Web", "Hook"])))
    def webhook(self, who: int, event: str, email: str, late: int, carries: Values) -> None:
        house, model = self.begin(who)
        email = email.strip()
        at = next((at for at in range(model.now - 1 - STEP * late, model.now - STEP * (late + 1), -1) if at not in self.used), None)
        if at is None or model.target(email, at) == "unclear":
            return
        self.used.add(at)
        body = {"event": event, "email": email, "at": at, **carries, **({"kind": "hard"} if event == "email_bounced" else {})}
        if LOG is not None: LOG.append(f"{who} hook {body} now {model.now}")
        self.ready.run(house.hook("camp", body))
        made = model.webhook(event, email, at, carries)
        if made is not None:
            listed = self.ready.run(house.listed(query=f"email={quote(email)}"))
            assert len(listed) == 1, listed
            model.number(made, listed[0]["id"])
        model.settle()

    # What must hold after each step.

    def check(self) -> None:
        """Lists are complete and in order, the bin too, and the consistency check finds nothing."""
        for house, model in zip(self.houses, self.models, strict=True):
            for kind in ("contacts", "companies"):
                found, query = [], "structure=FLAT&limit=3"
                cursor: str | None = ""
                while cursor is not None:
                    page = self.send(house, "GET", f"/public/v2/{kind}?{query}&cursor={quote(cursor)}").json()
                    found += page["data"]
                    cursor = page["next_cursor"]
                live = model.live(kind)
                assert [each["id"] for each in found] == [each.id for each in live]
                for record, body in zip(live, found, strict=True):
                    same(model, record, body)
                gone = self.send(house, "GET", f"/public/v2/{kind}/deleted?limit=200").json()["data"]
                assert [(each["id"], each["deleted_at"]) for each in gone] == [(each.id, text(each.deleted_at)) for each in model.deleted(kind)]
            assert self.ready.run(house.differences()) == []


def flat(body: Values) -> Values:
    """A record with its custom fields as `cf.NAME`."""
    named = {name: value for name, value in body.items() if name not in CUSTOM.values()}
    return named | {f"cf.{name}": value for inner in CUSTOM.values() for name, value in body.get(inner, {}).items()}


def same(model: WholeModel, record: Record, body: Values, *, loose: bool = False) -> None:
    """Compare a record of a response with the model."""
    found = dict(body)
    updated, found["status_changed_at"] = whole(found.pop("updated_time")), whole(found["status_changed_at"])
    expected = model.shown(record)
    if loose:
        for each in (found, expected):
            each.pop("status_changed_at")
    assert found == expected, different(found, expected)
    if record.updated is None:
        record.updated = int((datetime.fromisoformat(updated or "") - NOON).total_seconds())
    assert loose or updated == text(record.updated), f"updated {updated}, not {text(record.updated)}"


def whole(time: str | None) -> str | None:
    """A time without the microseconds by which the writes of one batch to a record are apart."""
    return time and re.sub(r"\.\d+", "", time)


def different(found: Values, expected: Values) -> Values:
    """The members that differ: what the service says, and the model."""
    return {name: (found.get(name), expected.get(name)) for name in found | expected if found.get(name) != expected.get(name)}


def refused(status: int, problem: Values, answers: list[Refused]) -> None:
    """Check that a refusal is one of those that are right."""
    found = (status, problem.get("code"), problem.get("existing_id"))
    assert any(found[:2] == (each.status, each.code) and each.existing in (None, found[2]) for each in answers), (status, problem, answers)
