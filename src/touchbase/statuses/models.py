"""Statuses as a client sees them: declared words, words in use, and words that Touchbase sets, with the names of each over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from touchbase.clients.models import Client, ClientSettings
from touchbase.common.timestamps import SECOND, Micros
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.status_words import SERVICE_WORDS, StatusRename, StatusWords
from touchbase.jobs.models import Job
from touchbase.sql.rows import digest

RECORD_KINDS = {"contacts": CONTACT, "companies": COMPANY}
PLURALS = {kind: plural for plural, kind in RECORD_KINDS.items()}
RENAME_JOBS = tuple(f"{plural}.{what}" for plural in RECORD_KINDS for what in ("rename_status", "merge_statuses"))
"""Kinds of the jobs that give records the new name of a status."""
RECHECK_JOBS = tuple(f"{plural}.recheck_statuses" for plural in RECORD_KINDS)
"""Kinds of the jobs that apply statuses that events asked for and the declared set did not have."""
SETTLED: Micros = 10 * SECOND
"""How long after a rename a request from before may still write the former name: the job looks at all records once more then."""
MOST_RENAMES = 500
"""Renames and merges of a client's contacts or companies, over all time; each is a part of every history."""
NOT_CONTACTED_YET, FURTHER_ALONG, DO_NOT_CONTACT = "not_contacted_yet", "further_along", "do_not_contact"
ROLES = (NOT_CONTACTED_YET, FURTHER_ALONG, DO_NOT_CONTACT)
"""Roles of a status in the rules of mails, replies and bounces."""
EMPTY: Mapping[str, int] = MappingProxyType({})


@dataclass(slots=True)
class StatusInfo:
    """One status."""

    name: str
    declared: bool
    """Whether it is in the client's declared set; True without a set, because every word is allowed."""
    records: int = 0
    """The records that have it, also under a former name until a job has come to them."""
    renaming: int = 0
    """How many of them still have a former name."""
    stands_for: list[str] = field(default_factory=list)
    """The words of Touchbase that set it."""
    role: str | None = None
    opts_out: bool = False
    """Whether contacts with it must not be contacted."""
    refused: int = 0
    """Deliveries with events that asked for it while the declared set did not have it."""
    next: list[str] | None = None
    """The statuses that may follow; None: any."""
    former: list[StatusRename] = field(default_factory=list)
    """The renames and merges that led to this name, oldest first."""

    @property
    def version(self) -> str:
        """The version that a change may name: another one after each change of the status, not of records."""
        return digest(self.declared, self.stands_for, self.opts_out, self.next, [rename.before for rename in self.former])


@dataclass(frozen=True, slots=True)
class RenamePreview:
    """Preview of a rename or a merge."""

    before: str
    after: str
    merged: bool
    records: int
    """Records that have the status now."""
    stands_for: list[str]
    declared: bool
    notes: list[str]


def role_of(words: StatusWords, name: str) -> str | None:
    """Return the status's role."""
    if words.protects(name):
        return DO_NOT_CONTACT
    if words.is_untouched(name):
        return NOT_CONTACTED_YET
    return FURTHER_ALONG if words.is_further_along(name) else None


def name_of(settings: ClientSettings, kind: int, word: str) -> str | None:
    """Return the present name of a word that an event says; None if the declared set does not have it."""
    words, declared = settings.words(kind), settings.declared(kind)
    return words.of(word if declared is None else words.matching(word, declared.statuses))


def stands_for(settings: ClientSettings, kind: int, name: str) -> list[str]:
    """Return the words of Touchbase that set this status."""
    return [word for word in SERVICE_WORDS if name_of(settings, kind, word) == name]


def listed(settings: ClientSettings, kind: int, counts: Mapping[str, int], refused: Mapping[str, int] = EMPTY) -> list[StatusInfo]:
    """Return all statuses: the declared ones in their order, then the others by name. `counts` are records by their words."""
    words, declared = settings.words(kind), settings.declared(kind)
    own = [] if declared is None else declared.statuses
    used = {words.of(name) or name for name in counts}
    service = {words.of(word) or word for word in SERVICE_WORDS if name_of(settings, kind, word) is None or declared is None}
    names = [*own, *sorted((used | service | {*refused}) - {*own})]
    statuses = {name: StatusInfo(name, declared is None or name in own) for name in names}
    for word, count in counts.items():
        status = statuses[words.of(word) or word]
        status.records += count
        status.renaming += count if words.is_former(word) else 0
    for name, count in refused.items():
        statuses[name].refused = count
    for name, status in statuses.items():
        status.stands_for, status.role = stands_for(settings, kind, name), role_of(words, name)
        status.opts_out = kind == CONTACT and words.opts_out(name)
        status.next = None if declared is None else declared.transitions.get(name)
        status.former = [rename for rename in words.renames if words.is_former(rename.before) and words.of(rename.before) == name]
    return [*statuses.values()]


def same_spelling(name: str, statuses: Sequence[str]) -> str | None:
    """Return the status that differs from this name at most in case and underscores; events cannot tell such words apart."""
    folded = name.casefold().replace("_", " ")
    return next((status for status in statuses if status.casefold().replace("_", " ") == folded), None)


@dataclass(frozen=True, slots=True)
class Changed:
    """A client with its new settings, and the job that brings its records up to date; None if none is needed."""

    client: Client
    job: Job | None


@dataclass(frozen=True, slots=True)
class OutdatedPage:
    """Records that still have a former name of a status, and how far the search came."""

    ids: list[int]
    scanned: int
    last: int | None
    """The last id of the step; None: no record is left."""
    renamed_us: Micros
    """The time of the client's last rename."""


@dataclass(frozen=True, slots=True)
class Rechecked:
    """Result of one step of such a job."""

    deliveries: int
    """Deliveries that were looked at."""
    events: int
    """Events that have a status now."""
    records: int
    """Records whose status changed."""
    last: int | None
    """The last id of the deliveries; None: none is left."""
