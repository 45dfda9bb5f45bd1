"""Entries of a do-not-contact list, the causes that make them, and the fold from causes to an entry.

A client's entry is computed from its *causes*: one for each event about the address, and one for the last request. The
result is the same for every order and repetition of the causes; a removal at one time ends all causes up to that time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros

EMAIL = "email"
DOMAIN = "domain"
LINKEDIN_URL = "linkedin_url"
KINDS = (EMAIL, DOMAIN, LINKEDIN_URL)
"""Kinds of addresses, with the names of the records' fields."""

COMPLAINED = "complained"
UNSUBSCRIBED = "unsubscribed"
HARD_BOUNCED = "hard_bounced"
REQUESTED = "requested"
STATUS = "status"
"""The status of a contact says so: a person, a program or a CRM has set it."""
REASONS = (COMPLAINED, UNSUBSCRIBED, REQUESTED, STATUS, "legal", "competitor", "customer", "other", HARD_BOUNCED)
"""All reasons. Of several causes of equal duration the entry shows the reason that comes first here."""
RESUBSCRIBED = "resubscribed"
"""The reason of a cause that ends earlier causes of the same tool, except complaints and bounces; no entry shows it."""

EVENT = "event"
IMPORT = "import"
API = "api"
SOURCES = (EVENT, IMPORT, API, "person")
"""Who made an entry: a webhook, an import, a program through the API, or a person."""
WRITTEN_SOURCES = SOURCES[1:]
"""The sources that a request may name."""

INSTALLATION = 0
"""Stands for the installation in place of a client's number; no client has it."""
CLIENT_LIST = "client"
INSTALLATION_LIST = "installation"
LISTS = (CLIENT_LIST, INSTALLATION_LIST)

WRITTEN = ""
"""The key of a cause by request; keys of causes by events are not empty."""
MAX_ENTRIES = 1_000
"""Entries of one request, and addresses of one check."""
NOTE_LENGTH = 1_000


UNDO_US: Micros = 3_600_000_000
"""How long a block, or an entry of one's own, can be taken back by somebody who may not unblock."""
MAY_NOT_UNBLOCK = (
    "only an administrator may unblock, and others for an hour what they blocked themselves: ask an administrator to remove the entry"
)

MAY_NOT_SHORTEN = (
    "the address is listed for longer, and only an administrator may end that earlier: leave out until, send a later one, "
    "or ask an administrator"
)


@dataclass(slots=True)
class Cause:
    """One reason why an address is on a client's list."""

    key: str
    """Identifies the event; `WRITTEN` for the last request."""
    reason: str
    source: str
    at_us: Micros
    """The effective time of the event, or the time of the request: a removal at this time or later ends it."""
    since_us: Micros
    until_us: Micros | None = None
    note: str = ""
    tool: str | None = None
    delivery_id: int | None = None
    made_by: str | None = None
    """The id of the person or key who sent the request; None: a webhook, or nobody known."""

    def is_over(self, at: Micros) -> bool:
        """Return whether its time has ended."""
        return self.until_us is not None and self.until_us <= at

    def outlasts(self, until: Micros | None) -> bool:
        """Return whether it lasts longer than an entry with this end."""
        return until is not None and (self.until_us is None or self.until_us > until)

    def is_undone_by(self, actor: str, at: Micros) -> bool:
        """Whether somebody who may not unblock may take it back: one's own, for an hour."""
        return self.made_by == actor and self.at_us > at - UNDO_US


@dataclass(slots=True)
class Entry:
    """One entry of a list, as it is shown."""

    id: int
    kind: str
    value: str | None
    """The address in normal form; None if only its keyed hash is stored, because the person was erased."""
    reason: str
    source: str
    note: str
    since_us: Micros
    until_us: Micros | None
    created_us: Micros
    updated_us: Micros
    tool: str | None = None
    delivery_id: int | None = None

    def is_active(self, now: Micros) -> bool:
        """Return whether it suppresses at this time."""
        return self.until_us is None or self.until_us > now


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to store: its address in normal form."""

    kind: str
    value: str
    reason: str = REQUESTED
    source: str = API
    note: str = ""
    since_us: Micros | None = None
    """None: the time of the request."""
    until_us: Micros | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """An entry after a request, and the outcome: `created`, `updated`, `unchanged` or `refused`."""

    outcome: str
    entry: Entry


CREATED = "created"
UPDATED = "updated"
UNCHANGED = "unchanged"
REFUSED = "refused"
"""It would end before the stored entry of somebody else does."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of one person or company in normal form; `domain` is a company's."""

    email: str | None = None
    linkedin: str | None = None
    domain: str | None = None
    contact: int | None = None
    """The contact, whose further addresses count too."""
    status: str | None = None
    """The contact's."""
    linkedin_url: str | None = field(default=None, compare=False)
    """The text that `linkedin` is the normal form of, if it is at hand: an erased person may be listed by the hash of a former form."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Why an address must not be contacted: the first active entry that covers it, or the status of its contact."""

    reason: str
    listed: str | None = None
    """The list that the entry is on: `client` or `installation`; None: the status says so, and there is no entry."""
    kind: str | None = None
    value: str | None = None
    """The address or domain of the entry; None if only its hash is stored."""
    since_us: Micros | None = None
    until_us: Micros | None = None


def fold(causes: Iterable[Cause], removed_us: Micros) -> Cause | None:
    """Return the cause that an entry shows, with the note of the last request; None if no cause is left.

    Causes up to the last removal have ended, and what a tool has said before its last re-subscription. A cause without an end is
    shown before one with an end; then the reason, the time and the key decide.
    """
    live = live_causes(causes, removed_us)
    if not live:
        return None
    shown = min(live, key=_precedence)
    note = next((cause.note for cause in live if cause.key == WRITTEN), shown.note)
    return Cause(
        shown.key, shown.reason, shown.source, shown.at_us, shown.since_us, shown.until_us, note, shown.tool, shown.delivery_id
    )  # fmt: skip


def live_causes(causes: Iterable[Cause], removed_us: Micros) -> list[Cause]:
    """Return the causes that have not ended."""
    all_causes = list(causes)
    resubscribed: dict[str | None, Micros] = {}
    for cause in all_causes:
        if cause.reason == RESUBSCRIBED:
            resubscribed[cause.tool] = max(cause.at_us, resubscribed.get(cause.tool, 0))
    return [cause for cause in all_causes if cause.at_us > removed_us and not _has_ended(cause, resubscribed.get(cause.tool, 0))]


def _has_ended(cause: Cause, resubscribed: Micros) -> bool:
    """Return whether a re-subscription ends a cause: only causes by events of the same tool, none set by a person or program."""
    if cause.reason == RESUBSCRIBED:
        return True
    return cause.reason in (UNSUBSCRIBED, STATUS) and cause.source == EVENT and cause.at_us < resubscribed


def _precedence(cause: Cause) -> tuple[bool, Micros, int, Micros, str]:
    until = cause.until_us
    return (until is not None, -(until or 0), REASONS.index(cause.reason), cause.since_us, cause.key)
