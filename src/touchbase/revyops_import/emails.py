"""The e-mails of an import: each finds its contact, becomes a message unless it is here, and is compared at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchbase.clients.models import Client
from touchbase.common.normalize import find_email_key, linkedin_key
from touchbase.common.timestamps import Clock
from touchbase.history.events import CONTACT
from touchbase.history.identity_links import Ref
from touchbase.imports.table import value_text
from touchbase.messages.commands import CREATED, DELETED, NO_CONTACT, OTHER_TIME, ImportedMessage, ImportMessages, NewCopy
from touchbase.messages.models import Message
from touchbase.messages.sql.plans import get_messages
from touchbase.records.sql.lookup import match_records
from touchbase.revyops_import.list_reader import ListReader
from touchbase.revyops_import.models import EMAILS, Difference
from touchbase.revyops_import.their_emails import Unreadable, message_of
from touchbase.revyops_import.their_records import TheirRecord
from touchbase.sql.store import Store
from touchbase.suppression.suppression_keys import EMAIL, LINKEDIN

_COLUMNS = {EMAIL: "email_key", LINKEDIN: "linkedin_key"}
# Not the time: an e-mail with another one is refused.
_COMPARED = ("direction", "tool", "mailbox", "subject", "text", "html", "campaign_id", "campaign_name", "interested")
_BODY = ("subject", "text", "html")
_MOST_CONTACTS = 10_000
"""Contacts that were asked for by their id and are remembered."""


@dataclass(slots=True)
class EmailOutcome:
    """What became of an e-mail of theirs: a count of `Counts`, and the reason of one that was not stored."""

    record: TheirRecord
    word: str
    reason: str = ""
    message: Message | None = None
    """As it was read; its id is that of the stored message."""


@dataclass(slots=True)
class EmailImport:
    """Stores e-mails as messages of the contacts here."""

    store: Store
    clock: Clock
    reader: ListReader
    types: Mapping[str, str]
    """Directions by `email_type`, of the operator."""
    would_exist: Callable[[str, str], bool]
    """Whether a dry run would have imported the contact of a client with this key."""
    dry_run: bool = False
    _people: dict[str, list[Ref]] = field(default_factory=dict)
    """The identities of contacts that were asked for, by their id."""

    async def store_all(self, client: Client, records: Sequence[TheirRecord]) -> list[EmailOutcome]:
        """Store the e-mails of one page; return what became of each, in their order."""
        outcomes: list[EmailOutcome] = []
        copies: dict[int, NewCopy] = {}
        for index, record in enumerate(records):
            try:
                message, is_dated = message_of(record, client.settings, self.types, self.clock())
            except Unreadable as error:
                outcomes.append(EmailOutcome(record, "refused", str(error)))
                continue
            key = find_email_key(record.values["contact_email"])
            copies[index] = NewCopy(message, [] if key is None else [("", EMAIL, key)], is_dated)
            outcomes.append(EmailOutcome(record, "", message=message))
        copies = await self._with_contacts(client, records, copies)
        stored = await self.store.write(ImportMessages(client.number, list(copies.values()), self.dry_run)) if copies else []
        for (index, copy), result in zip(copies.items(), stored, strict=True):
            self._decide(outcomes[index], copy, result, client)
        return outcomes

    async def _with_contacts(self, client: Client, records: Sequence[TheirRecord], copies: dict[int, NewCopy]) -> dict[int, NewCopy]:
        """Set the contacts of messages: by the address, else by the address that the contact has there now."""
        await self._find(client, copies.values())
        lost: dict[int, NewCopy] = {}
        for index, copy in copies.items():
            their_id = records[index].values["contact_id"].strip()
            if not copy.message.contact_id and their_id and not self._would_exist(client, copy):
                for ref in await self._people_of(their_id):
                    if ref not in copy.people:
                        copy.people.append(ref)
                lost[index] = copy
        await self._find(client, lost.values())
        return copies

    async def _find(self, client: Client, copies: Collection[NewCopy]) -> None:
        keys = {(_COLUMNS[ref[1]], ref[2]) for copy in copies for ref in copy.people}
        found = await self.store.read(match_records(client.number, CONTACT, sorted(keys))) if keys else {}
        for copy in copies:
            matches = (found.get((_COLUMNS[ref[1]], ref[2])) for ref in copy.people)
            copy.message.contact_id = next((match.id for match in matches if match is not None), 0)

    async def _people_of(self, their_id: str) -> list[Ref]:
        if their_id not in self._people:
            if len(self._people) >= _MOST_CONTACTS:
                self._people.clear()
            self._people[their_id] = list(_identities(await self.reader.contact(their_id)))
        return self._people[their_id]

    def _would_exist(self, client: Client, copy: NewCopy) -> bool:
        names = {EMAIL: "email", LINKEDIN: "linkedin_url"}
        return self.dry_run and any(self.would_exist(client.client_id, f"{names[ref[1]]}:{ref[2]}") for ref in copy.people)

    def _decide(self, outcome: EmailOutcome, copy: NewCopy, result: ImportedMessage, client: Client) -> None:
        outcome.word = result.word
        assert outcome.message is not None
        outcome.message.id = result.id
        if result.word == NO_CONTACT and self._would_exist(client, copy):
            outcome.word = CREATED
        elif result.word == NO_CONTACT:
            outcome.word, outcome.reason = "refused", "its contact is not here: import the contact, then the e-mails again"
        elif result.word == OTHER_TIME:
            outcome.word = "refused"
            outcome.reason = f"message {result.id} here came from an e-mail with the same id and another time"

    async def compare(self, client: Client, outcomes: Sequence[EmailOutcome]) -> list[list[Difference]]:
        """Return the differences of each e-mail that should be here: one without a field if it is not."""
        wanted = [each for each in outcomes if each.message is not None and each.message.id and each.word != DELETED and not each.reason]
        found = await self.store.read(get_messages(client.number, [each.message.id for each in wanted if each.message is not None]))
        return [_differences(each, found, client) for each in wanted]


def _identities(contact: Mapping[str, Any] | None) -> Iterator[Ref]:
    """Yield the identities of a contact of theirs."""
    if contact is None:
        return
    email = find_email_key(value_text(contact.get("email")).strip())
    if email is not None:
        yield ("", EMAIL, email)
    linkedin = linkedin_key(value_text(contact.get("linkedin_url")))
    if linkedin is not None:
        yield ("", LINKEDIN, linkedin)


def _differences(outcome: EmailOutcome, found: Mapping[int, Message], client: Client) -> list[Difference]:
    record, message = outcome.record, outcome.message
    assert message is not None
    stored = found.get(message.id)
    if stored is None:
        return [Difference(record.client, EMAILS, record.id, None, record.key, "", "", "")]
    settings = client.settings
    is_whole = stored.has_body or (settings.store_message_bodies and settings.keep_bodies_days is None)
    pairs = [(name, getattr(message, name), getattr(stored, name)) for name in _COMPARED if is_whole or name not in _BODY]
    pairs += [(f"cf.{name}", value, stored.custom.get(name)) for name, value in message.custom.items()]
    return [
        Difference(record.client, EMAILS, record.id, stored.id, record.key, name, value_text(theirs), value_text(here))
        for name, theirs, here in pairs
        if theirs is not None and theirs != here
    ]
