"""The words by which the names of events and objects tell what happened, and to whom."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED

VERBS = {
    CREATED: ("created", "create", "new", "added", "add", "insert", "inserted", "creation"),
    UPDATED: (
        "updated", "update", "changed", "change", "edited", "edit", "modified", "modify", "upserted", "upsert", "restored", "restore",
        "undeleted", "unarchived", "save", "saved", "publish", "published", "unpublish", "unpublished",
    ),
    DELETED: ("deleted", "delete", "removed", "remove", "destroyed", "destroy", "archived", "archive", "deletion"),
}  # fmt: skip
NOUNS = {
    CONTACT: ("contact", "contacts", "person", "people", "persons", "lead", "leads", "prospect", "prospects", "customer", "customers"),
    COMPANY: ("company", "companies", "account", "accounts", "organization", "organisation", "organizations", "organisations"),
}
# A name that holds one of these is about something else, even if a contact is mentioned in it.
OTHERS = frozenset(
    {"deal", "deals", "opportunity", "task", "note", "activity", "email", "call", "meeting", "message", "invoice", "order", "list", "tag"}
    | {"booking", "bookings", "invitee", "payment", "payments", "checkout", "cart"}
)
US = frozenset(
    {"user", "users", "member", "members", "owner", "owners", "team", "teams", "agent", "agents", "rep", "reps", "employee", "employees"}
    | {"admin", "seat", "mailbox", "inbox", "workspace", "location", "locations", "app", "integration", "installation", "pipeline"}
    | {"product", "products", "ticket", "tickets", "quote", "quotes", "appointment", "appointments"}
)
"""Whoever has an address in a record of these is no contact, unless the name says contact or company as well."""
SEVERAL = frozenset(
    {"opportunities", "tasks", "notes", "activities", "emails", "calls", "meetings", "messages", "invoices", "orders", "lists", "tags"}
)
"""The same things, many of them: what a collection or table is called. A contact may have changed in its own."""
RESTORED = "restored"
_OF_OURS = frozenset(
    {
        "address", "addresses", "phone", "phones", "property", "properties", "field", "fields", "consent", "consents", "source", "status",
        "stage", "label", "labels", "type", "role", "permission", "photo", "avatar",
    }
)  # fmt: skip
"""What a contact or company has that comes and goes without them (`contact.address.deleted`), and is theirs when it changes."""
_BESIDE = frozenset(
    {
        "comment", "comments", "file", "files", "document", "documents", "attachment", "attachments", "subscription", "subscriptions",
        "reminder", "reminders", "card", "view", "views", "import", "export", "session", "membership", "memberships", "invitation",
        "invitations", "discount", "payment", "relationship", "relationships", "association", "associations",
    }
) | (SEVERAL - {"emails", "lists", "tags"})  # fmt: skip
"""What is a record of its own beside them: `customer.subscription.updated`."""
_INSIDE = frozenset({"user", "users", "member", "members", "employee", "employees", "admin", "seat"})
"""Whom a company has, besides its contacts."""
_GROUPS = frozenset({"group", "groups", "segment", "segments", "campaign", "sequence", "cadence", "audience", "automation", "workflow"})
"""What a contact comes into, or leaves, and stays a contact."""
_PARTS = _OF_OURS | _BESIDE | _GROUPS | OTHERS | SEVERAL | US
# As an object's word "list", "card" or "type" tells only the form.
_ANOTHER = _PARTS - {"list", "lists", "card", "type"}
_PLAIN = frozenset(
    {
        "crm", "event", "webhook", "hook", "record", "object", "data", "profile", "on", "a", "the", "was", "is", "has", "been", "just",
        "v", "api", "soft", "hard", "bulk", "mass", "permanently", "permanent", "gdpr", "privacy", "by", "and", "or", "subscriber",
        "subscribers", "client", "after", "item", "items", "inbound", "entry", "entries",
    }
)  # fmt: skip
"""What says nothing else beside who has been deleted, and that they were."""
_JOINING = frozenset({"added", "add", "removed", "remove"})
_LINKS = frozenset({"to", "from", "into"})
_LONGEST_KNOWN = 100
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_VERB_OF = {word: verb for verb, words in VERBS.items() for word in words}
_NOUN_OF = {word: noun for noun, words in NOUNS.items() for word in words}


def words_of(name: str | None) -> tuple[str, ...]:
    """The words of a name, in lower case: `LeadUpdated`, `lead.updated` and `LEAD_UPDATED` all have two."""
    if name is None:
        return ()
    return _words(name) if len(name) > _LONGEST_KNOWN else _known_words(name)


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.findall(name))


# A tool sends the same names again and again.
_known_words = lru_cache(maxsize=1_000)(_words)


class Naming(NamedTuple):
    """What the names of an event and of its object tell together."""

    words: tuple[str, ...]
    of_object: tuple[str, ...]
    what: str | None
    kind: str | None
    own_ids: dict[str, tuple[str, ...]]
    """For a contact and for a company: what its id is called where it is not just the id."""


def naming_of(event: str | None, word: str | None) -> Naming | None:
    """What an event's name and its object's word tell; None where they are about something else than a contact or a company."""
    return _naming(event, word) if len(event or "") + len(word or "") > _LONGEST_KNOWN else _known_naming(event, word)


def _naming(event: str | None, word: str | None) -> Naming | None:
    words, of_object = words_of(event), words_of(word)
    named = (*of_object, *words)
    if not OTHERS.isdisjoint(words) or is_of_a_part(named) or (noun_in(named) is None and not _ANOTHER.isdisjoint(named)):
        return None
    own_ids = {kind: _own_id_keys(kind, named) for kind in NOUNS}
    return Naming(words, of_object, verb_in(words), noun_in(words) or noun_in(of_object), own_ids)


_known_naming = lru_cache(maxsize=1_000)(_naming)


def verb_in(words: tuple[str, ...]) -> str | None:
    """What happened: created, updated or deleted. Who is added to something, or removed from it, is only updated."""
    place = _verb_at(words)
    if place is None:
        return None
    return UPDATED if words[place] in _JOINING and not _LINKS.isdisjoint(words[place:]) else _VERB_OF[words[place]]


def is_of_a_part(words: tuple[str, ...]) -> bool:
    """Whether the words tell that something of a contact or company was made, changed or deleted, and not they themselves.

    What nobody has thought of may be made or changed beside a contact, but is no deletion of one.
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
        # An archive may be updated, and not the contact archived.
        is_else = any(_VERB_OF.get(word, DELETED) != DELETED for word in words)
        return is_else or bool(foreign) or not _GROUPS.isdisjoint(words[:noun])
    if what == CREATED:
        return any(word in _PARTS or word in _NOUN_OF for word in foreign)
    inside = {word for word in foreign if word in _INSIDE or word in _NOUN_OF} if kind == COMPANY else set()
    return bool(inside) or not _BESIDE.isdisjoint(foreign)


def _verb_at(words: tuple[str, ...]) -> int | None:
    return next((place for place, word in enumerate(words) if word in _VERB_OF), None)


def word_of(kind: str, words: Iterable[str]) -> str:
    """The word for an object of this kind: a CRM that has leads beside its contacts numbers each from one."""
    noun = next((word for word in words if word in _NOUN_OF), "")
    return "lead" if noun.startswith("lead") else kind


def noun_in(words: Iterable[str]) -> str | None:
    """Whom it happened to: a contact or a company."""
    return next((_NOUN_OF[word] for word in words if word in _NOUN_OF), None)


def _own_id_keys(kind: str, words: Iterable[str]) -> tuple[str, ...]:
    """`contact_id`, and of a `lead` so named `lead_id`."""
    named = dict.fromkeys((kind, *(word for word in words if _NOUN_OF.get(word) == kind)))
    return tuple(f"{word}{ending}" for word in named for ending in ("_id", "Id"))
