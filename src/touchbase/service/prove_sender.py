"""Proving a sender: whether a call may come in, judged before anything of it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from touchbase.domain.connection import UNPROVEN, Arrival, Connection, Sender
from touchbase.domain.delivery import WebhookRequest
from touchbase.domain.encoding import LARGEST_SIGNED, decoded
from touchbase.domain.errors import Unauthorized, UnrecognisedPayload
from touchbase.domain.ports import Senders
from touchbase.domain.times import Micros


def prove_sender(senders: Senders, connections: Sequence[Connection], arrival: Arrival, now: Micros) -> Sender:
    """Who sends this call; raises `Unauthorized` when its client asks for a proof that it lacks.

    Where no connection of the channel has a secret, nothing is asked and nothing proved. Where several
    have one, each of them may prove the call. A tool that is connected without a secret beside one with a
    secret still gets in, if the call is plainly its own.
    """
    here = [one for one in connections if one.channel == arrival.channel]
    guarded = [one for one in here if one.secrets]
    if not guarded:
        return UNPROVEN
    secrets = tuple(secret for one in guarded for secret in one.secrets)
    for one in guarded:
        if senders.proves(one, arrival, now):
            return Sender(one.tool, True, secrets)
    unguarded = {one.tool for one in here} - {one.tool for one in guarded}
    if unguarded and senders.surest(_unpacked(arrival)) in unguarded:
        return Sender(None, False, secrets)
    tools = ", ".join(one.tool for one in guarded)
    raise Unauthorized(f"this call does not prove who sends it: the client has set a secret for {tools}, and the call fails it")


def _unpacked(arrival: Arrival) -> WebhookRequest:
    """The call by whose content its tool is known; one that cannot be unpacked shows none."""
    body = arrival.body
    with suppress(UnrecognisedPayload):
        body = decoded(arrival.headers.get("content-encoding", ""), body, LARGEST_SIGNED)
    return WebhookRequest(arrival.channel, arrival.headers, arrival.query, body)
