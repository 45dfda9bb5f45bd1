"""Writing clients of every kind. Each notes a request in the journal before sending it, and its response after."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.load import Address

from fault_tests.calls import ApiClient, NoResponse, UnknownOutcome
from fault_tests.journal import Journal, Patched

CONTACTS = "/public/v2/contacts"
CUSTOM = [{"field_name": "Seats", "field_value": "40"}, {"field_name": "Team", "field_value": "Sales"}]
REPLAYED = 10
"""Deliveries stored before the load begins, and replayed during it."""
REFUSED_PAUSE = 0.05
TRIES = 100

Step = Callable[[ApiClient, Journal, str], None]
"""One or two requests under a unique name; `NoResponse` ends the caller, unless it is `UnknownOutcome`."""


def body_of(email: str) -> dict[str, object]:
    """The body of a campaign tool's webhook about a person."""
    return {
        "timestamp": "2026-01-15T09:30:00.000Z", "event_type": "email_sent", "workspace": "11111111-0000-4000-8000-000000000001",
        "campaign_id": "22222222-0000-4000-8000-000000000002", "campaign_name": "Autumn roofers", "lead_email": email,
        "email_account": "sam@example.net", "firstName": "Nora", "lastName": "Quill", "step": 2, "email_id": f"mail-{email}",
    }  # fmt: skip


def create(api: ApiClient, journal: Journal, name: str) -> None:
    """Create a contact with two custom fields, without an idempotency key: a resend would duplicate it."""
    journal.created[name] = None
    answer = api.call("POST", CONTACTS, {"first_name": name, "contact_custom_fields_input": CUSTOM})
    if journal.note(answer.status, answer.seconds, "create"):
        journal.created[name] = answer.json["id"]
    else:
        journal.never_stored.add(name)


def create_once(api: ApiClient, journal: Journal, name: str) -> None:
    """Create a contact with an `Idempotency-Key`; may be resent."""
    journal.created_once[name] = journal.created_once.get(name)
    sent = {"first_name": name, "contact_custom_fields_input": CUSTOM}
    answer = api.call("POST", CONTACTS, sent, Idempotency_Key=name)
    if journal.note(answer.status, answer.seconds, "create with a key"):
        journal.created_once[name] = answer.json["id"]


def patch(api: ApiClient, journal: Journal, name: str) -> None:
    """Increment a contact: its last name and both custom fields in one PATCH."""
    who = int(name.partition("-")[0])
    place = journal.patched[who]
    place.sent += 1
    number = str(place.sent)
    custom = [{"field_name": word, "field_value": number} for word in ("Seats", "Team")]
    answer = api.call("PATCH", f"{CONTACTS}/{who}", {"last_name": number, "contact_custom_fields_input": custom})
    if journal.note(answer.status, answer.seconds, "patch"):
        place.acknowledged = place.sent


def webhook(api: ApiClient, journal: Journal, name: str) -> None:
    """Send a webhook about a new person; may be resent."""
    email = name if "@" in name else f"{name}@example.com"
    journal.webhooks.setdefault(email, False)
    answer = api.call("POST", f"/public/emailcampaign-webhook/{journal.client}", body_of(email))
    if journal.note(answer.status, answer.seconds, "webhook"):
        journal.webhooks[email] = True


def replay(api: ApiClient, journal: Journal, name: str) -> None:
    """Replay an applied delivery, which must change nothing."""
    answer = api.call("POST", f"/admin/v1/deliveries/{name.partition('-')[0]}/replay")
    journal.note(answer.status, answer.seconds, "replay")


def erase(api: ApiClient, journal: Journal, name: str) -> None:
    """Create a contact and erase it."""
    response = api.call("POST", CONTACTS, {"first_name": "Gone", "email": f"{name}@example.org"})
    if not journal.note(response.status, response.seconds, "create to erase"):
        return
    who = response.json["id"]
    journal.erased[who] = False
    answer = api.call("DELETE", f"{CONTACTS}/{who}?erase=true")
    if journal.note(answer.status, answer.seconds, "erase"):
        journal.erased[who] = True


class Load:
    """Writing clients, one thread each, until `end` or until the server is gone."""

    def __init__(self, address: Address, journal: Journal, item: int = 2) -> None:
        self._ended = threading.Event()
        steps: Sequence[Step] = (create, create_once, webhook, patch, replay, erase)
        prefixes = _prepare(ApiClient(address, journal.client), journal, item)
        self._threads = [
            threading.Thread(target=self._live, args=(address, journal, step, prefixes.get((step, number), f"{step.__name__}{number}")))
            for step in steps
            for number in range(item)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let each client finish its request, then return."""
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _live(self, address: Address, journal: Journal, step: Step, prefix: str) -> None:
        api, number = ApiClient(address, journal.client), 0
        try:
            while not self._ended.is_set():
                number += 1
                if not _carried_out(step, api, journal, f"{prefix}-{number}"):
                    time.sleep(REFUSED_PAUSE)
        except NoResponse as error:
            if not error.never_sent:
                journal.note_unanswered()
        except Exception as error:  # an acknowledgement that cannot be decoded is unexpected too
            journal.note_odd(f"{step.__name__}: {error!r}")
        finally:
            api.close()


def _carried_out(step: Step, api: ApiClient, journal: Journal, name: str) -> bool:
    before = journal.refused
    try:
        step(api, journal, name)
    except UnknownOutcome:
        journal.note_unknown()
        return False
    return journal.refused == before


def _prepare(api: ApiClient, journal: Journal, item: int) -> dict[tuple[Step, int], str]:
    """Create the records and deliveries that the load changes and replays; return the name prefixes of their clients."""
    prefixes: dict[tuple[Step, int], str] = {}
    for number in range(item):
        who = api.expect_ok("POST", CONTACTS, {"first_name": "Counted", "last_name": "0"})["id"]
        journal.patched[who] = Patched()
        prefixes[patch, number] = str(who)
    for number in range(REPLAYED):
        webhook(api, journal, f"first{number}")
    expected = _known(api, journal.client)
    for number in range(item):
        prefixes[replay, number] = str(expected[number % len(expected)]["id"])
    api.close()
    return prefixes


def _known(api: ApiClient, client: str) -> list[dict[str, Any]]:
    """Wait for the first deliveries of this client and return them."""
    for _ in range(TRIES):
        deliveries: list[dict[str, Any]] = api.expect_ok("GET", f"/admin/v1/deliveries?client={client}&limit={REPLAYED}")["data"]
        if deliveries:
            return deliveries
        time.sleep(REFUSED_PAUSE)
    raise AssertionError("webhook calls were acknowledged and are not in the inbox")


def resend(address: Address, journal: Journal) -> None:
    """Resend the requests that were not acknowledged and may be resent, and the last five that were."""
    api = ApiClient(address, journal.client)
    for sent, step in ((journal.created_once, create_once), (journal.webhooks, webhook)):
        open_calls = [name for name, value in sent.items() if not value]
        for name in [*open_calls, *list(sent)[-5:]]:
            step(api, journal, name)
    api.close()
