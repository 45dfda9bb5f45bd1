"""The bin, merges, erasure, webhooks and do-not-contact list of the model in `model.py`."""

from __future__ import annotations

from collections import defaultdict

from tests.records.model import CAUSES, Answer, Done, Merge, Model, Part, Record, Refused, Suppression, keys_of
from tests.records.model_fold import FIELDS, KEYS, Entry, Values, first_keys, fold, normal


class WholeModel(Model):
    """All that the API does to one client's records."""

    def delete(self, kind: str, number: int) -> Answer:
        """Move a record into the bin."""
        record = self.records[kind].get(number)
        if record is None or not record.live:
            return [Refused(404, "not_found")]
        record.deleted_at = self.now
        # Its opt-out holds for all of its addresses, because the record that joins them is gone.
        listed = {value: self.suppressions[value].live for _, value in record.had if kind == "contacts" and value in self.suppressions}
        for name, value in record.had if listed else ():
            for other_key, live in listed.items():
                copies = [(number, at, reason) for at, reason in live if other_key != value]
                if copies:
                    self.suppressions.setdefault(value, Suppression(name)).copies += copies
        return Done(200, record)

    def restore(self, kind: str, number: int) -> Answer:
        """Take a record out of the bin."""
        record = self.records[kind].get(number)
        if record is None or record.deleted_at is None:
            return [Refused(404, "not_found")]
        if others := self.owners(kind, fold(record.entries)):
            return [Refused(409, "duplicate", item.id) for item in others.values()]
        record.deleted_at, record.updated, record.last = None, None, None
        taken = {key for other_item in self.live(kind) if other_item is not record for key in other_item.keys}
        record.further = {key: value for key, value in record.further.items() if key not in taken}
        for entry in self.suppressions.values() if kind == "contacts" else ():
            entry.copies = [copy for copy in entry.copies if copy[0] != number]
        return Done(200, record)

    def erase(self, number: int) -> Answer:
        """Erase a contact's person."""
        record = self.records["contacts"].get(number)
        if record is None or record.merged_into is not None or record.erased:
            return [Refused(404, "not_found")]
        self.hands = defaultdict(list, {address: ids for address, ids in self.hands.items() if ("email", address) not in record.had})
        self.erased.append(record.had)
        self.merges = {key: merge for key, merge in self.merges.items() if key[0] != "contacts" or merge.survivor != number}
        record.erased, record.deleted_at = True, None
        return Done(200, record)

    def named(self, kind: str, body: Values) -> list[int | None]:
        """The contacts that a stored response is about, today."""
        return [self._root_of(body.get("id") or body.get("existing_id") or 0)] if kind == "contacts" else []

    def _root_of(self, number: int) -> int | None:
        record = self.root("contacts", number)
        return None if record is None else record.id

    def can_erase(self, number: int) -> bool:
        """Whether no other contact has had one of the addresses; the documentation leaves open what becomes of those."""
        record = self.records["contacts"].get(number)
        others = [
            contact
            for contact in self.records["contacts"].values()
            if contact is not record and not contact.erased and contact.merged_into is None
        ]
        return record is None or not any(item.had & record.had for item in others)

    # Merges.

    def same_times(self, kind: str, numbers: list[int]) -> bool:
        """Whether the records have two entries of one time, such as those of a batch: their order after a merge is open."""
        results = [entry.at for number in set(numbers) if (record := self.records[kind].get(number)) for entry in record.entries]
        return len(set(results)) < len(results)

    def merge(self, kind: str, number: int, others: list[int], policy: str) -> Answer:
        """Merge records into one; `merged` notes it under its number."""
        records = [self.records[kind].get(item) for item in (number, *others)]
        if number in others or len(set(others)) < len(others):
            return [Refused(422, "invalid")]
        if any(record is None or not record.live for record in records):
            return [Refused(404, "not_found")]
        return Done(200, self._unite([record for record in records if record is not None], policy))

    def join(self, survivor: Record, others: list[Record]) -> Record:
        """Merge contacts that a write names."""
        self.open |= self.same_times("contacts", [survivor.id, *(item.id for item in others)])
        self._unite([survivor, *others], "newest")
        self.joins.append(self._last_merge)
        return survivor

    def _unite(self, records: list[Record], policy: str) -> Record:
        survivor, kind = records[0], records[0].kind
        for element in records:
            element.has_merged = True
        values = [self.values(item) for item in records]
        chosen = chosen_by(policy, kind, values, [item.entries for item in records])
        email = next((value["email"] for value in values if value.get("email")), None)
        takes_first = email is not None and not chosen.get("email")  # who has any address has a first one
        before = {item.id: Part(list(item.entries), dict(item.further), set(item.had)) for item in records}
        self._last_merge = Merge(survivor.id, before, self.entry("write", {}))
        keys = {key: value for item in records for key, value in item.keys.items()}
        survivor.entries = [entry for item in records for entry in item.entries]
        for element in records[1:]:
            element.entries, element.further, element.merged_into = [], {}, survivor.id
            survivor.had |= element.had
        union = self.values(survivor)
        if policy != "newest":
            names = {name for name in (*chosen, *union) if name in FIELDS[kind] or name.startswith("cf.")}
            # Which key is the first one is decided now, also if it stays the same.
            decided = {name for name in names if chosen.get(name) != union.get(name) or name in KEYS[kind]}
            self._last_merge.entry.sets.update({name: chosen.get(name) for name in decided})
        if takes_first:
            self._last_merge.entry.sets["email"] = email
        survivor.entries.append(self._last_merge.entry)
        first = first_keys(kind, survivor.entries)
        survivor.further = {key: value for key, value in keys.items() if key not in first}
        survivor.updated = survivor.last = None
        return survivor

    def merged(self, kind: str, number: int) -> None:
        """Note the number of the last merge."""
        assert (kind, number) not in self.merges, "a merge with the number of another"
        self.merges[kind, number] = self._last_merge

    def joined(self, numbers: list[int]) -> None:
        """Note the numbers of the merges that writes made."""
        for number, merge in zip(numbers, self.joins, strict=True):
            assert ("contacts", number) not in self.merges, "a merge with the number of another"
            self.merges["contacts", number] = merge
        self.joins = []

    def undo(self, kind: str, number: int, merge_id: int) -> Answer:
        """Undo a merge; the survivor is the record of the answer."""
        merge = self.merges.get((kind, merge_id))
        survivor = self.records[kind].get(number)
        if merge is None or merge.survivor != number or survivor is None or survivor.erased:
            return [Refused(404, "not_found")]
        if not survivor.live or self._later_merges(kind, merge):
            return [Refused(409, "conflict"), Refused(404, "not_found")]
        wanted = {key for part in merge.before.values() for key in part.keys(kind)}
        taken = [item.id for item in self.live(kind) if item is not survivor and wanted & item.keys.keys()]
        if taken:
            return [Refused(409, code, item) for item in taken for code in ("duplicate", "conflict")]
        del self.merges[kind, merge_id]
        had = survivor.had - {key for part in merge.before.values() for key in part.had}
        for element, entries in self._parted(kind, merge, survivor).items():
            record, part = self.records[kind][element], merge.before[element]
            record.entries, record.further, record.had = list(part.entries), dict(part.further), set(part.had)
            for entry in entries[len(part.entries) :]:
                record.takes(entry.sets)
                record.entries.append(entry)
            record.merged_into = record.updated = record.last = None
        survivor.had |= had
        return Done(200, survivor)

    def undo_is_open(self, kind: str, merge_id: int) -> bool:
        """Whether a request has given the survivor a key of another record as its first one: the documentation leaves open who gets it."""
        if (merge := self.merges.get((kind, merge_id))) is None:
            return False
        others = {key for item, part in merge.before.items() if item != merge.survivor for key in part.keys(kind)}
        survivor = self.records[kind][merge.survivor]
        for entry in self._since(merge, survivor):
            written = {(name, normal(name, entry.sets.get(name)) or "") for name in KEYS[kind]}
            if others & (written | keys_of(entry.sets.get("emails", [])).keys()):
                return True
        return False

    @staticmethod
    def _since(merge: Merge, survivor: Record) -> list[Entry]:
        expected = {id(entry) for part in merge.before.values() for entry in part.entries} | {id(merge.entry)}
        return [entry for entry in survivor.entries if id(entry) not in expected]

    def _later_merges(self, kind: str, merge: Merge) -> bool:
        mine = [value for (of, _), value in self.merges.items() if of == kind and value.survivor == merge.survivor]
        return any(item.entry.place > merge.entry.place for item in mine)

    def _parted(self, kind: str, merge: Merge, survivor: Record) -> dict[int, list[Entry]]:
        """The histories of the records of a merge after it is undone."""
        parts = {key: list(part.entries) for key, part in merge.before.items()}
        for entry in self._since(merge, survivor):
            parts[self._part_of(entry, merge)].append(entry)
        return parts

    def _part_of(self, entry: Entry, merge: Merge) -> int:
        address = normal("email", entry.email)
        had = self.hands.get(address or "", [])
        now = [key for key, part in merge.before.items() if ("email", address) in part.keys("contacts")]
        return next((item for item in (*now, *had) if item in merge.before), merge.survivor)

    @staticmethod
    def older_event(record: Record) -> bool:
        """Whether an event is older than the first request; it is open whether its address was the record's in between."""
        return any(entry.tool and any(entry.place < item.place for item in record.entries if not item.tool) for entry in record.entries)

    # Webhooks and the do-not-contact list.

    def target(self, email: str, at: int) -> Record | str:
        """The contact that an event is about; `new`, `banned`, or `unclear` where the documentation leaves it open."""
        address = normal("email", email) or ""
        if ("email", address) in self.banned:
            return "banned"
        roots = {root.id: root for item in self.hands.get(address, []) if (root := self.root("contacts", item)) is not None}
        before_deletion = [item for item in roots.values() if item.deleted_at is not None and at < item.deleted_at]
        if at < self.now - 5 and len(set(self.hands.get(address, []))) > 1:
            return "unclear"
        if before_deletion:
            return before_deletion[0]
        if owner := self.owners("contacts", {"email": address}).get("email"):
            return owner
        live = [item for item in roots.values() if item.live]
        return "unclear" if len(live) > 1 else live[0] if live else "new"

    def webhook(self, event: str, email: str, at: int, carries: Values) -> Record | None:
        """Apply an event of a campaign tool; return the contact that it made, if any."""
        about = self.target(email, at)
        assert about != "unclear"
        if event in CAUSES:
            address = normal("email", email) or ""
            self.suppressions.setdefault(address, Suppression("email")).events.append((at, CAUSES[event]))
        if about == "banned":
            return None
        self._turn += 1
        entry = Entry(at, self._turn, event, email=email, carries={"email": email, **carries}, tool="camp")
        if isinstance(about, Record):
            about.entries.append(entry)
            return None
        return self.add("contacts", entry)

    def suppress(self, value: str, reason: str) -> str:
        """Put an address or a domain on the list; return the outcome."""
        kind = "email" if "@" in value else "domain"
        suppression = self.suppressions.setdefault(normal(kind, value) or "", Suppression(kind))
        outcome = "created" if suppression.reason is None else "unchanged" if suppression.reason_asked == reason else "updated"
        suppression.reason_asked, suppression.asked_at = reason, self.now
        return outcome

    def unsuppress(self, value: str) -> None:
        """Remove an entry from the list."""
        suppression = self.suppressions[value]
        suppression.reason_asked, suppression.removed = None, self.now

    def listed(self, email: str | None, linkedin: str | None = None) -> set[str]:
        """The reasons for which addresses must not be contacted."""
        address = normal("email", email) or ""
        names = [address, *parents(address.partition("@")[2]), normal("linkedin_url", linkedin) or ""]
        return {reason for name in names if name in self.suppressions and (reason := self.suppressions[name].reason)}

    def listing(self) -> dict[str, str]:
        """The entries of the list; those of erased persons have no address."""
        result = {value: suppression.reason for value, suppression in self.suppressions.items() if suppression.reason}
        return {value: reason for value, reason in result.items() if (self.suppressions[value].kind, value) not in self.banned}

    def of_former(self, item: Values) -> set[str]:
        """The reasons of contacts that had one of these addresses: another may have it by now."""
        keys = {(name, normal(name, value) or "") for name, value in item.items()}
        return {reason for entry in self.live("contacts") if keys & entry.had for reason in self.suppressed(entry)}

    def suppressed(self, record: Record) -> set[str]:
        """The reasons for which a record must not be contacted: an opt-out by any address that leads to it, or by its status."""
        values = self.values(record)
        domains = [(values.get("email") or "").lower().partition("@")[2], values.get("domain", "")]
        if "company_id" in values:
            domains.append(self.values(self.records["companies"][values["company_id"]])["domain"])
        addresses = [value for name, value in (*record.had, *record.keys) if name != "domain"]
        names = [*addresses, *(part for domain in domains for part in parents(domain))]
        results = {reason for name in names if name in self.suppressions and (reason := self.suppressions[name].reason)}
        return results | ({"status"} if record.kind == "contacts" and values.get("status") == "do_not_contact" else set())


def parents(domain: str) -> list[str]:
    """A domain and the domains above it."""
    parts = domain.split(".")
    return [".".join(parts[n:]) for n in range(len(parts))] if domain else []


def chosen_by(policy: str, kind: str, values: list[Values], entries: list[list[Entry]]) -> Values:
    """The values that a merge's survivor gets; for `newest` those of the fold of all entries."""
    own = [{name: value for name, value in item.items() if name in FIELDS[kind] or name.startswith("cf.")} for item in values]
    if policy == "newest":
        return fold([entry for item in entries for entry in item])
    if policy == "keep":
        return own[0]
    order = list(own)
    if policy == "most_complete":
        order = sorted(own, key=len, reverse=True)
    chosen: Values = {}
    for element in order:
        chosen = {**element, **chosen}
    return chosen
