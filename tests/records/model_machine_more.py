"""The rest of the calls that write: the bin, merges, and webhooks of a tool."""

from __future__ import annotations

import copy
from urllib.parse import quote

from hypothesis import strategies as st
from tests.records.model_bodies import DRY, EMAILS, KIND, PICK, WHO, optional
from tests.records.model_compare import plain, refused, same, say, to_second
from tests.records.model_fold import Values
from tests.records.model_machine import NOT_THERE, STEP, Records, step


class RecordsAndWebhooks(Records):
    """Programs that also delete, merge and receive webhooks."""

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
        result = {**reply.json(), "status_changed_at": to_second(reply.json()["status_changed_at"])}
        assert plain(result) | {"updated_time": 0} == plain(before) | {"updated_time": 0}
        return None

    @step(who=WHO, kind=KIND, index=PICK)
    def restore(self, who: int, kind: str, index: int) -> None:
        house, model = self.begin(who)
        gone = model.deleted(kind)
        number = gone[index % len(gone)].id if gone else self.pick(model, kind, index)
        reply = self.send(house, "POST", f"/public/v2/{kind}/{number}/restore?structure=FLAT")
        self.written(model, kind, reply, model.restore(kind, number), "restore")

    @step(
        who=WHO,
        kind=KIND,
        index=PICK,
        others=st.lists(st.sampled_from([1, 1, 1, 2, 3, 0]), min_size=1, max_size=2),
        policy=st.sampled_from(["newest", "if_empty", "keep", "most_complete"]),
        dry=DRY,
    )
    def merge(self, who: int, kind: str, index: int, others: list[int], policy: str, dry: bool) -> None:
        house, model = self.begin(who)
        number, remaining = self.pick(model, kind, index), [self.pick(model, kind, index + item) for item in others]
        if model.same_times(kind, [number, *remaining]):
            return None
        body = {"with": remaining, "survivorship": policy, "dry_run": dry}
        reply = self.send(house, "POST", f"/public/v2/{kind}/{number}/merge?structure=FLAT", body)
        trial = copy.deepcopy(model) if dry else model
        answer = trial.merge(kind, number, remaining, policy)
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
        merges = sorted(model.merges)
        kind, merge_id = merges[index % len(merges)] if merges else ("contacts", NOT_THERE)
        number = model.merges[kind, merge_id].survivor if merges else self.pick(model, kind, index)
        if model.undo_is_open(kind, merge_id):
            return None
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

    @step(
        who=WHO,
        event=st.sampled_from(["email_sent", "email_replied", "email_bounced", "email_unsubscribed"]),
        email=st.sampled_from(EMAILS),
        late=st.integers(0, 4),
        carries=optional(first_name=st.sampled_from(["Web", "Hook"])),
    )
    def webhook(self, who: int, event: str, email: str, late: int, carries: Values) -> None:
        house, model = self.begin(who)
        email = email.strip()
        at = next((at for at in range(model.now - 1 - STEP * late, model.now - STEP * (late + 1), -1) if at not in self.used), None)
        if at is None or model.target(email, at) == "unclear":
            return
        self.used.add(at)
        body = {"event": event, "email": email, "at": at, **carries, **({"kind": "hard"} if event == "email_bounced" else {})}
        say(f"{who} webhook {body}, now {model.now}")
        self.ready.run(house.hook("camp", body))
        new_webhook = model.webhook(event, email, at, carries)
        if new_webhook is not None:
            listed = self.ready.run(house.listed(query=f"email={quote(email)}"))
            assert len(listed) == 1, listed
            model.number(new_webhook, listed[0]["id"])
        model.settle()
