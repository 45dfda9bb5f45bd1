"""Parts of the report by campaign: counts of a stretch of time, in a form that adds up.

People of two days do not add up: somebody mailed on both is one person. So a part has the sets of people of each tool and campaign, and a
report unites them. Of the people who replied after a mail, a part knows those whose mail and reply are both its own; the others are in the
mailed people of a part and the replied people of a later one.

The time of a report is cut into spans: whole days, which are stored; and hours, of the days that are not whole.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec

from touchbase.common.timestamps import LATEST, SECOND, Micros
from touchbase.errors import Fault, Invalid
from touchbase.history.status import BOUNCE, COMPLAINT, REPLY, SENT, UNSUBSCRIBE
from touchbase.reports.intervals import midnights_of
from touchbase.reports.models import CampaignCounts

CHUNK_BITS = 12
"""A chunk has the ids that differ in their lowest bits only: one client's ids lie scattered among all clients' ids."""
_CHUNK_BYTES = 1 << (CHUNK_BITS - 3)
_IN_CHUNK = (1 << CHUNK_BITS) - 1


class People:
    """A set of ids of contacts: a number for each chunk, with a bit for each id."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: dict[int, int] | None = None) -> None:
        self._chunks = {} if chunks is None else chunks

    @classmethod
    def of(cls, ids: Iterable[int]) -> People:
        """Return the set of these ids."""
        bitmaps: dict[int, bytearray] = {}
        for contact_id in ids:
            chunk = bitmaps.get(contact_id >> CHUNK_BITS)
            if chunk is None:
                chunk = bitmaps[contact_id >> CHUNK_BITS] = bytearray(_CHUNK_BYTES)
            chunk[(contact_id & _IN_CHUNK) >> 3] |= 1 << (contact_id & 7)
        return cls({number: int.from_bytes(chunk, "little") for number, chunk in bitmaps.items()})

    @classmethod
    def unpacked(cls, packed: Mapping[int, bytes]) -> People:
        """Return the set that `packed` returned."""
        return cls({number: int.from_bytes(chunk, "little") for number, chunk in packed.items()})

    def packed(self) -> dict[int, bytes]:
        """Return the set as bytes for each chunk."""
        return {number: chunk.to_bytes((chunk.bit_length() + 7) // 8, "little") for number, chunk in self._chunks.items()}

    def add_all(self, others: People) -> None:
        """Add these people."""
        mine = self._chunks
        for number, chunk in others._chunks.items():
            mine[number] = mine.get(number, 0) | chunk

    def add_common(self, first: People, second: People) -> None:
        """Add the people that are in both."""
        mine, few, many = self._chunks, first._chunks, second._chunks
        if len(few) > len(many):
            few, many = many, few
        for number, chunk in few.items():
            if common := chunk & many.get(number, 0):
                mine[number] = mine.get(number, 0) | common

    def __len__(self) -> int:
        return sum(chunk.bit_count() for chunk in self._chunks.values())


HOUR: Micros = 3_600 * SECOND
COUNTS = {
    SENT: ("mailed", "mails"),
    REPLY: ("replied", "replies"),
    BOUNCE: ("bounced", "bounces"),
    UNSUBSCRIBE: ("unsubscribed", "unsubscribes"),
    COMPLAINT: ("complained", "complaints"),
}
"""Effects of events -> the counts of people and of events."""
COUNTED = frozenset(COUNTS)
"""Effects of events that reports count."""
MOST_ROWS = 10_000
"""Rows of one client's report."""
LEVELS = TOGETHER, BY_TOOL, BY_CAMPAIGN = range(3)
_FORMAT, _BY_TOOL = 1, 2

Group = tuple[str | None, str | None]
"""Tool, and the campaign's id in it, else its name."""
EventRow = tuple[int, str, str | None, str | None, Micros]
"""A contact's id, tool, campaign id, campaign name, and the time of an event."""


@dataclass(slots=True)
class Facts:
    """The events of one effect and campaign."""

    events: int = 0
    name: str | None = None
    campaign_id: str | None = None
    people: People = field(default_factory=People)


@dataclass(slots=True)
class ReportPart:
    """Counts of the events of a stretch of time."""

    facts: dict[tuple[str, Group], Facts] = field(default_factory=dict)
    answered: dict[tuple[int, Group], People] = field(default_factory=dict)
    """By level and group: people with a mail and a later reply in this part."""
    by_tool: bool = False
    """Whether it has no campaigns: there were too many for a report by campaign, or the report needs none."""

    @property
    def events(self) -> int:
        """Number of the events that were counted."""
        return sum(facts.events for facts in self.facts.values())

    @property
    def campaigns(self) -> set[Group]:
        """The tools and campaigns of its events."""
        return {group for _, group in self.facts}

    def at_level(self, level: int) -> ReportPart:
        """Return what a report of this level needs, which is much smaller where strangers sent thousands of campaigns."""
        if level == BY_CAMPAIGN:
            return self
        part = ReportPart(answered={key: people for key, people in self.answered.items() if key[0] == level}, by_tool=True)
        for (effect, group), facts in self.facts.items():
            sums = part.facts.setdefault((effect, group_at(BY_TOOL, group)), Facts())
            sums.events += facts.events
            sums.people.add_all(facts.people)
        return part


def group_at(level: int, group: Group) -> Group:
    """Return the group that a report of this level has in place of a campaign's."""
    return group if level == BY_CAMPAIGN else (group[0], None) if level == BY_TOOL else (None, None)


class PartBuilder:
    """Counts events into a part. Replies come before mails, so that only the mails of people who replied are looked at closely.

    With more than `most` campaigns it counts by tool: a report by campaign would have too many rows. `only`: the campaigns that count.
    """

    def __init__(self, most: int | None = MOST_ROWS, only: AbstractSet[Group] | None = None) -> None:
        self._most = most
        self._only = only
        self._campaigns: set[Group] = set()
        self._by_tool = False
        self._facts: dict[tuple[str, Group], Facts] = {}
        self._ids: defaultdict[tuple[str, Group], list[int]] = defaultdict(list)
        self._last_replies: defaultdict[int, dict[tuple[int, Group], Micros]] = defaultdict(dict)
        """By contact: its last reply in the group of each level."""
        self._answered: defaultdict[tuple[int, Group], set[int]] = defaultdict(set)

    def add(self, effect: str, rows: Sequence[EventRow]) -> None:
        """Count events of one effect."""
        if self._only is not None:
            rows = [row for row in rows if group_of(row[1], row[2], row[3]) in self._only]
        if self._by_tool:
            rows = [(contact, tool, None, None, at) for contact, tool, _, _, at in rows]
        contacts: defaultdict[tuple[str, str | None, str | None], list[int]] = defaultdict(list)
        for contact, tool, campaign_id, name, _ in rows:
            contacts[tool, campaign_id, name].append(contact)
        for (tool, campaign_id, name), contact_part in contacts.items():
            key = (effect, group_of(tool, campaign_id, name))
            facts = self._facts.setdefault(key, Facts())
            facts.events += len(contact_part)
            facts.name = max(filter(None, (facts.name, name)), default=None)
            facts.campaign_id = facts.campaign_id or campaign_id
            self._ids[key] += contact_part
        if effect == REPLY:
            for contact, tool, campaign_id, name, at in rows:
                self._note_reply(self._last_replies[contact], group_of(tool, campaign_id, name), at)
        elif effect == SENT:
            for contact, tool, campaign_id, name, at in rows:
                if contact in self._last_replies:
                    self._note_mail(contact, group_of(tool, campaign_id, name), at)
        if self._most is not None and not self._by_tool:
            self._campaigns.update(group for of_effect, group in self._facts if of_effect == effect)
            if len(self._campaigns) > self._most:
                self._forget_campaigns()

    def _forget_campaigns(self) -> None:
        self._by_tool = True
        self._campaigns.clear()
        facts, ids, self._facts, self._ids = self._facts, self._ids, {}, defaultdict(list)
        for (effect, group), of_campaign in facts.items():
            key = (effect, group_at(BY_TOOL, group))
            self._facts.setdefault(key, Facts()).events += of_campaign.events
            self._ids[key] += ids[effect, group]
        for last in self._last_replies.values():
            for level, group in [key for key in last if key[0] == BY_CAMPAIGN]:
                del last[level, group]
        self._answered = defaultdict(set, {key: people for key, people in self._answered.items() if key[0] != BY_CAMPAIGN})

    def _note_reply(self, last: dict[tuple[int, Group], Micros], group: Group, at: Micros) -> None:
        for key in _at_levels(group):
            last[key] = max(at, last.get(key, at))

    def _note_mail(self, contact: int, group: Group, at: Micros) -> None:
        last = self._last_replies[contact]
        for key in _at_levels(group):
            if key in last and at <= last[key]:
                self._answered[key].add(contact)

    def build(self) -> ReportPart:
        """Return the part."""
        for key, facts in self._facts.items():
            facts.people = People.of(self._ids[key])
        return ReportPart(self._facts, {key: People.of(ids) for key, ids in self._answered.items()}, self._by_tool)


def group_of(tool: str, campaign_id: str | None, name: str | None) -> Group:
    """Return the group of an event by campaign."""
    return (tool, name if campaign_id is None else campaign_id)


@lru_cache(1_000)
def _at_levels(group: Group) -> Sequence[tuple[int, Group]]:
    return [(level, group_at(level, group)) for level in LEVELS]


def packed(part: ReportPart) -> bytes:
    """Return a part as it is stored."""
    facts = [
        (effect, *group, fact.events, fact.name, fact.campaign_id, fact.people.packed()) for (effect, group), fact in part.facts.items()
    ]
    answered = [(level, *group, people.packed()) for (level, group), people in part.answered.items()]
    return zlib.compress(msgspec.msgpack.encode((_BY_TOOL if part.by_tool else _FORMAT, facts, answered)), 1)


def unpacked(content: bytes) -> ReportPart | None:
    """Return a stored part; None for one of another version of this program."""
    version, facts, answered = msgspec.msgpack.decode(zlib.decompress(content), type=tuple[int, list[Any], list[Any]], strict=False)
    if version not in (_FORMAT, _BY_TOOL):
        return None
    part = ReportPart(by_tool=version == _BY_TOOL)
    for effect, tool, campaign, events, name, campaign_id, people in facts:
        part.facts[effect, (tool, campaign)] = Facts(events, name, campaign_id, People.unpacked(people))
    for level, tool, campaign, people in answered:
        part.answered[level, (tool, campaign)] = People.unpacked(people)
    return part


@dataclass(slots=True)
class _Row:
    """One group in one interval, while it is counted."""

    counts: CampaignCounts
    people: dict[str, People] = field(default_factory=dict)
    answered: People = field(default_factory=People)


class Union:
    """Unites parts to the rows of a report. They are added from the last to the first, because a mail is answered by later replies."""

    def __init__(self, edges: Sequence[Micros], level: int) -> None:
        self._edges, self._level = edges, level
        self._replied: defaultdict[Group, People] = defaultdict(People)
        self._rows: dict[tuple[int, Group], _Row] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add_later(self, part: ReportPart) -> None:
        """Add the part after the report's end: its replies answer mails of the report, and it has no rows."""
        for (effect, group), facts in part.facts.items():
            if effect == REPLY:
                self._replied[group_at(self._level, group)].add_all(facts.people)

    def add(self, begin: Micros, part: ReportPart) -> None:
        """Add the part that begins at this time, which lies in one interval."""
        number = bisect_right(self._edges, begin) - 1
        for (effect, group), facts in part.facts.items():
            row = self._row(number, group)
            row.people.setdefault(effect, People()).add_all(facts.people)
            setattr(row.counts, COUNTS[effect][1], getattr(row.counts, COUNTS[effect][1]) + facts.events)
            if self._level == BY_CAMPAIGN:
                row.counts.campaign = max(filter(None, (row.counts.campaign, facts.name)), default=None)
                row.counts.campaign_id = row.counts.campaign_id or facts.campaign_id
            if effect == SENT:
                row.answered.add_common(facts.people, self._replied[group_at(self._level, group)])
        for (level, group), people in part.answered.items():
            if level == self._level:
                self._row(number, group).answered.add_all(people)
        self.add_later(part)

    def _row(self, number: int, group: Group) -> _Row:
        group = group_at(self._level, group)
        row = self._rows.get((number, group))
        if row is None:
            row = self._rows[number, group] = _Row(CampaignCounts(number, group[0]))
        return row

    def rows(self) -> list[CampaignCounts]:
        """Return the report's rows, by interval, tool and campaign."""
        rows = []
        for _, row in sorted(self._rows.items(), key=lambda item: order_of(item[0][0], *item[0][1])):
            for effect, people in row.people.items():
                setattr(row.counts, COUNTS[effect][0], len(people))
            row.counts.mailed_replied = len(row.answered)
            rows.append(row.counts)
        return rows


def order_of(number: int, tool: str | None, campaign: str | None) -> tuple[int, str, bool, str]:
    """Return the key by which the rows of a report are sorted."""
    return number, tool or "", campaign is None, campaign or ""


FEW_EVENTS = 300
"""A report of up to so many events of each kind counts them all at once, without parts: 30 stored days take as long as 300 events."""
MOST_COUNTED = 100_000
"""Events after which a read counts no further part, so that no read takes long."""

Stretch = tuple[Micros, Micros]
"""Beginning and end of a part."""


@dataclass(slots=True)
class CountedPart:
    """A part, and the version of the events that it counts."""

    version: int
    part: ReportPart
    content: bytes
    """The part as it is stored."""


class ReportTooLarge(Invalid):
    """The report would have more than `MOST_ROWS` rows."""

    def __init__(self) -> None:
        detail = f"the report would have more than {MOST_ROWS:,} rows: send a later time, longer intervals or fewer groups"
        super().__init__([Fault("?since", "too_many", detail)])
        self.counted: Mapping[Stretch, CountedPart] = {}
        """Parts that were counted for it, to be stored: the next such report is refused without counting."""


MOST_MESSAGES = 1_000_000
"""Events of a report by step or label, which reads the message of each: some 4 s of a processor."""
PAGE_MESSAGES = 200_000
"""Events of a page of such reports, after which no further client is added."""


class TooManyMessages(ReportTooLarge):
    """The report would read the messages of more than `MOST_MESSAGES` events."""

    def __init__(self) -> None:
        super().__init__()
        detail = f"the report would read the messages of more than {MOST_MESSAGES:,} events: send a later time, or leave out step and label"
        super(ReportTooLarge, self).__init__([Fault("?since", "too_many", detail)])


@dataclass(slots=True)
class Reported:
    """The rows of a report, and the parts that were counted for it, to be stored."""

    rows: list[CampaignCounts] | None
    """None: other parts must be counted first. The same query with `counted` continues."""
    counted: dict[Stretch, CountedPart] = field(default_factory=dict)
    version: int = 0
    """Of the events before the horizon, if the report has one."""
    messages: int = 0
    """Events whose messages were read."""


@dataclass(frozen=True, slots=True)
class CampaignGroups:
    """The groups of a report: a row for each interval, tool and campaign in which something happened.

    Rows by campaign are also by tool: a campaign is one of its tool.
    """

    client: int
    edges: Sequence[Micros]
    """Beginnings of the intervals, and the end of the last; two without grouping by time."""
    by_tool: bool
    by_campaign: bool
    by_step: bool = False
    by_label: bool = False
    """Only replies are counted: nothing else has a label."""
    horizon: Micros = LATEST + SECOND
    """Later replies do not count for the mails."""

    @property
    def level(self) -> int:
        """What the rows are by."""
        return BY_CAMPAIGN if self.by_campaign else BY_TOOL if self.by_tool else TOGETHER


MOST_DAYS = 1_000
"""Days of a report that is made of parts; of a longer one the events are counted at once."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time within one interval of a report."""

    begin: Micros
    end: Micros
    is_stored: bool
    """Whether other reports have the same span: a day, or a whole hour."""

    @property
    def hours(self) -> tuple[int, int]:
        """The first of its hours, and the one after the last."""
        return self.begin // HOUR, -(-self.end // HOUR)


@lru_cache(16)
def spans_of(edges: tuple[Micros, ...], zone: str) -> Sequence[Span] | None:
    """Return the spans of the intervals with these edges, in order; None if they are too many, or of times that no calendar has.

    Cached, as a report of all clients asks for each of them.
    """
    try:
        midnights = midnights_of(edges[0], edges[-1], zone, MOST_DAYS)
    except (ValueError, OverflowError):
        return None
    if len(midnights) > MOST_DAYS:
        return None
    days = set(pairwise(midnights))
    spans: list[Span] = []
    for begin, end in pairwise(sorted({*edges, *midnights})):
        if (begin, end) in days:
            spans.append(Span(begin, end, is_stored=True))
        elif begin < end:
            first = min(end, -(-begin // HOUR) * HOUR)
            last = max(first, end // HOUR * HOUR)
            hours = [Span(hour, hour + HOUR, is_stored=True) for hour in range(first, last, HOUR)]
            spans += [span for span in (Span(begin, first, False), *hours, Span(last, end, False)) if span.begin < span.end]
    return spans
