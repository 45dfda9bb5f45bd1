"""Which requests endpoints get, and when: order, retries, pauses, replays."""

from __future__ import annotations

import asyncio
import logging

import pytest
from tests.outgoing.conftest import Sent, Webhooks

from touchbase.common.timestamps import DAY, SECOND
from touchbase.event_log.signal import LOGGED
from touchbase.event_log.sql.queries import trim_log
from touchbase.outgoing import dispatcher
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.rounds import POLL_SECONDS, UNUSED_POLL_SECONDS, SignalledWorker
from touchbase.outgoing.sql.dispatch import lowest_needed


async def test_event__is_sent_once_in_the_envelope(webhooks: Webhooks) -> None:
    endpoint = await webhooks.add()
    number = await webhooks.house.contact(email="ada@example.com", first_name="Ada")

    [sent] = await webhooks.deliver()

    assert sent.body["type"] == "contact.created"
    assert sent.body["data"]["id"] == "evt_1"
    assert sent.body["data"]["client_id"] == "default"
    assert sent.body["data"]["object"]["id"] == number
    assert sent.body["data"]["object"]["first_name"] == "Ada"
    assert sent.id == f"evt_1_{endpoint['id']}"
    assert await webhooks.deliver(60) == []


async def test_event__of_before_the_endpoint_is_not_sent(webhooks: Webhooks) -> None:
    await webhooks.house.contact(email="early@example.com")
    await webhooks.add()

    assert await webhooks.deliver() == []


async def test_failure__is_repeated_with_the_same_id_until_it_succeeds(webhooks: Webhooks) -> None:
    await webhooks.add()
    webhooks.receivers.answer = lambda sent: 500
    await webhooks.house.contact(email="ada@example.com")

    [first] = await webhooks.deliver()
    assert await webhooks.deliver(4) == []
    [second] = await webhooks.deliver(3)
    assert await webhooks.deliver(290) == []
    webhooks.receivers.answer = lambda sent: 204
    [third] = await webhooks.deliver(80)

    assert first.id == second.id == third.id
    assert await webhooks.deliver(DAY / SECOND) == []
    shown = await webhooks.attempts()
    assert [(item["attempt"], item["outcome"], item["status"]) for item in shown] == [
        (3, "delivered", 204), (2, "refused", 500), (1, "refused", 500),
    ]  # fmt: skip
    assert shown[0]["response_body"] == "thanks"


async def test_failing_event__holds_back_later_ones_of_its_record_only(webhooks: Webhooks) -> None:
    await webhooks.add()
    webhooks.receivers.answer = lambda sent: 500 if sent.sequence == 1 else 200
    first = await webhooks.house.contact(email="ada@example.com")
    await webhooks.house.contact(email="bob@example.com")
    await webhooks.house.request("PATCH", f"/public/v2/contacts/{first}", {"first_name": "Ada"})

    assert sorted(sent.sequence for sent in await webhooks.deliver()) == [1, 2]
    webhooks.receivers.answer = lambda sent: 200
    assert [sent.sequence for sent in await webhooks.deliver(7)] == [1, 3]


async def test_ordering_none__sends_later_events_of_a_record_at_once(webhooks: Webhooks) -> None:
    await webhooks.add(ordering="none")
    webhooks.receivers.answer = lambda sent: 500 if sent.sequence == 1 else 200
    first = await webhooks.house.contact(email="ada@example.com")
    await webhooks.house.request("PATCH", f"/public/v2/contacts/{first}", {"first_name": "Ada"})

    assert sorted(sent.sequence for sent in await webhooks.deliver()) == [1, 2]


async def test_another_process__repeats_nothing_that_is_stored_and_loses_nothing(webhooks: Webhooks) -> None:
    await webhooks.add()
    webhooks.receivers.answer = lambda sent: 500 if sent.sequence in (2, 5) else 200
    for number in range(8):
        await webhooks.house.contact(email=f"person{number}@example.com")
    assert {sent.sequence for sent in await webhooks.deliver()} == {*range(1, 9)}
    webhooks.receivers.answer = lambda sent: 200

    webhooks.restarted()

    assert {sent.sequence for sent in await webhooks.deliver()} == {2, 5}
    assert await webhooks.deliver(60) == []


async def test_all_attempts_failed__waits_for_a_replay_and_lets_later_events_go(webhooks: Webhooks) -> None:
    endpoint = await webhooks.add()
    webhooks.receivers.answer = lambda sent: 400 if sent.sequence == 1 else 200
    first = await webhooks.house.contact(email="ada@example.com")
    await webhooks.house.request("PATCH", f"/public/v2/contacts/{first}", {"first_name": "Ada"})
    sent: list[Sent] = []
    for _ in range(100):
        sent += await webhooks.deliver(3_600)

    assert [item.sequence for item in sent] == [1] * 10 + [2]
    shown = await webhooks.ask("GET", f"/{endpoint['id']}")
    assert shown["progress"]["failed"] == 1
    webhooks.receivers.answer = lambda sent: 200
    since = "2026-11-20T00:00:00Z"
    assert await webhooks.ask("POST", f"/{endpoint['id']}/replay", {"failed_since": since}, 202) == {"events": 1}
    assert [item.sequence for item in await webhooks.deliver()] == [1]
    assert (await webhooks.ask("GET", f"/{endpoint['id']}"))["progress"]["failed"] == 0


async def test_five_days_of_failure__pause_the_endpoint_and_drop_nothing(webhooks: Webhooks) -> None:
    endpoint = await webhooks.add()
    webhooks.receivers.answer = lambda sent: 503
    for number in range(3):
        await webhooks.house.contact(email=f"person{number}@example.com")
    for _ in range(130):
        await webhooks.deliver(3_600)
    await webhooks.house.contact(email="later@example.com")
    for _ in range(12):
        await webhooks.deliver(3_600)

    shown = await webhooks.ask("GET", f"/{endpoint['id']}")
    if shown["state"] == "active":
        await webhooks.deliver(86_400)
        shown = await webhooks.ask("GET", f"/{endpoint['id']}")
    assert shown["state"] == "paused"
    assert await webhooks.deliver(DAY / SECOND) == []
    webhooks.receivers.answer = lambda sent: 200
    assert (await webhooks.ask("POST", f"/{endpoint['id']}/resume"))["state"] == "active"
    again = {sent.sequence for sent in await webhooks.deliver()}
    assert 4 in again
    await webhooks.ask("POST", f"/{endpoint['id']}/replay", {"failed_since": "2026-11-20T00:00:00Z"}, 202)
    assert again | {sent.sequence for sent in await webhooks.deliver()} == {1, 2, 3, 4}


async def test_410__disables_the_endpoint_and_keeps_what_waits(webhooks: Webhooks) -> None:
    endpoint = await webhooks.add()
    webhooks.receivers.answer = lambda sent: 410
    await webhooks.house.contact(email="ada@example.com")
    await webhooks.deliver()

    shown = await webhooks.ask("GET", f"/{endpoint['id']}")
    assert (shown["state"], "410" in shown["state_reason"]) == ("disabled", True)
    assert await webhooks.deliver(600) == []
    webhooks.receivers.answer = lambda sent: 200
    await webhooks.ask("POST", f"/{endpoint['id']}/resume")
    assert [sent.sequence for sent in await webhooks.deliver()] == [1]


@pytest.mark.parametrize("answer", ["500", "cut"])
async def test_replay_of_one_event__sends_it_though_it_was_delivered(webhooks: Webhooks, answer: str) -> None:
    endpoint = await webhooks.add()
    await webhooks.house.contact(email="ada@example.com")
    [first] = await webhooks.deliver()

    assert await webhooks.ask("POST", f"/{endpoint['id']}/replay", {"event": "evt_1"}, 202) == {"events": 1}

    [again] = await webhooks.deliver()
    assert again.id == first.id
    assert await webhooks.deliver(60) == []
    webhooks.restarted()
    assert await webhooks.deliver() == []


async def test_missing_since__sends_events_of_before_the_endpoint_once(webhooks: Webhooks) -> None:
    await webhooks.house.contact(email="early@example.com")
    await webhooks.house.contact(email="early2@example.com")
    endpoint = await webhooks.add()
    await webhooks.house.contact(email="late@example.com")
    assert [sent.sequence for sent in await webhooks.deliver()] == [3]
    since = {"missing_since": "2026-11-20T00:00:00Z"}

    assert await webhooks.ask("POST", f"/{endpoint['id']}/replay", since, 202) == {"events": 2}
    assert sorted(sent.sequence for sent in await webhooks.deliver()) == [1, 2]
    assert await webhooks.ask("POST", f"/{endpoint['id']}/replay", since, 202) == {"events": 0}
    assert await webhooks.deliver() == []


async def test_types_fields_and_filter__choose_what_is_sent(webhooks: Webhooks) -> None:
    tree = {"contact": {"contact_status[in]": ["won"]}}
    await webhooks.add(types=["contact.created", "company.created"], fields=["email"], filter=tree)
    await webhooks.house.contact(email="ada@example.com", contact_status="won")
    await webhooks.house.contact(email="bob@example.com", contact_status="lost")
    number = await webhooks.house.company("acme.example", name="Acme")
    await webhooks.house.request("PATCH", f"/public/v2/companies/{number}", {"name": "Acme Inc"})

    sent = sorted(await webhooks.deliver(), key=lambda deliver: deliver.sequence)

    assert [item.body["data"]["object"].get("email") for item in sent] == ["ada@example.com", None]
    assert {*sent[0].body["data"]["object"]} == {"id", "email"}


async def test_rate_limit__spreads_requests(webhooks: Webhooks) -> None:
    await webhooks.add(rate_limit=2)
    for number in range(5):
        await webhooks.house.contact(email=f"person{number}@example.com")

    counts = []
    for _ in range(3):
        webhooks.receivers.take()
        await webhooks.dispatcher.drain()
        counts.append(len(webhooks.receivers.take()))
        webhooks.clock.move(1)
    assert counts == [2, 2, 1]


async def test_retention__keeps_what_a_paused_endpoint_has_not_got(webhooks: Webhooks) -> None:
    store = webhooks.house.call.parts.store
    for number in range(3):
        await webhooks.house.contact(email=f"early{number}@example.com")
    endpoint = await webhooks.add()
    for number in range(3):
        await webhooks.house.contact(email=f"person{number}@example.com")
    webhooks.receivers.answer = lambda sent: 500
    await webhooks.deliver()

    needed = await store.read(lowest_needed(webhooks.house.number))
    await store.write(trim_log(webhooks.house.number, webhooks.clock() + DAY, keep_from=needed))

    assert needed == 4
    webhooks.receivers.answer = lambda sent: 200
    await webhooks.ask("POST", f"/{endpoint['id']}/resume")
    assert sorted(sent.sequence for sent in await webhooks.deliver()) == [4, 5, 6]
    assert await store.read(lowest_needed(webhooks.house.number)) == 7


async def test_resumed_endpoint__says_which_events_it_does_not_get(webhooks: Webhooks, caplog: pytest.LogCaptureFixture) -> None:
    endpoint = await webhooks.add()
    webhooks.receivers.answer = lambda sent: 410
    await webhooks.house.contact(email="ada@example.com")
    await webhooks.deliver()
    await webhooks.house.contact(email="bob@example.com")
    await webhooks.house.call.parts.store.write(trim_log(webhooks.house.number, webhooks.clock() + DAY))
    await webhooks.house.contact(email="cy@example.com")

    webhooks.receivers.answer = lambda sent: 200
    await webhooks.ask("POST", f"/{endpoint['id']}/resume")

    assert [sent.sequence for sent in await webhooks.deliver()] == [3]
    said = [record.getMessage() for record in caplog.records if "does not get" in record.getMessage()]
    # Two tasks may say it in any order.
    assert sorted(text.partition(":")[0].partition("get ")[2] for text in said) == ["evt_1 to evt_1", "evt_2 to evt_2"]


async def test_endpoints_that_do_not_respond__hold_up_no_other(webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "FAST", 2)
    monkeypatch.setattr(dispatcher, "FAST_SECONDS", 0.01)
    arrived, released = asyncio.Event(), asyncio.Event()

    async def post(url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        if "dead" in url:
            await released.wait()
            return ReceiverAnswer(0, failure="timeout")
        arrived.set()
        return ReceiverAnswer(0, 200)

    webhooks.receivers.post = post  # type: ignore[method-assign]
    running_one = webhooks.restarted()
    for number in range(3):
        await webhooks.add(url=f"https://dead{number}.example/")
    await webhooks.add(url="https://alive.example/")
    for number in range(4):
        await webhooks.house.contact(email=f"person{number}@example.com")

    running = asyncio.create_task(running_one.run())
    await asyncio.wait_for(arrived.wait(), 10)
    released.set()
    running_one.stop()
    await running


async def test_event_of_this_process__is_sent_without_waiting_for_the_next_look(
    webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(dispatcher, "POLL_SECONDS", 1_000.0)
    arrived: asyncio.Queue[int] = asyncio.Queue()
    webhooks.receivers.answer = lambda sent: arrived.put_nowait(sent.sequence) or 200  # type: ignore[func-returns-value]
    running = asyncio.create_task(webhooks.dispatcher.run())
    await webhooks.add()

    for sequence in range(1, 4):
        await webhooks.house.contact(email=f"person{sequence}@example.com")
        assert await asyncio.wait_for(arrived.get(), 10) == sequence

    webhooks.dispatcher.stop()
    await running


class Rounds(SignalledWorker):
    """Counts rounds; `wants` events or not."""

    log, label, failure = logging.getLogger("touchbase.tests"), "rounds", "a round failed"
    wants = True

    def __init__(self) -> None:
        super().__init__()
        self.done = asyncio.Queue[bool]()
        """For each round, whether events were stored before it."""

    def wants_events(self) -> bool:
        return self.wants

    async def _round(self) -> float:
        self.done.put_nowait(self.take_signal())
        return self.plan(2_000_000_000, 0)


async def test_rounds__are_planned_and_hastened() -> None:
    rounds = Rounds()
    running = asyncio.create_task(rounds.run())
    await rounds.done.get()

    rounds.hasten(3_000_000_000)
    rounds.hasten(None)
    await asyncio.sleep(0)
    assert rounds.done.empty()
    rounds.hasten(1)

    await asyncio.wait_for(rounds.done.get(), 10)
    rounds.stop()
    await running


async def test_rounds__ignore_events_without_endpoints() -> None:
    rounds = Rounds()
    rounds.wants = False
    running = asyncio.create_task(rounds.run())
    await rounds.done.get()
    LOGGED.notify()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    is_awake = rounds._wake_up.is_set()
    rounds.wants = True
    LOGGED.notify()
    has_logged = await asyncio.wait_for(rounds.done.get(), 10)
    rounds.stop()
    await running

    assert (is_awake, has_logged) == (False, True)


async def test_endpoint_of_another_process__is_found_later_while_there_is_none(webhooks: Webhooks) -> None:
    unused = await webhooks.dispatcher._round()
    await webhooks.add()
    await webhooks.dispatcher._round()

    assert (unused, await webhooks.dispatcher._round()) == (UNUSED_POLL_SECONDS, POLL_SECONDS)
