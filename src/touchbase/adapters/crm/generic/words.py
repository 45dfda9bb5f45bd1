"""The words by which the names of events and objects tell what happened, and to whom."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED

VERBS = {
    CREATED: ("created", "create", "new", "added", "add", "insert", "inserted", "creation"),
    UPDATED: ("updated", "update", "changed", "change", "edited", "edit", "modified", "upserted", "restored", "save", "saved"),
    DELETED: ("deleted", "delete", "removed", "destroyed", "archived", "deletion"),
}
NOUNS = {
    CONTACT: ("contact", "contacts", "person", "people", "persons", "lead", "leads", "prospect", "prospects", "customer", "customers"),
    COMPANY: ("company", "companies", "account", "accounts", "organization", "organisation", "organizations", "organisations"),
}
# A name that holds one of these is about something else, even if a contact is mentioned in it.
OTHERS = frozenset(
    {"deal", "opportunity", "task", "note", "activity", "email", "call", "meeting", "message", "invoice", "order", "list", "tag"}
    | {"deals", "opportunities", "tasks", "notes", "activities", "emails", "calls", "meetings", "messages", "invoices", "orders", "lists"}
    | {"tags", "booking", "bookings", "invitee", "subscription", "subscriptions", "payment", "payments", "checkout", "cart", "comment"}
)
US = frozenset(
    {"user", "users", "member", "members", "owner", "owners", "team", "teams", "agent", "agents", "rep", "reps", "employee", "employees"}
    | {"admin", "seat", "mailbox", "inbox", "workspace", "location", "locations", "app", "integration", "installation", "pipeline"}
    | {"product", "products", "ticket", "tickets", "quote", "quotes", "appointment", "appointments"}
)
"""Whoever has an address in a record of these is no contact, unless the name says contact or company as well."""
RESTORED = "restored"
_FILLING = frozenset(
    {
        "a",
        "the",
        "was",
        "is",
        "has",
        "been",
        "on",
        "after",
        "record",
        "object",
        "gdpr",
        "privacy",
        "soft",
        "hard",
        "permanently",
        "bulk",
        "item",
        "items",
        "inbound",
    }
)
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


def verb_in(words: Iterable[str]) -> str | None:
    """What happened: created, updated or deleted.

    Made or gone is whom the name tells it of, side by side with it: whose field went, or who went from a list, has changed.
    """
    said = [word for word in words if word not in _FILLING]
    place = next((place for place, word in enumerate(said) if word in _VERB_OF), None)
    if place is None:
        return None
    verb, noun = _VERB_OF[said[place]], noun_in(said)
    if verb == UPDATED or len(said) == 1:
        return verb
    if noun is None:
        return None if verb == DELETED else UPDATED
    beside = [_NOUN_OF.get(word) for word in (*said[max(place - 1, 0) : place], *said[place + 1 : place + 2])]
    return verb if noun in beside and said[place + 1 : place + 2] not in (["from"], ["to"]) else UPDATED


def noun_in(words: Iterable[str]) -> str | None:
    """Whom it happened to: a contact or a company."""
    return next((_NOUN_OF[word] for word in words if word in _NOUN_OF), None)
