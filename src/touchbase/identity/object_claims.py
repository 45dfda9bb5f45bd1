"""Claims: which address each CRM object has, and how records with several objects are separated.

Two objects of one type in one CRM with different present addresses are two records, whatever addresses they had before
(decision 33). Events of an object belong to its record; events of a campaign tool belong to the owner of the address at their time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar, overload

from touchbase.common.normalize import find_company_domain, find_email_key, linkedin_key
from touchbase.history.events import COMPANY, VIA_API, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import EffectiveTime, Stamp, beats
from touchbase.records.field_projection import MERGE, Objects, Written, named_address
from touchbase.records.projection import object_of

NO_TIME: EffectiveTime = (0, "")
Claim = tuple[EffectiveTime, str]
"""The effective time at which an object got an address, and the address in normal form."""
History = Sequence[StoredEvent]


class RecordClaims(dict[Ref, Claim]):
    """The latest claim of each object of one record, with the addresses of each kind of object counted."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def raise_to(self, ref: Ref, claim: Claim) -> None:
        """Store the claim of an object, unless it has a later one."""
        if (before := self.get(ref)) is not None:
            if claim <= before:
                return
            self.remove(ref)
        self[ref] = claim
        self.addresses[ref[:2]][claim[1]] += 1

    def remove(self, ref: Ref) -> Claim | None:
        """Remove and return the claim of an object."""
        claim = self.pop(ref, None)
        if claim is not None:
            counts = self.addresses[ref[:2]]
            counts[claim[1]] -= 1
            if not counts[claim[1]]:
                del counts[claim[1]]
        return claim


@dataclass(slots=True)
class Claims:
    """The latest claim of each object of a batch's records; complete where the batch may unite or separate records."""

    latest: defaultdict[int, RecordClaims] = field(default_factory=lambda: defaultdict(RecordClaims))
    merged_into: dict[Ref, Ref] = field(default_factory=dict)
    """Objects that were merged into another one in their CRM."""
    absorbed: set[Ref] = field(default_factory=set)
    """Objects of `merged_into` whose claims count only if the other one has none."""
    named: set[Ref] = field(default_factory=set)
    """Objects that have claimed an address themselves."""

    def add(self, record_id: int, ref: Ref, claim: Claim) -> None:
        """Add a claim of an object of this record."""
        self.named.add(ref)
        self.latest[record_id].raise_to(self._of(ref), (NO_TIME, claim[1]) if ref in self.absorbed else claim)

    def add_history(self, record_id: int, kind: int, history: History) -> None:
        """Add all claims and merges in a record's history."""
        for event in history:
            if (ref := object_of(event)) is not None and (merged := event.detail.get("merged_into")) is not None:
                self.merge(ref, (ref[0], ref[1], merged), is_absorbed=event.detail.get("absorbed", False))
        for ref, claim in claims_in(kind, history):
            self.add(record_id, ref, claim)

    def merge(self, merged: Ref, survivor: Ref, *, is_absorbed: bool = False) -> None:
        """Join an object with its survivor of a merge in the CRM."""
        if is_absorbed:
            self.absorbed.add(merged)
            for claims in self.latest.values():
                if merged not in self.merged_into and (claim := claims.remove(merged)) is not None:
                    claims.raise_to(merged, (NO_TIME, claim[1]))
        first, second = sorted((self._of(merged), self._of(survivor)))
        if first == second:
            return
        self.merged_into[second] = first
        for claims in self.latest.values():
            if (claim := claims.remove(second)) is not None:
                claims.raise_to(first, claim)

    def join(self, absorbed: int, survivor: int) -> None:
        """Move all claims of a removed record to the survivor."""
        for ref, claim in self.latest.pop(absorbed, RecordClaims()).items():
            self.add(survivor, ref, claim)

    def differ(self, *records: int) -> bool:
        """Whether these records have two objects of one type with different addresses."""
        present = [claims for number in records if (claims := self.latest.get(number)) is not None]
        kinds = {kind for claims in present for kind in claims.addresses}
        return any(len({address for claims in present for address in claims.addresses.get(kind, ())}) > 1 for kind in kinds)

    def joins_by_first_address(self, ref: Ref | None) -> bool:
        """Whether an object was merged with another one in the CRM before it had claimed an address."""
        return ref is not None and ref not in self.named and (ref in self.merged_into or ref in self.merged_into.values())

    def address(self, record_id: int, ref: Ref | None) -> str | None:
        """Return the present address of an object of this record."""
        claim = None if ref is None or record_id not in self.latest else self.latest[record_id].get(self._of(ref))
        return None if claim is None else claim[1]

    def has_several(self, record_id: int) -> bool:
        """Whether two objects of one type have claimed an address of this record."""
        return record_id in self.latest and any(counts.total() > 1 for counts in self.latest[record_id].addresses.values())

    def _of(self, ref: Ref) -> Ref:
        while ref in self.merged_into:
            ref = self.merged_into[ref]
        return ref


def claims_in(kind: int, history: Iterable[StoredEvent]) -> Iterator[tuple[Ref, Claim]]:
    """Return the claims that a CRM's events make."""
    name = primary_name(kind)
    for event in history:
        ref, address = object_of(event), event.detail.get("identity", {}).get(name)
        if ref is not None and address is not None:
            yield ref, (event.effective_time, address)


def primary_name(kind: int) -> str:
    """Return the field that identifies a record of this kind."""
    return "domain" if kind == COMPANY else "email"


@dataclass(slots=True)
class Share:
    """The part of a separation that belongs to one record."""

    address: str
    """The present address of its objects."""
    record_id: int | None = None
    """None: a record that has to be created."""
    since: EffectiveTime | None = None
    """The effective time from which it has the address, if others had it before."""
    objects: set[Ref] = field(default_factory=set)
    joining: list[StoredEvent] = field(default_factory=list)
    """Its events that are in another record's history."""


@dataclass(slots=True)
class Separation:
    """How records are to be separated."""

    shares: list[Share]
    former: dict[str, Share]
    """The share that owns an address's events from the time before its present owner."""
    to_unite: list[tuple[int, int]]
    """Records of the same share; they are united first, unless both were created through the API."""


def plan_separation(
    kind: int, histories: Mapping[int, History], addresses: Mapping[int, str | None] = MappingProxyType({})
) -> Separation | None:
    """Plan how these records are separated by their whole histories; None if their objects do not differ.

    `addresses` are the present ones of the records: a record without objects joins the share that has its address. API events stay
    with their record, as do events that name no address of an object.
    """
    claims = _Claimed(kind, [event for history in histories.values() for event in history])
    if not claims.shares or claims.api_is_last:
        return None
    homes, to_unite = dict[int, Share](), list[tuple[int, int]]()
    for number, history in histories.items():
        home = claims.share_of_api(history) or claims.first_share(history) or claims.share_having(addresses.get(number))
        if home is None:
            continue
        homes[number] = home
        if home.record_id is None:
            home.record_id = number
        else:
            to_unite.append((home.record_id, number))
    profiles = claims.profiles(histories, homes)
    for number, history in histories.items():
        home = homes.get(number)
        for event in history:
            share = claims.share_of(event) or profiles.get(linkedin_key_alone(event) or "")
            if share is not None and share is not home and event.via != VIA_API:
                share.joining.append(event)
    for share in claims.shares.values():
        share.since = claims.since(share)
    return Separation(list(claims.shares.values()), {address: claims.former(address) for address in claims.by_address}, to_unite)


def objects_differ(kind: int, histories: Mapping[int, History]) -> bool:
    """Whether two objects of one type in these histories have different present addresses."""
    return bool(_Claimed(kind, [event for history in histories.values() for event in history]).shares)


class _Merges:
    """Merges by request: their addresses count as one, and so do all addresses of an object that had one of them before the merge."""

    def __init__(self, kind: int, events: History, objects: Objects) -> None:
        merges = [(event.effective_time, event.detail[MERGE]["addresses"]) for event in events if MERGE in event.detail]
        self._first: dict[str, str] = {}
        for _, addresses in sorted(merges):
            group = {self._first.get(address, address) for address in addresses}
            together = [*addresses, *(address for address, first in self._first.items() if first in group)]
            self._first |= dict.fromkeys(together, min(group, default=""))
        self._of_object: dict[Ref, str] = {}
        for ref, (at, address) in claims_in(kind, events) if merges else ():
            if any(at < time and address in addresses for time, addresses in merges):
                self._of_object[objects.of(ref)] = self._first[address]

    @overload
    def address(self, address: str, of: Ref | None = None) -> str: ...
    @overload
    def address(self, address: str | None, of: Ref | None = None) -> str | None: ...
    def address(self, address: str | None, of: Ref | None = None) -> str | None:
        """Return the address in place of which this one counts, as an address of an object if that is given."""
        if of is not None and of in self._of_object:
            return self._of_object[of]
        return None if address is None else self._first.get(address, address)


class _Claimed:
    """The claims in some histories, and the shares that follow from them."""

    def __init__(self, kind: int, events: History) -> None:
        self._name = primary_name(kind)
        self._key = find_company_domain if kind == COMPANY else find_email_key
        self._objects = Objects.of_history(events, merges=False)
        self._merges = _Merges(kind, events, self._objects)
        self._by_object: dict[Ref, list[Claim]] = {}
        present: dict[Ref, tuple[int, EffectiveTime, str]] = {}
        self.api_is_last = False
        self.shares: dict[str, Share] = {}
        for ref, (at, address) in claims_in(kind, events):
            leader = self._objects.of(ref)
            claim = (-self._objects.absorbed.get(ref, 0), at, self._merges.address(address, leader))
            self._by_object.setdefault(leader, []).append(claim[1:])
            present[leader] = max(claim, present.get(leader, claim))
        now = {ref: address for ref, (_, _, address) in present.items()}
        kinds: dict[tuple[str, str], set[str]] = {}
        for ref, address in now.items():
            kinds.setdefault(ref[:2], set()).add(address)
        apart = {address for addresses in kinds.values() if len(addresses) > 1 for address in addresses}
        if not apart:
            return
        self.shares = {address: Share(address) for address in sorted(apart)}
        self._share_of_object = {ref: self.shares[address] for ref, address in now.items() if address in apart}
        self.by_address = self._claims_by_address()
        # An object of another type that has an address of a share joins that share.
        self._share_of_object |= {ref: self.shares[self._owner_of(address)] for ref, address in now.items() if address in self.by_address}
        for event in events:
            of, share = object_of(event), self._of_object(event)
            if of is not None and share is not None:
                share.objects.add(of)
                if (survivor := event.detail.get("merged_into")) is not None:
                    share.objects.add((of[0], of[1], survivor))
        by_api = [event.effective_time for event in events if event.via == VIA_API and self._name in event.detail.get("fields", {})]
        self.api_is_last = bool(by_api) and max(by_api) > max(max(claims)[0] for claims in self._by_object.values())

    def _claims_by_address(self) -> dict[str, dict[str, list[EffectiveTime]]]:
        """Return for each address the times at which each share (by its own address) has claimed it."""
        times_by_address: dict[str, dict[str, list[EffectiveTime]]] = {}
        for ref, share in self._share_of_object.items():
            for at, address in self._by_object[ref]:
                times_by_address.setdefault(address, {}).setdefault(share.address, []).append(at)
        return times_by_address

    def profiles(self, histories: Mapping[int, History], homes: Mapping[int, Share]) -> dict[str, Share]:
        """Return the share that owns each LinkedIn address, by the events that name another identity too."""
        writes = dict[str, tuple[Share, list[Written]]]()
        for number, history in histories.items():
            for event in history:
                share = self.share_of(event) or homes.get(number)
                if (
                    share is not None
                    and linkedin_key_alone(event) is None
                    and (profile := named_address(event, "linkedin_url")) is not None
                ):
                    writes.setdefault(share.address, (share, []))[1].append(profile)
        owners = linkedin_owners({address: write for address, (_, write) in sorted(writes.items())})
        return {key: writes[address][0] for key, address in owners.items()}

    def _of_object(self, event: StoredEvent) -> Share | None:
        ref = object_of(event)
        return None if ref is None else self._share_of_object.get(self._objects.of(ref))

    def first_share(self, history: History) -> Share | None:
        """Return the share whose object was the first in a history to claim an address: that share gets the record."""
        claiming = [event for event in history if self._of_object(event) and self._name in event.detail.get("identity", {})]
        return self._of_object(min(claiming, key=lambda event: event.effective_time)) if claiming else None

    def share_of_api(self, history: History) -> Share | None:
        """Return the share whose object was the first to claim an address that the API gave to the history's record."""
        api_values = {value for event in history if event.via == VIA_API and (value := event.detail.get("fields", {}).get(self._name))}
        shares = [self.by_address.get(self._merges.address(self._key(value)) or "", {}) for value in api_values]
        claims = [(min(times), name) for claimed in shares for name, times in claimed.items()]
        return self.shares[min(claims)[1]] if claims else None

    def share_of(self, event: StoredEvent) -> Share | None:
        """Return the share of an event by its object or address; None if neither decides."""
        if object_of(event) is not None or event.via == VIA_API:
            return self._of_object(event)
        named = event.detail.get("named", {})
        address = self._merges.address(self._key(named[self._name])) if named.get(self._name) else None
        return self._share_at(address, event.effective_time) if address in self.by_address else None

    def _share_at(self, address: str, at: EffectiveTime) -> Share:
        """Return the owner of an address at a time: the present owner from its first claim on, before that the last one to claim it."""
        first = {name: min(times) for name, times in self.by_address[address].items()}
        owner = self._owner_of(address)
        if at >= first[owner]:
            return self.shares[owner]
        earlier = [name for name, since in first.items() if since <= at]
        return self.shares[max(earlier, key=first.__getitem__) if earlier else min(first, key=first.__getitem__)]

    def share_having(self, address: str | None) -> Share | None:
        """Return the share that has an address, or had it last; None if no share ever had it."""
        address = self._merges.address(address)
        return self.shares[self._owner_of(address)] if address in self.by_address else None

    def _owner_of(self, address: str) -> str:
        claims = self.by_address[address]
        return address if address in claims and address in self.shares else max(claims, key=lambda name: max(claims[name]))

    def since(self, share: Share) -> EffectiveTime | None:
        """Return the time from which a share has its address; None if no other share ever had it."""
        claims = self.by_address[share.address]
        return min(claims[share.address]) if len(claims) > 1 else None

    def former(self, address: str) -> Share:
        """Return the share to which the link of a former address leads."""
        claims = self.by_address[address]
        others = [name for name in claims if name != address] or list(claims)
        return self.shares[max(others, key=lambda name: max(claims[name]))]


Owner = TypeVar("Owner")


def linkedin_key_alone(event: StoredEvent) -> str | None:
    """Return the LinkedIn key of an event that names no other identity; None for other events."""
    named = event.detail.get("named", {})
    if object_of(event) is not None or event.via == VIA_API or named.get("email") or not named.get("linkedin_url"):
        return None
    return linkedin_key(named["linkedin_url"])


def linkedin_owners(writes: Mapping[Owner, Iterable[Written]]) -> dict[str, Owner]:
    """Return the owner of each LinkedIn address by the winning write; of equal writes the first wins."""
    best: dict[str, tuple[Stamp, Owner]] = {}
    for of, writes_of_ref in writes.items():
        for write in writes_of_ref:
            key = _key(write)
            if key is not None and (key not in best or beats(write.stamp, best[key][0])):
                best[key] = (write.stamp, of)
    return {key: of for key, (_, of) in best.items()}


def without_linkedin_keys(writes: Sequence[Written], others: Container[str]) -> list[Written]:
    """Return the writes without these LinkedIn addresses."""
    return [write for write in writes if _key(write) not in others]


def _key(written: Written) -> str | None:
    return None if written.value is None else linkedin_key(written.value)
