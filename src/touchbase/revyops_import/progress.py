"""Progress: the sum of the finished pages."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.revyops_import.models import EMAILS, Counts, Entry, ListName, Stage


@dataclass(slots=True)
class ListProgress:
    """How far a list was read in one stage."""

    last: int = 0
    """The last page that is finished."""
    is_ended: bool = False
    pages: int = 0
    count: int | None = None
    """Records of the list, as its last page says."""
    is_cut: bool = False
    """Whether the list may go on behind its last page."""
    repeated: int = 0
    left_out: int = 0
    counts: dict[str, Counts] = field(default_factory=dict)
    """By their id of the client."""

    @property
    def read(self) -> int:
        """Distinct records that were read, those of clients that are left out included."""
        return self.left_out + sum(counts.read for counts in self.counts.values())


@dataclass(slots=True)
class Progress:
    """The sum of the finished pages."""

    lists: dict[tuple[Stage, ListName], ListProgress] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    """Domains of companies, by `company_key`."""
    notices: dict[str, int] = field(default_factory=dict)
    refused_emails: set[str] = field(default_factory=set)
    """Their ids."""

    def page(self, stage: Stage, name: ListName) -> ListProgress:
        """Return the progress of a list in one stage."""
        return self.lists.setdefault((stage, name), ListProgress())

    def add(self, entry: Entry) -> None:
        """Add a finished page."""
        done = self.page(entry.stage, entry.name)
        done.last, done.is_ended = entry.page, entry.is_last
        done.pages = entry.pages or done.pages
        done.count = done.count if entry.count is None else entry.count
        done.is_cut = entry.is_cut
        done.repeated += entry.repeated
        done.left_out += entry.left_out
        for theirs, counts in entry.counts.items():
            sums = done.counts.setdefault(theirs, Counts())
            sums.add(counts)
        self.domains.update(entry.domains)
        if entry.name == EMAILS:
            self.refused_emails.update(one.id for one in entry.refused)
            self.refused_emails.difference_update(entry.accepted)
        for notice, times in entry.notices.items():
            self.notices[notice] = self.notices.get(notice, 0) + times
