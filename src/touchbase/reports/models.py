"""Rows of reports."""

from __future__ import annotations

from dataclasses import dataclass

CLIENT, CAMPAIGN, TOOL, STEP, LABEL = "client", "campaign", "tool", "step", "label"


@dataclass(slots=True)
class StatusCounts:
    """One status in one interval."""

    number: int
    """The interval's, from 0."""
    status: str | None
    """None: records without a status."""
    records: int = 0
    """Records that have it at the end of the interval."""
    entered: int = 0
    """How often a record got it in the interval."""


@dataclass(slots=True)
class CampaignCounts:
    """Mails and their outcomes, of one group in one interval. People are contacts, each counted once."""

    number: int
    """The interval's, from 0."""
    tool: str | None = None
    campaign: str | None = None
    campaign_id: str | None = None
    step: str | None = None
    label: str | None = None
    mailed: int = 0
    mails: int = 0
    replied: int = 0
    replies: int = 0
    bounced: int = 0
    bounces: int = 0
    unsubscribed: int = 0
    unsubscribes: int = 0
    complained: int = 0
    complaints: int = 0
    mailed_replied: int = 0
    """Of the people mailed here, how many replied after a mail, until now."""

    @property
    def reply_rate(self) -> float | None:
        """The share of mailed people that replied; None if there are none."""
        return round(self.mailed_replied / self.mailed, 4) if self.mailed else None
