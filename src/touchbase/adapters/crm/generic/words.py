"""Classification of event and object names by their words: kind of change and kind of record."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOUNS, UPDATED
from touchbase.adapters.kit.languages import in_english

ERASURES = ("erased", "erase", "erasure", "redacted", "redact")
"""Verbs of a deletion that is a legal request to erase the person."""
VERBS = {
    CREATED: ("created", "create", "new", "added", "add", "insert", "inserted", "creation"),
    UPDATED: (
        "updated", "update", "changed", "change", "edited", "edit", "modified", "modify", "upserted", "upsert", "restored", "restore",
        "undeleted", "unarchived", "save", "saved", "publish", "published", "unpublish", "unpublished",
    ),
    DELETED: ("deleted", "delete", "removed", "remove", "destroyed", "destroy", "archived", "archive", "deletion", *ERASURES),
}  # fmt: skip
# A name with one of these words is about something else, even if it also names a contact.
OTHERS = frozenset(
    {"deal", "deals", "opportunity", "task", "note", "activity", "email", "call", "meeting", "message", "invoice", "order", "list", "tag"}
    | {"booking", "bookings", "invitee", "payment", "payments", "checkout", "cart"}
)
US = frozenset(
    {"user", "users", "member", "members", "owner", "owners", "team", "teams", "agent", "agents", "rep", "reps", "employee", "employees"}
    | {"admin", "seat", "mailbox", "inbox", "workspace", "location", "locations", "app", "integration", "installation", "pipeline"}
    | {"product", "products", "ticket", "tickets", "quote", "quotes", "appointment", "appointments"}
)
"""A person in a record of these types is no contact, unless the name also says contact or company."""
SEVERAL = frozenset(
    {"opportunities", "tasks", "notes", "activities", "emails", "calls", "meetings", "messages", "invoices", "orders", "lists", "tags"}
)
"""Plurals of the same, as names of collections and tables. A change in a contact's own collection may be a contact's change."""
RESTORED = "restored"
FORM = "form"
"""In the name of an event about a form that a person has filled in."""
PEOPLE_ONLY = frozenset(
    {word for words in VERBS.values() for word in words} | set(NOUNS[CONTACT]) | {"user", "users", "end", "registered", "was", "is"}
)
"""Words of events about people: next to a person's own object, `newUser` is about a contact and no colleague."""
_OF_OURS = frozenset(
    {
        "address", "addresses", "phone", "phones", "property", "properties", "field", "fields", "consent", "consents", "source", "status",
        "stage", "label", "labels", "type", "role", "permission", "photo", "avatar",
    }
)  # fmt: skip
"""Parts of a contact or company with their own lifecycle (`contact.address.deleted`); a changed part changes the record."""
_BESIDE = frozenset(
    {
        "comment", "comments", "file", "files", "document", "documents", "attachment", "attachments", "subscription", "subscriptions",
        "reminder", "reminders", "card", "view", "views", "import", "export", "session", "membership", "memberships", "invitation",
        "invitations", "discount", "payment", "relationship", "relationships", "association", "associations",
    }
) | (SEVERAL - {"emails", "lists", "tags"})  # fmt: skip
"""Separate records next to a contact or company: `customer.subscription.updated`."""
_INSIDE = frozenset({"user", "users", "member", "members", "employee", "employees", "admin", "seat"})
"""People of a company who are not its contacts."""
_GROUPS = frozenset({"group", "groups", "segment", "segments", "campaign", "sequence", "cadence", "audience", "automation", "workflow"})
"""Groups that a contact joins or leaves without being created or deleted."""
_PARTS = _OF_OURS | _BESIDE | _GROUPS | OTHERS | SEVERAL | US
# As an object's type, "list", "card" or "type" only describes the format.
_ANOTHER = _PARTS - {"list", "lists", "card", "type"}
_PLAIN = frozenset(
    {
        "crm", "event", "webhook", "hook", "record", "object", "data", "profile", "on", "a", "the", "was", "is", "has", "been", "just",
        "v", "api", "soft", "hard", "bulk", "mass", "permanently", "permanent", "gdpr", "privacy", "by", "and", "or", "subscriber",
        "subscribers", "client", "after", "item", "items", "inbound", "entry", "entries", "records",
    }
)  # fmt: skip
"""Words that add nothing to a deletion event of a record."""
_JOINING = frozenset({"added", "add", "removed", "remove"})
_LINKS = frozenset({"to", "from", "into"})
_MAX_KNOWN_LENGTH = 100
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SHORTEST_RUN = 8
_IGNORED = (OTHERS | SEVERAL | US) - {
    "email",
    "emails",
    "call",
    "calls",
    "meeting",
    "meetings",
    "message",
    "messages",
    "booking",
    "bookings",
}
_IGNORED -= {"invitee", "mailbox", "inbox", "user", "users"}
"""Subjects of events that say nothing of a contact or company. Not mails and meetings: a campaign tool may have been given this address;
not users: some call their customers so."""
_VERB_OF = {word: verb for verb, words in VERBS.items() for word in words}
_NOUN_OF = {word: noun for noun, words in NOUNS.items() for word in words}
_IN_RUNS = frozenset({"on", "crm", *_VERB_OF, *_NOUN_OF, *OTHERS, *US})
"""Words that a name without separators may consist of."""


def words_of(name: str | None) -> tuple[str, ...]:
    """Split a name into lower-case words: `LeadUpdated`, `lead.updated` and `LEAD_UPDATED` all give two."""
    if name is None:
        return ()
    return _words(name) if len(name) > _MAX_KNOWN_LENGTH else _cached_words(name)


def _words(name: str) -> tuple[str, ...]:
    parts = tuple(part for word in _WORDS.findall(name) for part in _parts_of_run(word.lower()))
    return parts if _verb_at(parts) is not None else tuple(_WORDS.findall(in_english(name))) or parts


def _parts_of_run(word: str) -> list[str]:
    """Return the words of a run of known ones, a noun and a verb among them (`ONCRMCONTACTADD`); else the word itself."""
    if len(word) < _SHORTEST_RUN or word in _VERB_OF or word in _NOUN_OF:
        return [word]
    splits: list[list[str] | None] = [[]]
    for end in range(1, min(len(word), _MAX_KNOWN_LENGTH) + 1):
        before = ((start, splits[start]) for start in range(end) if word[start:end] in _IN_RUNS)
        splits.append(next(([*parts, word[start:end]] for start, parts in before if parts is not None), None))
    parts = splits[-1] if len(splits) == len(word) + 1 else None
    is_name = parts is not None and not _VERB_OF.keys().isdisjoint(parts) and len(parts) > 1
    return parts if parts is not None and is_name else [word]


# Cached: a tool repeats the same names.
_cached_words = lru_cache(maxsize=1_000)(_words)


class Naming(NamedTuple):
    """The combined meaning of an event's and an object's name."""

    words: tuple[str, ...]
    of_object: tuple[str, ...]
    what: str | None
    kind: str | None
    own_ids: dict[str, tuple[str, ...]]
    """For contact and company: the id keys with a specific name."""


def naming_of(event: str | None, word: str | None) -> Naming | None:
    """Return the meaning of an event name and an object name; None if they are not about a contact or a company."""
    return _naming(event, word) if len(event or "") + len(word or "") > _MAX_KNOWN_LENGTH else _cached_naming(event, word)


def _naming(event: str | None, word: str | None) -> Naming | None:
    words, of_object = words_of(event), words_of(word)
    named = (*of_object, *words)
    if not OTHERS.isdisjoint(words) or is_of_a_part(named) or (noun_in(named) is None and not _ANOTHER.isdisjoint(named)):
        return None
    own_ids = {kind: _own_id_keys(kind, named) for kind in NOUNS}
    return Naming(words, of_object, verb_in(words), noun_in(words) or noun_in(of_object), own_ids)


_cached_naming = lru_cache(maxsize=1_000)(_naming)


def is_about_another(words: tuple[str, ...]) -> bool:
    """Return whether an event's words say that something other than a contact or company was changed: a deal, an order, a colleague."""
    return noun_in(words) is None and _verb_at(words) is not None and not _IGNORED.isdisjoint(words)


def verb_in(words: tuple[str, ...]) -> str | None:
    """Return created, updated or deleted. Being added to or removed from something is an update."""
    place = _verb_at(words)
    if place is None:
        return None
    return UPDATED if words[place] in _JOINING and not _LINKS.isdisjoint(words[place:]) else _VERB_OF[words[place]]


def asks_erasure(what: str | None, words: Iterable[str]) -> bool:
    """Return whether a deletion is a legal request to erase the person: `contact.gdpr_deleted`, `customer.redact`."""
    return what == DELETED and not {"gdpr", "privacy", *ERASURES}.isdisjoint(words)


def is_of_a_part(words: tuple[str, ...]) -> bool:
    """Return whether the words describe a change of a part of a contact or company, and not of the record itself.

    An unknown noun next to a contact may be created or changed, but is no deletion of the contact.
    """
    what, verb = verb_in(words), _verb_at(words)
    if verb is None:
        return False
    noun = next((place for place, word in enumerate(words) if word in _NOUN_OF), None)
    if noun is None:
        return what == DELETED and not _PLAIN.issuperset((*words[:verb], *words[verb + 1 :]))
    between = words[noun + 1 : verb] if noun < verb else words[noun + 1 :] if what == DELETED else ()
    kind = _NOUN_OF[words[noun]]
    foreign = {word for word in between if _NOUN_OF.get(word) != kind} - _PLAIN
    if what == DELETED:
        # An archive may be updated without the contact being archived.
        is_else = any(_VERB_OF.get(word, DELETED) != DELETED for word in words)
        return is_else or bool(foreign) or not _GROUPS.isdisjoint(words[:noun])
    if what == CREATED:
        return any(word in _PARTS or word in _NOUN_OF for word in foreign)
    inside = {word for word in foreign if word in _INSIDE or word in _NOUN_OF} if kind == COMPANY else set()
    return bool(inside) or not _BESIDE.isdisjoint(foreign)


def _verb_at(words: tuple[str, ...]) -> int | None:
    return next((place for place, word in enumerate(words) if word in _VERB_OF), None)


def word_of(kind: str, words: Iterable[str]) -> str:
    """Return the CRM's name for an object of this kind; leads and contacts have separate id sequences."""
    noun = next((word for word in words if word in _NOUN_OF), "")
    return "lead" if noun.startswith("lead") else kind


def noun_in(words: Iterable[str]) -> str | None:
    """Return the kind of record: contact or company."""
    return next((_NOUN_OF[word] for word in words if word in _NOUN_OF), None)


def _own_id_keys(kind: str, words: Iterable[str]) -> tuple[str, ...]:
    """Return `contact_id`, and for an object named `lead` also `lead_id`."""
    named = dict.fromkeys((kind, *(word for word in words if _NOUN_OF.get(word) == kind)))
    return tuple(f"{word}{ending}" for word in named for ending in ("_id", "Id"))
