"""Claims: which address each object of a CRM has, and what follows for records that several objects have been.

Two objects of one kind in one CRM that have different addresses now are two records, whatever they have had before (decision 33).
What the objects tell is theirs. What a campaign tool tells under an address is of whoever had that then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from touchbase.common.normalize import find_company_domain, find_email_key
from touchbase.events.profiles import owners_of_profiles, profile_alone
from touchbase.history.events import COMPANY, VIA_API, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import Place
from touchbase.records.field_projection import Objects, Written, named_address, object_of

Claim = tuple[Place, str]
"""When an object said that it has an address, and the address in normal form."""
History = Sequence[StoredEvent]


@dataclass(slots=True)
class Claims:
    """The latest claim of each object of a batch's records: of all their objects where the batch may change who is who."""

    latest: dict[int, dict[Ref, Claim]] = field(default_factory=dict)
    leader: dict[Ref, Ref] = field(default_factory=dict)
    """Objects that are another one by a merge in their CRM."""

    def note(self, record_id: int, ref: Ref, claim: Claim) -> None:
        """An object of this record has claimed an address."""
        held, ref = self.latest.setdefault(record_id, {}), self._of(ref)
        held[ref] = max(held.get(ref, claim), claim)

    def note_history(self, record_id: int, kind: int, history: History) -> None:
        """The same of all events of a record."""
        for event in history:
            if (one := object_of(event)) is not None and (merged := event.detail.get("merged_into")) is not None:
                self.merge(one, (one[0], one[1], merged))
        for one, claim in claims_in(kind, history):
            self.note(record_id, one, claim)

    def merge(self, one: Ref, other: Ref) -> None:
        """Two objects are one by a merge in their CRM."""
        kept, gone = sorted((self._of(one), self._of(other)))
        if kept == gone:
            return
        self.leader[gone] = kept
        for held in self.latest.values():
            if (claim := held.pop(gone, None)) is not None:
                held[kept] = max(held.get(kept, claim), claim)

    def join(self, gone: int, kept: int) -> None:
        """Two records are one."""
        for ref, claim in self.latest.pop(gone, {}).items():
            self.note(kept, ref, claim)

    def differ(self, *records: int) -> bool:
        """Whether these records have two objects of one kind with different addresses."""
        found: dict[tuple[str, str], str] = {}
        held = [each for number in records for each in self.latest.get(number, {}).items()]
        return any(found.setdefault(ref[:2], address) != address for ref, (_, address) in held)

    def address(self, record_id: int, ref: Ref | None) -> str | None:
        """The address that an object of this record has now."""
        claim = None if ref is None else self.latest.get(record_id, {}).get(self._of(ref))
        return None if claim is None else claim[1]

    def has_several(self, record_id: int) -> bool:
        """Whether two objects of one kind have claimed an address of this record."""
        held = self.latest.get(record_id, {})
        return len({ref[:2] for ref in held}) < len(held)

    def _of(self, ref: Ref) -> Ref:
        while ref in self.leader:
            ref = self.leader[ref]
        return ref


def claims_in(kind: int, history: Iterable[StoredEvent]) -> Iterator[tuple[Ref, Claim]]:
    """The claims that events of a CRM make."""
    name = primary_name(kind)
    for event in history:
        one, address = object_of(event), event.detail.get("identity", {}).get(name)
        if one is not None and address is not None:
            yield one, (event.place, address)


def primary_name(kind: int) -> str:
    """The field that says who a record of this kind is."""
    return "domain" if kind == COMPANY else "email"


@dataclass(slots=True)
class Share:
    """What is one record's of the records that are looked at."""

    address: str
    """The address that its objects have now."""
    record_id: int | None = None
    """None: a record that has to be made."""
    since: Place | None = None
    """From when on it has had the address, where others have had it too."""
    objects: set[Ref] = field(default_factory=set)
    joining: list[StoredEvent] = field(default_factory=list)
    """Its events that stand in another record's history."""


@dataclass(slots=True)
class Separation:
    """How records are to be divided anew."""

    shares: list[Share]
    former: dict[str, Share]
    """Whose the events are that tell of an address in the time before it came to whoever has it now."""
    alike: list[tuple[int, int]]
    """Records that are one share's: they are to be united first, if they may be."""


def separated(kind: int, histories: Mapping[int, History], addresses: Mapping[int, str | None] = MappingProxyType({})) -> Separation | None:
    """How these records, by their whole histories, are to be divided; None where their objects do not differ.

    `addresses` are those that the records have now: one without objects belongs to whose objects have its address.
    Entries of the API stay with their record. So does what names no address that an object has ever had.
    """
    claims = _Claimed(kind, [event for history in histories.values() for event in history])
    if not claims.shares or claims.api_is_last:
        return None
    homes, alike = dict[int, Share](), list[tuple[int, int]]()
    for number, history in histories.items():
        home = claims.share_of_api(history) or claims.first_share(history) or claims.having(addresses.get(number))
        if home is None:
            continue
        homes[number] = home
        if home.record_id is None:
            home.record_id = number
        else:
            alike.append((home.record_id, number))
    profiles = claims.profiles(histories, homes)
    for number, history in histories.items():
        home = homes.get(number)
        for event in history:
            share = claims.share_of(event) or profiles.get(profile_alone(event) or "")
            if share is not None and share is not home and event.via != VIA_API:
                share.joining.append(event)
    for share in claims.shares.values():
        share.since = claims.since(share)
    return Separation(list(claims.shares.values()), {address: claims.former(address) for address in claims.by_address}, alike)


def differ(kind: int, histories: Mapping[int, History]) -> bool:
    """Whether two objects of one kind in these histories have different addresses now."""
    return bool(_Claimed(kind, [event for history in histories.values() for event in history]).shares)


class _Claimed:
    """What the objects of some histories have claimed, and the shares that follow."""

    def __init__(self, kind: int, events: History) -> None:
        self._name = primary_name(kind)
        self._key = find_company_domain if kind == COMPANY else find_email_key
        self._objects = Objects.of_history(events)
        self._by_object: dict[Ref, list[Claim]] = {}
        self.api_is_last = False
        self.shares: dict[str, Share] = {}
        for one, claim in claims_in(kind, events):
            self._by_object.setdefault(self._objects.of(one), []).append(claim)
        now = {one: max(claims)[1] for one, claims in self._by_object.items()}
        kinds: dict[tuple[str, str], set[str]] = {}
        for one, address in now.items():
            kinds.setdefault(one[:2], set()).add(address)
        apart = {address for addresses in kinds.values() if len(addresses) > 1 for address in addresses}
        if not apart:
            return
        self.shares = {address: Share(address) for address in sorted(apart)}
        self._share_of_object = {one: self.shares[address] for one, address in now.items() if address in apart}
        self.by_address = self._claims_by_address()
        # An object of another kind, with an address that one of these has had, is theirs.
        self._share_of_object |= {one: self.shares[self._holder(address)] for one, address in now.items() if address in self.by_address}
        for event in events:
            of, share = object_of(event), self._of_object(event)
            if of is not None and share is not None:
                share.objects.add(of)
                if (survivor := event.detail.get("merged_into")) is not None:
                    share.objects.add((of[0], of[1], survivor))
        by_api = [event.place for event in events if event.via == VIA_API and self._name in event.detail.get("fields", {})]
        self.api_is_last = bool(by_api) and max(by_api) > max(max(claims)[0] for claims in self._by_object.values())

    def _claims_by_address(self) -> dict[str, dict[str, list[Place]]]:
        """Each address, and when each share (by its own address) has claimed it."""
        found: dict[str, dict[str, list[Place]]] = {}
        for one, share in self._share_of_object.items():
            for place, address in self._by_object[one]:
                found.setdefault(address, {}).setdefault(share.address, []).append(place)
        return found

    def profiles(self, histories: Mapping[int, History], homes: Mapping[int, Share]) -> dict[str, Share]:
        """Whose each LinkedIn address is, by the events that name something else too."""
        writes = dict[str, tuple[Share, list[Written]]]()
        for number, history in histories.items():
            for event in history:
                share = self.share_of(event) or homes.get(number)
                if share is not None and profile_alone(event) is None and (one := named_address(event, "linkedin_url")) is not None:
                    writes.setdefault(share.address, (share, []))[1].append(one)
        owners = owners_of_profiles({address: each for address, (_, each) in sorted(writes.items())})
        return {key: writes[address][0] for key, address in owners.items()}

    def _of_object(self, event: StoredEvent) -> Share | None:
        one = object_of(event)
        return None if one is None else self._share_of_object.get(self._objects.of(one))

    def first_share(self, history: History) -> Share | None:
        """The share whose object was the first of a history to claim an address: it keeps the record."""
        claiming = [event for event in history if self._of_object(event) and self._name in event.detail.get("identity", {})]
        return self._of_object(min(claiming, key=lambda event: event.place)) if claiming else None

    def share_of_api(self, history: History) -> Share | None:
        """The share whose object was the first to claim an address that the API had given to the record of a history."""
        given = {value for event in history if event.via == VIA_API and (value := event.detail.get("fields", {}).get(self._name))}
        known = [self.by_address.get(self._key(each) or "", {}) for each in given]
        claims = [(min(places), name) for claimed in known for name, places in claimed.items()]
        return self.shares[min(claims)[1]] if claims else None

    def share_of(self, event: StoredEvent) -> Share | None:
        """Whose an event is by its object or its address; None where neither says so."""
        if object_of(event) is not None or event.via == VIA_API:
            return self._of_object(event)
        named = event.detail.get("named", {})
        address = self._key(named[self._name]) if named.get(self._name) else None
        return self._had(address, event.place) if address in self.by_address else None

    def _had(self, address: str, at: Place) -> Share:
        """Who had an address then: who has it now, since the first claim; before, whoever had claimed it last."""
        first = {name: min(places) for name, places in self.by_address[address].items()}
        holder = self._holder(address)
        if at >= first[holder]:
            return self.shares[holder]
        before = [name for name, place in first.items() if place <= at]
        return self.shares[max(before, key=first.__getitem__) if before else min(first, key=first.__getitem__)]

    def having(self, address: str | None) -> Share | None:
        """The share that has an address, or had it last; None where none ever had it."""
        return self.shares[self._holder(address)] if address in self.by_address else None

    def _holder(self, address: str) -> str:
        claims = self.by_address[address]
        return address if address in claims and address in self.shares else max(claims, key=lambda name: max(claims[name]))

    def since(self, share: Share) -> Place | None:
        """From when on a share has had its address; None where it is the only one that ever had it."""
        claims = self.by_address[share.address]
        return min(claims[share.address]) if len(claims) > 1 else None

    def former(self, address: str) -> Share:
        """The share to which the link of a former address leads."""
        claims = self.by_address[address]
        others = [name for name in claims if name != address] or list(claims)
        return self.shares[max(others, key=lambda name: max(claims[name]))]
