"""What happens to people in the demo, before a tool puts it into a body of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from touchbase.common.timestamps import Micros, to_text
from touchbase.demo.agency import Account
from touchbase.demo.people import Person

SENT, OPENED, REPLIED, AWAY, BOUNCED, UNSUBSCRIBED, LABELLED = "sent", "opened", "replied", "away", "bounced", "unsubscribed", "labelled"
INVITED, ACCEPTED, MESSAGED = "invited", "accepted", "messaged"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a campaign tool reports."""

    kind: str
    at: Micros
    account: Account
    person: Person
    campaign: int
    """Its place among the account's."""
    step: int = 1
    subject: str = ""
    text: str = ""
    label: str = ""
    """The status that it stands for."""

    @property
    def time(self) -> str:
        """When, as text, to the millisecond as tools say it."""
        return to_text(self.at // 1_000 * 1_000)

    @property
    def id(self) -> str:
        """A short name of the fact, the same each time."""
        return f"{self.account.id}-{self.person.number}-{self.kind}-{self.step}"

    @property
    def campaign_name(self) -> str:
        """The campaign's name."""
        return self.account.campaigns[self.campaign]

    def as_kind(self, kind: str, at: Micros) -> Fact:
        """Return what follows from it, at another time."""
        return replace(self, kind=kind, at=at, subject="", text="", label="")
