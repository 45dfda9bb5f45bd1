"""Three weeks of one client: which calls come when, some of them wrong, and what people change by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.demo import texts
from touchbase.demo.agency import EMAILBISON, HEYREACH, INSTANTLY, LEMLIST, Account
from touchbase.demo.campaign_bodies import BODIES
from touchbase.demo.crm_bodies import CRM_BODIES, CRM_STATUSES, dialler, webinar
from touchbase.demo.facts import ACCEPTED, AWAY, BOUNCED, INVITED, LABELLED, MESSAGED, OPENED, REPLIED, SENT, UNSUBSCRIBED, Fact
from touchbase.demo.people import Person

HOUR: Micros = 3_600 * SECOND
WEEKS: Micros = 21 * DAY
SILENT: Micros = 26 * HOUR
"""How long the tool that fell silent has not called."""
CAMPAIGN, CRM = "emailcampaign", "crm"
WRITTEN_TO = 0.78
"""Share of the contacts that campaigns write to."""
HOURS = (1, 1, 1, 1, 1, 2, 5, 9, 12, 12, 10, 8, 7, 9, 11, 10, 8, 5, 3, 2, 2, 1, 1, 1)
"""How much happens in each hour of the day."""
_LABEL_OF = {
    texts.INTERESTED: "interested", texts.LATER: "maybe_later", texts.REFERRAL: "wrong_person", texts.NO: "not_interested",
    texts.QUESTION: "interested",
}  # fmt: skip


REPEAT = "repeat"
"""What is expected of a repeat: counted at its first call if that is applied, else stored and ignored (decision 0005)."""


@dataclass(frozen=True, slots=True)
class Call:
    """A webhook as a tool sends it."""

    at: Micros
    client_id: str
    channel: str
    body: bytes
    query: str = ""
    expected: str = "applied"
    """The state of its delivery when all is applied, or `REPEAT`, unless it is refused; empty: it is refused in any case."""


@dataclass(frozen=True, slots=True)
class Change:
    """A status that a person sets by hand."""

    at: Micros
    client_id: str
    email: str
    status: str


def moment(chance: Random, now: Micros, earliest: float, latest: float) -> Micros:
    """Return a time so many days before now, more often in the hours and on the days on which people work."""
    day, hour, within, moves = chance.uniform(earliest, latest), chance.choices(range(24), HOURS)[0], chance.random(), chance.random()
    begins = (now - int(day * DAY)) // DAY * DAY
    weekday = datetime.fromtimestamp(begins / SECOND, UTC).weekday()
    if weekday > 4 and moves < 0.75:
        begins -= (weekday - 4) * DAY if moves < 0.4 else (weekday - 7) * DAY
    at = begins + hour * HOUR + int(within * HOUR)
    return at if at < now else at - DAY


def calls_of(account: Account, people: Sequence[Person], chance: Random, now: Micros) -> Iterator[Call | Change]:
    """Yield everything that happens to a client's people, in no order."""
    for person in people:
        if chance.random() < WRITTEN_TO:
            yield from _campaign(account, person, chance, now)
        if chance.random() < 0.05:
            yield from _crm(account, person, chance, now)
        if account.id in ("alder-robotics", "harbor-cyber") and chance.random() < 0.012:
            at = moment(chance, now, 0, 9)
            body = dialler(person, at, chance.randint(5, 400), chance.choice(("voicemail", "talked", "no answer")))
            yield _call(account, CRM, body, at, expected="unrecognised")
        if account.id == "juniper-legal" and chance.random() < 0.02:
            at = moment(chance, now, 2, 3)
            yield _call(account, CAMPAIGN, webinar(person, at, chance.randint(3, 58)), at, expected="unrecognised")
    yield from _wrong(account, people, chance, now)


def _campaign(account: Account, person: Person, chance: Random, now: Micros) -> Iterator[Call | Change]:
    tool = chance.choices([*account.tools], [*account.tools.values()])[0]
    campaign, steps = chance.randrange(len(account.campaigns)), chance.choices((1, 2, 3), (3, 3, 4))[0]
    first = Fact(SENT, moment(chance, now, 0, 20.9), account, person, campaign)
    facts = [*(_linkedin if tool == HEYREACH else _mails)(first, steps, chance)]
    for fact in facts:
        late = chance.randint(1, 25) * SECOND if chance.random() < 0.985 else chance.randint(1, 7) * HOUR
        if fact.at >= now or late + fact.at >= now or (_is_silent(account, tool) and fact.at + late > now - SILENT):
            continue
        call = _call(account, CAMPAIGN, BODIES[tool](fact), fact.at + late)
        yield call
        if chance.random() < 0.008:  # a repeat, as tools send when an answer got lost
            yield replace(call, at=min(now, call.at + chance.randint(30, 900) * SECOND), expected=REPEAT)
    if facts[-1].kind in (REPLIED, LABELLED) and chance.random() < 0.3:
        at = facts[-1].at + chance.randint(1, 30) * HOUR
        if at < now:
            yield Change(at, account.id, person.email, chance.choices(("meeting_booked", "not_interested", "customer"), (5, 4, 1))[0])


def _is_silent(account: Account, tool: str) -> bool:
    return account.id == "alder-robotics" and tool == INSTANTLY


def _mails(first: Fact, steps: int, chance: Random) -> Iterator[Fact]:
    """Yield the mails of a campaign to one person, and what comes back."""
    account, person, luck, at = first.account, first.person, chance.random(), first.at
    for step in range(1, steps + 1):
        day = datetime.fromtimestamp(first.at / SECOND, UTC).strftime("%A")
        subject = texts.subject(account, person)
        sent = replace(
            first, at=at, step=step, subject=subject if step == 1 else f"Re: {subject}", text=texts.mail(account, person, step, day)
        )
        yield sent
        if chance.random() < 0.06:
            yield sent.as_kind(OPENED, at + chance.randint(60, 90_000) * SECOND)
        if luck < 0.035 and step == 1:
            yield sent.as_kind(BOUNCED, at + chance.randint(2, 90) * SECOND)
            return
        if chance.random() < 0.015:
            away = sent.as_kind(AWAY, at + chance.randint(3, 60) * SECOND)
            yield replace(away, subject=f"Automatic reply: {subject}", text=texts.reply(texts.AWAY, chance, account, person))
        if luck > 1 - 0.05 * step:
            yield from _answer(sent, chance)
            return
        at += chance.randint(50, 100) * HOUR


def _answer(sent: Fact, chance: Random) -> Iterator[Fact]:
    """Yield a reply, and the label that the tool or a person gave it."""
    at = sent.at + int(chance.expovariate(1 / 16) * HOUR) + 300 * SECOND
    if chance.random() < 0.1:
        yield sent.as_kind(UNSUBSCRIBED, at)
        return
    kind = chance.choices([*texts.KINDS], [*texts.KINDS.values()])[0]
    text = texts.reply(kind, chance, sent.account, sent.person)
    subject = sent.subject if sent.subject.startswith("Re: ") else f"Re: {sent.subject}"
    replied = replace(sent.as_kind(REPLIED, at), subject=subject, text=text)
    yield replied
    if kind == texts.REMOVE:
        yield sent.as_kind(UNSUBSCRIBED, at + chance.randint(5, 300) * 60 * SECOND)
    elif chance.random() < 0.6:
        labelled = replace(sent.as_kind(LABELLED, at + chance.randint(2, 400) * 60 * SECOND), label=_LABEL_OF[kind])
        if _knows(sent, labelled.label):
            yield labelled


def _knows(sent: Fact, label: str) -> bool:
    """Return whether the account's tools have a call for this label."""
    if LEMLIST in sent.account.tools:
        return label in ("interested", "not_interested")
    return EMAILBISON not in sent.account.tools or label == "interested"


def _linkedin(first: Fact, steps: int, chance: Random) -> Iterator[Fact]:
    """Yield what HeyReach does for one person, and what comes back."""
    account, person = first.account, first.person
    yield replace(first, kind=INVITED, text=texts.invitation(account, person))
    if chance.random() > 0.38:
        return
    at = first.at + chance.randint(1, 60) * HOUR
    yield replace(first, kind=ACCEPTED, at=at)
    at += chance.randint(1, 20) * HOUR
    written = replace(first, kind=MESSAGED, at=at, text=texts.note(account, person))
    yield written
    if chance.random() < 0.22:
        at += chance.randint(1, 50) * HOUR
        kind = chance.choice((texts.INTERESTED, texts.LATER, texts.NO, texts.QUESTION))
        yield replace(written, kind=REPLIED, at=at, text=texts.reply(kind, chance, account, person).partition("\n\n")[0])
        if kind == texts.INTERESTED:
            yield replace(written, kind=LABELLED, at=at + 3_000 * SECOND, text="", label="warm")


def _crm(account: Account, person: Person, chance: Random, now: Micros) -> Iterator[Call]:
    at, status = moment(chance, now, 0, 20), chance.choices(CRM_STATUSES[account.crm], (6, 3, 2)[: len(CRM_STATUSES[account.crm])])[0]
    is_known = chance.random() > 0.07
    body = CRM_BODIES[account.crm](person, status, at, is_known=is_known)
    yield _call(account, CRM, body, at + chance.randint(1, 9) * SECOND, expected="applied" if is_known else "parked")


def _wrong(account: Account, people: Sequence[Person], chance: Random, now: Micros) -> Iterator[Call]:
    """Yield calls that cannot be applied, a few for each client: cut off, empty, to a mistyped address, with a wrong token."""
    if account.id == "kestrel-freight":
        for _ in range(7):
            at = moment(chance, now, 0, 12)
            yield replace(_call(account, CAMPAIGN, {"event_type": "EMAIL_SENT"}, at, expected=""), client_id="kestrel-frieght")
    if account.id == "brightwater":
        for person in people[:9]:
            at = moment(chance, now, 0, 6)
            yield replace(_call(account, CRM, CRM_BODIES[account.crm](person, "customer", at), at), query="token=last-years-token")
    if account.id in ("ferncliff-payroll", "alder-robotics"):
        for person in people[:4]:
            body = json.dumps(BODIES[LEMLIST](Fact(OPENED, now - DAY, account, person, 0))).encode()
            yield Call(moment(chance, now, 0, 5), account.id, CAMPAIGN, body[: len(body) // 2], expected="unrecognised")


def _call(account: Account, channel: str, body: Any, at: Micros, expected: str = "applied") -> Call:
    return Call(at, account.id, channel, json.dumps(body, ensure_ascii=False).encode(), expected=expected)
