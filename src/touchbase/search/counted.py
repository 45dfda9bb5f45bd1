"""People that a report counts, as a filter of contacts: `replied;since=2026-11-01T00:00:00Z;until=2026-11-08T00:00:00Z;step=2`.

The expressions for campaign, step and label are those by which reports group, so that a list has the rows of its number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from touchbase.common.field_limits import InvalidText, why_not_storable
from touchbase.common.timestamps import EARLIEST, LATEST, SECOND, Micros
from touchbase.history.status import BOUNCE, COMPLAINT, REPLY, SENT, UNSUBSCRIBE

NAME = "counted"
MAILED_REPLIED = "mailed_replied"
PEOPLE: Mapping[str, str] = {
    "mailed": SENT, "replied": REPLY, MAILED_REPLIED: SENT, "bounced": BOUNCE, "unsubscribed": UNSUBSCRIBE, "complained": COMPLAINT,
}  # fmt: skip
"""Members of reports that count people -> the effect of the events that they count."""
GROUPS = ("tool", "campaign", "step", "label")
_USAGE = (
    f"must be one of {', '.join(PEOPLE)}, then parts separated by semicolons: since=TIME, until=TIME, "
    f"{', '.join(f'{group}=VALUE' for group in GROUPS)}; blank values are of rows without one, and % and ; are written %25 and %3B"
)

CAMPAIGN = "COALESCE({0}.campaign_id, {0}.campaign)"
"""Identifier of an event's campaign within its tool."""
LABEL = (
    "COALESCE((SELECT v.label FROM conversation v WHERE v.client = {0}.client AND v.contact_id = {0}.record_id), "
    "(SELECT m.label FROM message m WHERE m.client = {0}.client AND m.occurred_us = {0}.occurred_us AND m.event_key = {0}.key))"
)
"""Label of a reply: a person's choice, else that of the tool's category."""
_OWN_STEP = "(SELECT m.step FROM message m WHERE m.client = {0}.client AND m.occurred_us = {0}.occurred_us AND m.event_key = {0}.key)"
_LAST_STEP = (
    "(SELECT m.step FROM event l JOIN message m ON m.client = l.client AND m.occurred_us = l.occurred_us AND m.event_key = l.key "
    "WHERE l.client = {0}.client AND l.record_kind = 1 AND l.record_id = {0}.record_id AND l.occurred_us <= {0}.occurred_us "
    "AND l.effect = 'sent' AND l.tool = {0}.tool AND m.step IS NOT NULL ORDER BY l.occurred_us DESC, l.key DESC LIMIT 1)"
)


def step_of(event: str, effect: str) -> str:
    """Return the expression for the step of an event: its own, else that of the last mail of its tool to the person before it."""
    own = _OWN_STEP.format(event)
    return own if effect == SENT else f"COALESCE({own}, {_LAST_STEP.format(event)})"


def key_of(group: str, event: str, effect: str) -> str:
    """Return the expression by which a report groups events of an effect."""
    if group == "step":
        return step_of(event, effect)
    return {"tool": "{0}.tool", "campaign": CAMPAIGN, "label": LABEL}[group].format(event)


@dataclass(frozen=True, slots=True)
class Counted:
    """The people of one number of a report."""

    people: str
    """One of `PEOPLE`."""
    since: Micros = EARLIEST
    until: Micros = LATEST + SECOND
    groups: tuple[tuple[str, str], ...] = field(default=())
    """Groups of the row with their values; blank: it has none."""

    def candidates(self) -> tuple[str, tuple[object, ...]]:
        """Return a condition on events `e` of which each person has one, and its parameters: tools and times only, for an index."""
        if self.people == MAILED_REPLIED:  # few reply
            return f"e.record_kind = 1 AND e.effect = '{REPLY}' AND e.occurred_us >= ?", (self.since,)
        times = "e.occurred_us >= ? AND e.occurred_us < ?"
        return f"e.record_kind = 1 AND e.effect = '{PEOPLE[self.people]}' AND {times}", (self.since, self.until)

    def condition(self, params: list[object]) -> str:
        """Return the condition that the contact `t` is one of the people, and append its parameters."""
        params += (self.since, self.until)
        sql = (
            f"EXISTS (SELECT 1 FROM event e WHERE e.client = t.client AND e.record_kind = 1 AND e.record_id = t.id "
            f"AND e.effect = '{PEOPLE[self.people]}' AND e.occurred_us >= ? AND e.occurred_us < ?{self._same('e', SENT, params)}"
        )
        if self.people == MAILED_REPLIED:
            sql += (
                " AND EXISTS (SELECT 1 FROM event r WHERE r.client = t.client AND r.record_kind = 1 AND r.record_id = t.id "
                f"AND r.effect = '{REPLY}' AND r.occurred_us >= e.occurred_us{self._same('r', REPLY, params)})"
            )
        return sql + ")"

    def _same(self, event: str, effect: str, params: list[object]) -> str:
        effect = effect if self.people == MAILED_REPLIED else PEOPLE[self.people]
        sql = ""
        for group, value in self.groups:
            key = key_of(group, event, effect)
            sql += f" AND {key} = ?" if value else f" AND {key} IS NULL"
            params += [value] if value else []
        return sql


def read_counted(text: str, time: Callable[[str], Micros]) -> Counted:
    """Read the filter's value; raises `InvalidText`. `time` reads a time or a span until now."""
    people, *parts = text.split(";")
    pairs = [part.partition("=") for part in parts]
    names = [name.strip() for name, _, _ in pairs]
    known = ("since", "until", *GROUPS)
    if people.strip() not in PEOPLE or any(name not in known for name in names) or len(set(names)) != len(names):
        raise InvalidText("choice", _USAGE)
    values = {name: unquote(value).strip() for name, (_, _, value) in zip(names, pairs, strict=True)}
    if any(why_not_storable(value) is not None for value in values.values()):
        raise InvalidText("unusable_text", "has characters that no stored value has")
    if "label" in values and people.strip() != "replied":
        raise InvalidText("choice", "only replies have labels; send replied;label=interested")
    times = {name: time(values[name].replace(" ", "+")) for name in ("since", "until") if name in values}
    return Counted(people.strip(), **times, groups=tuple((group, values[group]) for group in GROUPS if group in values))
