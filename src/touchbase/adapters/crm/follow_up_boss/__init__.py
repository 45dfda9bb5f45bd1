"""Follow Up Boss: webhooks, and fetching people.

Reference: docs.followupboss.com, webhooks and people. A webhook names the ids of its people; that of a stage has the stage too.
"""

from __future__ import annotations

from base64 import b64encode
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget
from touchbase.adapters.kit.signatures import Scheme, constant_time_equal, hmac_digest
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival
from touchbase.connections.tools import ApiRequest, Fetcher
from touchbase.history.events import Event

_PERSON = RecordShape(
    CONTACT, email=("emails",), first_name=("firstName",), last_name=("lastName",), full_name=("name",), linkedin=("linkedin",),
    useful=("phones", "source"), noise=frozenset({"picture"}),
)  # fmt: skip
_ACTIONS = {"peopleCreated": CREATED, "peopleUpdated": UPDATED, "peopleStageUpdated": UPDATED, "peopleDeleted": DELETED}


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word != "person" or not all(number.isdecimal() for number in target.ids):
        return None
    user = b64encode(f"{target.connection.access_token}:".encode()).decode()
    return target.get(f"/v1/people?id={','.join(target.ids)}&fields=allFields&limit={len(target.ids)}", {"authorization": f"Basic {user}"})


def _is_signed(arrival: Arrival, secret: str, now: Micros) -> bool:
    signature = arrival.headers.get("fub-signature")
    return signature is not None and constant_time_equal(signature.lower(), hmac_digest(secret, b64encode(arrival.body)).hex())


class FollowUpBoss(CrmAdapter):
    """Reads Follow Up Boss's webhooks."""

    tool = "follow_up_boss"
    words = ("person",)
    detection_keys = frozenset({"resourceIds", "eventCreated", "fub-signature"})
    status = ("stage",)
    signature_schemes = (
        Scheme("header `fub-signature`: HMAC-SHA256 in hex of the body in base64; the secret is the system key", _is_signed),
    )
    fetcher: ClassVar[Fetcher | None] = ApiFetcher(
        "https://api.followupboss.com", 50, 60, _make, lambda data: as_list(as_dict(data).get("people"))
    )

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the members of each webhook."""
        return 95 if body.keys() >= {"event", "resourceIds"} and body.keys() & {"eventId", "eventCreated", "uri"} else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of the people; a stage is a status, all else is still to be fetched."""
        name, at = text(body.get("event")) or "", parse_time(body.get("eventCreated"))
        what, stage = _ACTIONS.get(name), text(dig(body, "data", "stage"))
        numbers = [text(number) for number in as_list(body.get("resourceIds"))] or [None]
        if what is None:
            return [other_event("ignored" if name else "unrecognised", name or None, "person", numbers[0])]
        events: list[Event] = []
        for number in numbers:
            item = CrmItem(_PERSON, what, "person", number, name, at, text(body.get("eventId")), thin=stage is None)
            item.status = self.statuses(webhook, CONTACT, "person")
            if stage is not None:
                item.record, item.changed = {"stage": stage}, {"stage": (stage, NOT_SENT)}
            events += item.events()
        return events

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched person."""
        profile = first(as_dict(body.get("socialData")), "linkedIn", "linkedin")
        item = CrmItem(_PERSON, UPDATED, word, text(body.get("id")), "fetched", first_time(body, "updated", "created"))
        item.record, item.status = {**body, "linkedin": profile}, self.statuses(webhook, CONTACT, word)
        return item.events()


ADAPTER = FollowUpBoss()
