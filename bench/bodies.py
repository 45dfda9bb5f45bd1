"""The requests that are sent: every one different, in one run and over all runs, so that none is a duplicate.

A path or body is a text with `<names>` in it. `n` counts the requests of one burst of load, `run` names that burst, and
`who`, `kind`, `when` and `known` (a contact that the store has already) follow from `n`; both load generators fill them
in the same way.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

NAMED = re.compile(r"<(\w+)>")

KINDS = ("email_sent", "email_opened", "email_link_clicked", "reply_received")
PEOPLE = 2_000
"""People in a block of events: the first `PEOPLE` events make them, the next ones tell more of each."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of request: where it goes and what it carries."""

    name: str
    path: str
    body: str
    method: str = "POST"
    known: int = 1
    """How many contacts `<known>` goes through, in a scattered order."""
    older: int = 0
    """How many contacts were made before those."""

    def bodies(self, run: str) -> Iterator[bytes]:
        """The bodies of one burst of load."""
        return (body for _, body in self.requests(run))

    def requests(self, run: str) -> Iterator[tuple[bytes, bytes]]:
        """The paths and bodies of one burst of load."""
        path, body = (_filler(NAMED.split(text), run, self.known, self.older) for text in (self.path, self.body))
        return ((path(n).encode(), body(n).encode()) for n in count(1))


CREATE = Shape(
    "create",
    "/public/v2/contacts",
    '{"email":"p<n>.<run>@example.com","linkedin_url":"https://www.linkedin.com/in/p<n>-<run>","first_name":"Nora",'
    '"last_name":"Quill","origin":"import","contact_status":"new","contact_custom_fields_input":['
    '{"field_name":"Seats","field_value":"40"},{"field_name":"Team","field_value":"Sales"}]}',
)
"""A contact with two custom fields: three rows."""

WEBHOOK = Shape(
    "webhook",
    "/public/emailcampaign-webhook/bench",
    '{"timestamp":"<when>","event_type":"<kind>","workspace":"11111111-0000-4000-8000-000000000001",'
    '"campaign_id":"22222222-0000-4000-8000-000000000002","campaign_name":"Autumn roofers",'
    '"lead_email":"p<who>.<run>@example.com","email_account":"sam@example.net","unibox_url":"https://app.example.net/unibox?t=1",'
    '"firstName":"Nora","lastName":"Quill","step":2,"email_id":"mail-<n>.<run>","reply_text":"Tell me more."}',
)
"""An event of a campaign tool. Four events tell of one person, far enough apart to lie in different transactions."""


STRIDE = 7_919
"""From one known contact to the next: no divisor of the sizes of our stores, so each is met once in a round."""


def new_run() -> str:
    """A name for one burst of load that no other has."""
    return secrets.token_hex(5)


def first_second() -> int:
    """The time of the first event: a day ago, and each request is a millisecond later."""
    return int(time.time()) - 86_400


def first_known(run: str, expected: int) -> int:
    """Where a burst begins among the known contacts, so that two do not meet the same ones."""
    return int(run, 16) % expected


def _filler(pieces: list[str], run: str, expected: int, older: int) -> Callable[[int], str]:
    start = first_second()
    first = first_known(run, expected)
    second, text = -1, ""

    def when(n: int) -> str:
        nonlocal second, text
        if n // 1000 != second:
            second = n // 1000
            text = time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(start + second))
        return f"{text}{n % 1000:03d}Z"

    values: dict[str, Callable[[int], str]] = {
        "n": str,
        "run": lambda n: run,
        "who": lambda n: str(n // (PEOPLE * len(KINDS)) * PEOPLE + n % PEOPLE),
        "kind": lambda n: KINDS[n // PEOPLE % len(KINDS)],
        "when": when,
        "known": lambda n: str(older + (first + n * STRIDE) % expected + 1),
    }
    # Every other piece is a name.
    parts: list[Callable[[int], str]] = [values[piece] if odd % 2 else _always(piece) for odd, piece in enumerate(pieces)]
    return lambda n: "".join([part(n) for part in parts])


def _always(text: str) -> Callable[[int], str]:
    return lambda n: text
