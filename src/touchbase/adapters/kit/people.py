"""The person of an unknown body: below a role's name (`invitee`, `target`, `attendees[]`), never the organizer, owner or account.

Whose id is the account's is the client's own person: a message that such a person sent is no reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from touchbase.adapters.kit.body_shapes import with_plain_fields
from touchbase.adapters.kit.extract import first, flag, personal_address, text
from touchbase.adapters.kit.status_labels import words

Item = dict[str, object]

ROLES = (
    "invitee", "attendee", "lead", "prospect", "contact", "target", "recipient", "receiver", "person", "subscriber", "customer", "user",
    "guest", "participant", "member", "profile", "booker", "client",
)  # fmt: skip
"""Words for the person, as a member's name, before a member's name (`attendee_name`), and in the plural."""
LISTS = (*(f"{role}s" for role in ROLES), "people", "endUsers")
WRITERS = ("sender", "author", "from", "from_attendee", "replied_by")
"""Objects that are the person of a message that came in."""
_OF_US = re.compile(
    r"\b(?:organi[sz]ers?|hosts?|owners?|accounts?|mailbox(?:es)?|inbox|assignees?|assigned|creators?|created|updated|modified|agents?"
    r"|reps?|teams?|memberships?|admins?|workspaces?|organi[sz]ations?|compan(?:y|ies)|referrers?|managers?|bcc|cc|reply"
    r"|providers?|staff|consultants?|closers?|advisors?|sellers?|sdrs?|bdrs?|\w+ by\b"
    r"|senders?|from|integrations?|installations?|webhooks?|hook|settings|old|previous|before|original|changes)\b|^users?$"
)
"""Words of members that hold the client's own people, others of the person's company, or an earlier state."""
_IS_OURS = ("is_organizer", "isOrganizer", "organizer", "is_host", "isHost", "is_self", "isSelf", "self", "is_me", "is_own", "isOwn")
_ROLE_OF = ("role", "participant_role", "participantRole", "participant_type", "participantType", "attendee_type", "attendeeType")
"""Members of a person that say which part it has in an event."""
_OWN_IDS = (
    "account_id", "accountId", "account_urn", "accountUrn", "account", "account_info", "accountInfo", "li_account", "linkedin_account_id",
    "own_id", "self_id",
)  # fmt: skip
_ID = re.compile(r"(?:^|_)(?:id|urn|identifier)$|Id$|Urn$")
_SLUG = re.compile(r"[\w%-]{2,200}")
_PUBLIC_IDS = ("public_identifier", "publicIdentifier", "public_id", "publicId", "vanity_name", "vanityName")
_PROFILE = "profile_url"
_ADDRESSES = ("email", "emailAddress", "email_address", "address", "Email")
_BETWEEN = re.compile(r"[,;]")
_DEPTH = 3
_MOST = 200


def is_of_us(name: str) -> bool:
    """Return whether a member's name says that its person is the client's own, or not the event's."""
    plain = words(name)
    return _OF_US.search(plain) is not None and "end user" not in plain


def says_person(name: str) -> bool:
    """Return whether a member's name says that it holds the tool's people: `endUserData`, `customer_info`; not `user`, who may be ours."""
    parts = words(name).split()
    return not is_of_us(name) and any(part.removesuffix("s") in ROLES or part == "people" for part in parts)


def own_ids(item: Item) -> frozenset[str]:
    """Return the ids of the client's own account that a body names."""
    ids: set[str] = set()
    for name in _OWN_IDS:
        value = item.get(name)
        if isinstance(value, dict):
            ids |= {identifier for key, member in value.items() if _ID.search(key) and (identifier := text(member))}
        elif (identifier := text(value)) is not None:
            ids.add(identifier)
    return frozenset(ids)


def is_own(person: Item, ids: frozenset[str]) -> bool:
    """Return whether a person is the client's own: it says so, or has an id of the account."""
    if any(flag(person.get(name)) for name in _IS_OURS) or any(is_of_us(text(person.get(name)) or "") for name in _ROLE_OF):
        return True
    return bool(ids) and any(_ID.search(name) and text(value) in ids for name, value in person.items())


def person_of(value: Item) -> Item:
    """Return a person's object with its members also without the role before their names, its fields, and a profile by its public name."""
    fields = value.get("fields")
    person = {**(fields if isinstance(fields, dict) else {}), **with_stripped_role(value), **with_plain_fields(value)}
    if _PROFILE not in person:
        public = next((slug for name in _PUBLIC_IDS if (slug := text(person.get(name))) and _SLUG.fullmatch(slug)), None)
        if public is not None:
            person[_PROFILE] = f"https://www.linkedin.com/in/{public}"
    return person


def with_stripped_role(item: Item) -> Item:
    """Return the members that have a role before their names, without it: `attendee_profile_url` is a `profile_url`."""
    stripped: Item = {}
    for name, value in item.items():
        role, separator, member = name.partition("_")
        if separator and role in ROLES and value not in (None, ""):
            stripped.setdefault(member, value)
    return stripped


def people_in_lists(item: Item, ids: frozenset[str]) -> list[Item]:
    """Return the people of the first list with a role's name, without the client's own."""
    for name in LISTS:
        if isinstance(listed := item.get(name), list):
            people = [person_of(person) for person in listed[:_MOST] if isinstance(person, dict) and not is_own(person, ids)]
            if people:
                return people
    return []


def addresses_in(value: object) -> list[str]:
    """Return the different e-mail addresses of a list or a text with several, of texts or of objects with an address."""
    if isinstance(value, str):
        parts: list[object] = [*_BETWEEN.split(value)]
    else:
        parts = value[:_MOST] if isinstance(value, list) else [value]
    objects = (first(part, *_ADDRESSES) if isinstance(part, dict) else part for part in parts)
    return list(dict.fromkeys(email for part in objects if (email := personal_address(part)) is not None))


def people_below(item: Item, names_a_person: Callable[[Item], bool], depth: int = _DEPTH) -> Iterator[tuple[Item, Item]]:
    """Yield the objects below any member that name a person, each with the plain members around it; never below one of the client's own."""
    for name, value in item.items():
        if is_of_us(name):
            continue
        around = {key: member for key, member in item.items() if key != name and not isinstance(member, dict | list)}
        for inner in [value] if isinstance(value, dict) else value[:_MOST] if isinstance(value, list) else []:
            if not isinstance(inner, dict):
                continue
            if names_a_person(inner):
                yield inner, around
            elif depth:
                for person, nearer in people_below(inner, names_a_person, depth - 1):
                    yield person, {**around, **nearer}
