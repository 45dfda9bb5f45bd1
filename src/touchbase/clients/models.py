"""Clients: the organisations that records belong to, and their settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from secrets import choice

from touchbase.common.plain_text import LEGAL_FORM, ascii_of
from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import Forbidden
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.status_words import StatusRename, StatusWords, words_after

ACTIVE = "active"
SUSPENDED = "suspended"
"""Its records cannot be read or written, its webhooks are stored and not applied, until it is resumed."""
DELETING = "deleting"
"""It is not served any more, and its data is being removed."""
MOVING = "moving"
"""It is being copied into another database: its records can be read, and nothing of it can be written."""
BY_ADMINISTRATOR = "administrator"
BY_CALL = "call"
"""The creator of a client: an administrator, or the first request that named it, without authentication."""
NO_CLIENT = -1
"""The number of a client that does not exist: no row has it."""
CLIENT_STATES = (ACTIVE, SUSPENDED, DELETING, MOVING)
DELETION_DELAY: Micros = 10 * SECOND
"""How long after the start of a deletion requests from before may still write: the client's own row is removed after that."""

ON_DUPLICATE = ("error", "return", "update")
LINK_OFF, LINK_EXISTING, LINK_CREATE = "off", "existing", "create"
LINK_MODES = (LINK_OFF, LINK_EXISTING, LINK_CREATE)
"""Whether contacts get a company by the domain of their e-mail address: never, an existing one, or also a new one."""
KEEP_BODIES_DAYS = 90
"""The default number of days for which the body of an applied delivery is stored."""
KEEP_DELETED_DAYS = 30
"""The default number of days for which a deleted record can be restored, and a merge undone."""
MOST_DAYS = 36_500
LARGEST_STORED_BYTES = 2**53 - 1
"""Limit of a number of stored bytes: JSON numbers are exact up to it."""
MOST_STATUSES = 200
"""Statuses of a declared set."""


@dataclass(slots=True)
class StatusSet:
    """The statuses of one kind of record, in order, and which may follow which.

    `transitions` maps a status to the statuses that may follow it; any status may follow one that is not a key.
    """

    statuses: list[str]
    transitions: dict[str, list[str]] = field(default_factory=dict)
    opt_outs: list[str] = field(default_factory=list)
    """Which of them say that a contact must not be contacted; words such as `unsubscribed` do so without being named here."""

    def renamed(self, words: StatusWords) -> StatusSet:
        """Return the set with the present names of its words."""
        transitions: dict[str, list[str]] = {}
        for before, after in self.transitions.items():
            name = words.of(before) or before
            transitions[name] = _names([*transitions.get(name, ()), *after], words)
        return StatusSet(_names(self.statuses, words), transitions, _names(self.opt_outs, words))


def _names(statuses: Iterable[str], words: StatusWords) -> list[str]:
    return list(dict.fromkeys(words.of(status) or status for status in statuses))


FIELD_TYPES = ("text", "number", "boolean", "date", "datetime", "email", "url", "select")
"""The types of custom fields."""


@dataclass(slots=True)
class FieldType:
    """A declared custom field: its type, and the choices of a select."""

    type: str
    options: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ClientLimits:
    """A client's own limits per second; None: the server's limit, 0: no limit."""

    requests: int | None = None
    rows: int | None = None
    bytes: int | None = None
    webhooks: int | None = None
    webhook_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RequireVerification:
    """The channels on which webhooks without verification are rejected, for every tool."""

    email_campaign: bool = False
    crm: bool = False

    def on(self, channel: str) -> bool:
        """Return whether this channel requires verification."""
        return self.crm if channel == "crm" else self.email_campaign


@dataclass(frozen=True, slots=True)
class SuppressOn:
    """The events that put an address on the client's do-not-contact list."""

    unsubscribed: bool = True
    complained: bool = True
    hard_bounced: bool = True


@dataclass(slots=True)
class ClientSettings:
    """A client's settings; the defaults allow everything."""

    on_duplicate: str = "error"
    contact_statuses: StatusSet | None = None
    company_statuses: StatusSet | None = None
    contact_fields: dict[str, FieldType] = field(default_factory=dict)
    company_fields: dict[str, FieldType] = field(default_factory=dict)
    contact_field_names: dict[str, str] = field(default_factory=dict)
    company_field_names: dict[str, str] = field(default_factory=dict)
    """Former names of custom fields -> present ones. Renaming and merging fields set them; a replacement of the settings leaves them."""
    create_unknown: bool = True
    """Whether an e-mail event for an unknown person creates the contact."""
    linkedin_reply_counts: bool = True
    """Whether a LinkedIn reply moves `last_reply_received`."""
    limits: ClientLimits | None = None
    keep_bodies_days: int | None = KEEP_BODIES_DAYS
    """Days after which the body of an applied or ignored delivery is removed; None: never."""
    keep_deleted_days: int = KEEP_DELETED_DAYS
    """Days for which a deleted record can be restored and a merge undone; then it is removed permanently."""
    erase_on_crm_request: bool = False
    """Whether a CRM's request to erase a person is done at once; else the contact waits in the bin until a person confirms it."""
    require_verification: RequireVerification = RequireVerification()
    """Where all webhooks must be verified; elsewhere a secret applies to the webhooks of its tool only."""
    suppress_on: SuppressOn = SuppressOn()
    store_message_bodies: bool = True
    """Whether subject, text and HTML of messages are stored."""
    operators_export: bool = True
    """Whether people with the role operator may export records; administrators always may."""
    max_stored_bytes: int | None = None
    """The most bytes that the client may store; None: the installation's limit, 0: no limit."""
    link_companies_by_email: str = LINK_OFF
    """One of LINK_MODES. The index of migration 0012 reads it in the stored text."""
    contact_renames: tuple[StatusRename, ...] = ()
    """The renames of statuses of contacts, oldest first; requests for settings neither show nor change them."""
    company_renames: tuple[StatusRename, ...] = ()
    contact_opt_outs: list[str] = field(default_factory=list)
    """Names of statuses of contacts that opt out beyond `OPT_OUT_WORDS`; follows from the settings, stored for conditions in SQL."""

    def __post_init__(self) -> None:
        if self.contact_renames or self.contact_statuses is not None or self.contact_opt_outs:
            self.contact_opt_outs = sorted(self.words(CONTACT).opt_outs)

    def declared(self, kind: int) -> StatusSet | None:
        """Return the declared statuses of contacts or companies; None: every word is allowed."""
        return self.company_statuses if kind == COMPANY else self.contact_statuses

    def words(self, kind: int) -> StatusWords:
        """Return the names of the statuses of contacts or companies."""
        if kind == COMPANY:
            return words_after(self.company_renames)
        return words_after(self.contact_renames, () if self.contact_statuses is None else self.contact_statuses.opt_outs)


def keeping_names(decided: ClientSettings, current: ClientSettings) -> ClientSettings:
    """Return settings with the known names of statuses and fields; a former name in a declared set becomes the present one."""
    contacts, companies = decided.contact_statuses, decided.company_statuses
    return replace(
        decided,
        contact_renames=current.contact_renames,
        company_renames=current.company_renames,
        contact_field_names=current.contact_field_names,
        company_field_names=current.company_field_names,
        contact_statuses=contacts and contacts.renamed(words_after(current.contact_renames)),
        company_statuses=companies and companies.renamed(words_after(current.company_renames)),
    )


def keeping_limits(decided: ClientSettings, current: ClientSettings) -> ClientSettings:
    """Return settings from the client itself, with its known limits; raise `Forbidden` if they have other limits."""
    if decided.limits is not None and decided.limits != current.limits:
        raise Forbidden("this key belongs to a client, which cannot change its own limits; leave them out")
    if decided.max_stored_bytes not in (None, current.max_stored_bytes):
        raise Forbidden("this key belongs to a client, which cannot change its own max_stored_bytes; leave it out")
    return replace(decided, limits=current.limits, max_stored_bytes=current.max_stored_bytes)


LONGEST_HANDLE = 40
HANDLE = re.compile(rf"(?=.{{2,{LONGEST_HANDLE}}}$)[a-z0-9]+(-[a-z0-9]+)*")
"""The form of handles."""
NO_HANDLES = frozenset({"all", "default", "new", "none", "nobody", "me", "join", "sign-in"})
"""Words of addresses that name no client."""


def new_handle() -> str:
    """Return a random handle: 40 bits, so that two of some thousand clients hardly ever have the same."""
    return "".join(choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(8))


def handle_of(name: str) -> str | None:
    """Return the handle that a client's name suggests, `alder` for "Alder GmbH"; None for one without two letters or digits of ASCII.

    Never made from a `client_id`, which is a secret.
    """
    plain = ascii_of(name)
    for text in (LEGAL_FORM.sub(" ", plain), plain):
        handle = re.sub("[^a-z0-9]+", "-", text.replace("'", ""))[: LONGEST_HANDLE - 4].strip("-")
        if len(handle) > 1 and handle not in NO_HANDLES:
            return handle
    return None


def free_handle(name: str, taken: Collection[str]) -> str:
    """Return the handle for a new client of this name: the first of `alder`, `alder-2`, ... that is free, else a random one."""
    stem = handle_of(name)
    if stem is None:
        return new_handle()
    return next((handle for handle in (stem, *(f"{stem}-{number}" for number in range(2, 1000))) if handle not in taken), new_handle())


@dataclass(slots=True)
class Deletion:
    """Progress of the removal of a client's data; `total` is None until the rows are counted."""

    started_us: Micros
    removed: int = 0
    total: int | None = None


@dataclass(slots=True)
class Client:
    """One client: `number` in our keys, `client_id` in addresses and headers, `name` for people."""

    number: int
    client_id: str
    created_us: int
    settings: ClientSettings
    name: str = ""
    state: str = ACTIVE
    deletion: Deletion | None = None
    has_erased: bool = False
    """Whether this client had erasures when this was read."""
    made_by: str | None = None
    """BY_ADMINISTRATOR or BY_CALL; None for a client of an earlier version, which did not store it."""
    stored_bytes: int = 0
    """The client's stored bytes when they were counted last (`stored_bytes.py`)."""
    handle: str = ""
    """Short name in addresses of the console: unlike `client_id` it opens nothing. Blank for a client that is not stored."""
    until_us: Micros | None = field(default=None, compare=False)
    """If it was found by a former `client_id`: until when that id is valid."""


@dataclass(frozen=True, slots=True)
class FormerId:
    """A former `client_id` of a client, and until when it is valid."""

    client_id: str
    until_us: Micros


Position = tuple[int, tuple[object, ...]]
"""Progress of a removal: a table, and the key of the last removed row."""


@dataclass(slots=True)
class Removal:
    """Progress of a client's deletion."""

    done: bool
    """No row of the client is left."""
    removed: int = 0
    """Rows removed since the deletion began."""
    total: int | None = None
    position: Position | None = None
    """Where to continue; None: from the beginning, to check whether rows are left."""
    wait_us: Micros = 0
    """How long requests from before the deletion may still write, once all rows are removed."""
