"""Rules that ignore webhooks: entries of a connection's settings, each with a name, its author, and a count of what it ignored."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from touchbase.audit import audited
from touchbase.common.timestamps import Micros
from touchbase.connections.models import ConnectionSettings, ignoring_entries
from touchbase.history.events import Author
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, digest, names
from touchbase.sql.statement import Execute, Plan, Select, Statement, delete

_KEY: Columns = (("client", "bigint"), ("channel", "text"), ("tool", "text"), ("rule", "text"))
_SAME = "t.client = p.client AND t.channel = p.channel AND t.tool = p.tool AND t.rule = p.rule"
_ON = "ON CONFLICT (client, channel, tool, rule) DO UPDATE SET"
_BEGIN: Columns = (*_KEY, ("name", "text"), ("author", "text"), ("created_us", "bigint"))
_BEGIN_RULE = Statement(
    "begin_ignore_rule",
    _BEGIN,
    body=f"INSERT INTO ignore_rule ({names(_BEGIN)}, ignored) SELECT {names(_BEGIN, 'p.')}, 0 FROM p WHERE true {_ON} "
    "name = CASE WHEN excluded.name = '' THEN ignore_rule.name ELSE excluded.name END, author = excluded.author, "
    "created_us = excluded.created_us, ended_us = NULL, ignored = 0, last_us = NULL",
)
_END_RULE = Statement(
    "end_ignore_rule",
    (*_KEY, ("ended_us", "bigint")),
    body=f"UPDATE ignore_rule AS t SET ended_us = p.ended_us FROM p WHERE {_SAME}",
)
_NAME_RULE = Statement(
    "name_ignore_rule",
    (*_KEY, ("name", "text")),
    body="INSERT INTO ignore_rule (client, channel, tool, rule, name, ignored) SELECT p.client, p.channel, p.tool, p.rule, p.name, 0 "
    f"FROM p WHERE true {_ON} name = excluded.name",
)
# A replay of what the rule has ignored already counts nothing.
_COUNT_IGNORED = Statement(
    "count_ignored",
    (*_KEY, ("received_us", "bigint"), ("before_us", "bigint")),
    body="INSERT INTO ignore_rule (client, channel, tool, rule, name, ignored, last_us) SELECT p.client, p.channel, p.tool, p.rule, "
    "'', count(*), max(p.received_us) FROM p LEFT JOIN ignore_rule r ON r.client = p.client AND r.channel = p.channel AND r.tool = p.tool "
    "AND r.rule = p.rule WHERE p.before_us < COALESCE(r.created_us, 0) GROUP BY p.client, p.channel, p.tool, p.rule "
    f"{_ON} ignored = ignore_rule.ignored + excluded.ignored, "
    "last_us = CASE WHEN ignore_rule.last_us > excluded.last_us THEN ignore_rule.last_us ELSE excluded.last_us END",
)
_FORGET_RULES = delete("forget_ignore_rules", "ignore_rule", _KEY[:3])
Ignored = tuple[str, str, str, Micros, Micros | None]
"""Channel, tool and rule of an ignored delivery, its receipt, and when it was applied before."""


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """An entry of a connection's settings that ignores webhooks."""

    channel: str
    tool: str
    rule: str
    name: str
    """Blank: none was given."""
    author: str | None
    created_us: Micros | None
    ignored: int
    last_us: Micros | None

    @property
    def id(self) -> str:
        """The rule in a path: its settings' key may have any character."""
        return digest(f"{self.channel}/{self.tool}/{self.rule}")


def ignored_by(rule: str) -> str:
    """Return the error of deliveries that a rule has ignored."""
    return f"ignored by the rule {rule}"


def count_ignored(client: int, ignored: Iterable[Ignored]) -> Plan[None]:
    """Count deliveries that rules have ignored."""
    rows = sorted((client, *key, received, -1 if before is None else before) for *key, received, before in ignored)
    if rows:
        yield Execute(_COUNT_IGNORED, rows)


def note_ignore_rules(
    key: tuple[int, str, str], before: ConnectionSettings, settings: ConnectionSettings, at: Micros, by: Author, name: str = ""
) -> Plan[None]:
    """Begin the rules that a connection's settings have now, and end those that they no longer have."""
    former, now = set(ignoring_entries(before)), set(ignoring_entries(settings))
    if now - former:
        yield Execute(_BEGIN_RULE, [(*key, rule, name, by.key_id or "", at) for rule in sorted(now - former)])
    if former - now:
        yield Execute(_END_RULE, [(*key, rule, at) for rule in sorted(former - now)])


def forget_ignore_rules(key: tuple[int, str, str]) -> Plan[None]:
    """Forget the rules of a connection that is removed."""
    yield Execute(_FORGET_RULES, [key])


@command(follow_up=audited("connection.changed", "connection", lambda call, _: f"{call.rule.channel}/{call.rule.tool}"))
def name_ignore_rule(client: int, rule: IgnoreRule, name: str) -> Plan[None]:
    """Give a rule another name; blank: none."""
    yield Execute(_NAME_RULE, [(client, rule.channel, rule.tool, rule.rule, name)])


@query
def list_ignore_rules(client: int, ignoring: Collection[tuple[str, str, str]]) -> Plan[list[IgnoreRule]]:
    """The rules of these entries of the settings of a client's connections: channel, tool and entry."""
    sql = "SELECT channel, tool, rule, name, author, created_us, ignored, last_us FROM ignore_rule WHERE client = ? AND ended_us IS NULL"
    rows = {(row[0], row[1], row[2]): IgnoreRule(*row) for row in (yield Select(sql, (client,)))}
    return [rows.get(key) or IgnoreRule(*key, "", None, None, 0, None) for key in sorted(ignoring)]
