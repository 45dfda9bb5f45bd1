"""The page of a report link: numbers of one client, without people, other clients and scripts.

It is read without a key, so texts that are no link are counted as failed keys, and readers share the limits of the client's requests.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from html import escape
from typing import TypeAlias
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from touchbase.clients.models import Client
from touchbase.common.asgi import peer_of
from touchbase.common.cache import Cache
from touchbase.common.timestamps import EPOCH, Micros, is_zone, to_text
from touchbase.errors import InvalidKey, RateLimited, TouchbaseError
from touchbase.http.dependencies import AppKey
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import Parameters
from touchbase.http.responses import Response
from touchbase.http.routing import Route
from touchbase.reports.api.parameters import edges_before
from touchbase.reports.campaigns import report_campaigns
from touchbase.reports.intervals import DAY, begin_of, edges_of
from touchbase.reports.models import CAMPAIGN, CLIENT, LABEL, STEP, CampaignCounts
from touchbase.reports.parts import TooManyMessages

PATH = "/report/{token}"
PERIODS = (7, 30, 90, 365)
USUAL_DAYS = 30
MOST_ROWS = 366
"""Rows of one table."""
MOST_WEEKENDS = 90
"""Days up to which weekends are shaded."""
FRIDAY = 4
COLUMNS = ("Emailed", "Replied", "Reply rate", "Bounced", "Unsubscribed")
Earlier: TypeAlias = Callable[[CampaignCounts], CampaignCounts]
"""Returns the row of the period before."""
STYLE = """
:root { color-scheme: light dark; --ink: #1c1f24; --soft: #616b77; --line: #d9dde3; --ground: #fff; --blue: #2f62c9; --green: #18794e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --soft: #98a1ac; --line: #33383f; --ground: #15171a; --blue: #7ba4ff; --green: #4cc38a; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 14px/20px system-ui, sans-serif; }
main { max-width: 880px; margin: 0 auto; padding: 24px 16px 48px; }
h1 { font-size: 20px; line-height: 28px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 16px; line-height: 24px; margin: 32px 0 8px; }
p, .soft { color: var(--soft); margin: 0; }
nav { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 16px 0; }
a { color: var(--blue); display: inline-block; padding: 4px 0; }
a[aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr)); gap: 16px; margin: 16px 0; }
dt { color: var(--soft); }
dd { margin: 0; font-size: 28px; line-height: 36px; font-weight: 600; font-variant-numeric: tabular-nums; }
dd.then { color: var(--soft); font-size: 12px; line-height: 16px; font-weight: 400; }
small { color: var(--soft); }
svg { display: block; width: 100%; height: 96px; margin-bottom: 8px; border-bottom: 1px solid var(--line); }
svg + p { margin-bottom: 16px; }
.mailed { fill: var(--blue); } .replied { fill: var(--green); } .weekend { fill: var(--line); opacity: .4; }
polyline { fill: none; stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 4 3; vector-effect: non-scaling-stroke; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 8px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 500; color: var(--soft); } tbody th { color: var(--ink); white-space: normal; overflow-wrap: anywhere; min-width: 104px; }
.end { margin-top: 24px; }
th:first-child { text-align: left; }
summary { cursor: pointer; padding: 4px 0; }
"""
_STYLE_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
HEADERS = [
    (
        b"content-security-policy",
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'".encode(),
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"x-robots-tag", b"noindex, nofollow"),
]


@dataclass(frozen=True, slots=True)
class ReportContent:
    """Rows of the reports of one period."""

    edges: Sequence[Micros]
    by: dict[str, list[CampaignCounts]]
    """The first `MOST_ROWS` rows by group."""
    before: dict[str, dict[Hashable, CampaignCounts]]
    """Rows of the period before by group, by what names them."""
    more: dict[str, int]
    """By group, how many rows are left out."""
    left_out: Collection[str]
    """Groups of which the period, or the one before, has too many events."""

    def earlier(self, group: str) -> Earlier:
        """Return what finds the row of the period before."""
        return lambda row: self.before[group].get(_name_of(row), CampaignCounts(0))


REPORT_CONTENTS: AppKey[Cache[tuple[int, int, str], ReportContent]] = AppKey()
"""Contents of pages by client, days and zone, so that many readers cost one count a minute."""


async def report_page(call: Call) -> Response:
    """`GET` of the page; a link that has ended is a 410, another text a 404."""
    try:
        return await _page(call)
    except InvalidKey as error:
        return _response(404, "No report here", _message("No report here", error.detail))
    except RateLimited as error:
        response = _response(429, "Too many requests", _message("Too many requests", f"Try again in {error.retry_after} s."))
        response.headers.append((b"retry-after", str(error.retry_after).encode()))
        return response
    except TouchbaseError as error:
        return _response(error.status, "Not available", _message("This report is not available now", error.detail))


async def _page(call: Call) -> Response:
    api, now = call.api, call.api.dependencies.clock()
    link, client = await api.authenticator.report_link(str(call.scope["path_params"]["token"]), peer_of(call.scope))
    if client is None:
        return _response(410, "The link has ended", _message("This link has ended", "Ask whoever gave it to you for another one."))
    api.limiter.request(client, link.key_id, now)
    api.begin(client.number, call.scope)
    query = Parameters(call.query)
    days_text, zone = query.text("days") or "", query.text("zone") or "UTC"
    days = int(days_text) if days_text in map(str, PERIODS) else USUAL_DAYS
    zone = zone if is_zone(zone) else "UTC"
    cache, key = api[REPORT_CONTENTS], (client.number, days, zone)
    content = cache.get(key, now) or await cache.read(key, lambda: _content(call, client.number, days, zone, now))
    assert content is not None
    name = client.name or "Report"
    return _response(200, name, _report(client, content, days, zone, link.expires_us or now))


async def _content(call: Call, client: int, days: int, zone: str, now: Micros) -> ReportContent:
    edges = edges_of(begin_of(now - 1, DAY, zone, days - 1), now, DAY, zone)
    store, whole = call.api.dependencies.store, [edges[0], edges[-1]]
    by: dict[str, list[CampaignCounts]] = {}
    before: dict[str, dict[Hashable, CampaignCounts]] = {}
    left_out: set[str] = set()
    for group in (CLIENT, CAMPAIGN, STEP, LABEL, DAY):
        now_edges, interval = (edges, DAY) if group == DAY else (whole, None)
        by[group], earlier = [], []
        try:
            by[group] = await report_campaigns(store, client, now_edges, {group}, zone, now)
            earlier = await report_campaigns(store, client, edges_before(now_edges, interval, zone), {group}, zone, now)
        except TooManyMessages:
            left_out.add(group)
        before[group] = {_name_of(row): row for row in earlier}
    by[CAMPAIGN].sort(key=lambda row: -row.mailed)
    cut = {group: rows[:MOST_ROWS] for group, rows in by.items()}
    return ReportContent(edges, cut, before, {group: len(rows) - len(cut[group]) for group, rows in by.items()}, left_out)


def _name_of(row: CampaignCounts) -> Hashable:
    """Return what a row of one period has in common with the same one of another."""
    return row.number, row.tool, row.campaign_id or row.campaign, row.step, row.label


def _report(client: Client, content: ReportContent, days: int, zone: str, ends: Micros) -> str:
    dates = [(EPOCH + timedelta(microseconds=edge)).astimezone(ZoneInfo(zone)) for edge in content.edges]
    total, earlier = (next(iter(rows), CampaignCounts(0)) for rows in (content.by[CLIENT], content.before[CLIENT].values()))
    figures = zip(COLUMNS, _values(total), _values(earlier), strict=True)
    links = "".join(
        f'<a href="?{escape(urlencode({"days": period, "zone": zone}))}"{" aria-current=page" if period == days else ""}>{period} days</a>'
        for period in PERIODS
    )
    by_day = {row.number: row for row in content.by[DAY]}

    def many(group: str) -> str:
        return "<p>Too many events in this time: choose a shorter one.</p>" if group in content.left_out else ""

    rows = [by_day.get(number) or CampaignCounts(number) for number in range(len(dates) - 1)]
    return (
        f"<h1>{escape(client.name or 'Report')}</h1>"
        f"<p>{_date(dates[0])} to {_date(dates[-1])}, {escape(zone)}</p><nav aria-label=Period>{links}</nav>"
        f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{value}</dd><dd class=then>{old} before</dd></div>' for name, value, old in figures)}</dl>"
        f"<h2>By day</h2>{_chart(rows, content.earlier(DAY), 'mailed', 'people emailed', dates)}"
        f"{_chart(rows, content.earlier(DAY), 'replied', 'people who replied', dates)}"
        f"<p>Hatched: today, until now. Dashed line: the {days} days before.{' Grey: weekends.' if days <= MOST_WEEKENDS else ''}</p>"
        f"<details><summary>All days</summary>{_table('Day', rows, content.earlier(DAY), lambda row: _date(dates[row.number]))}</details>"
        f"<h2>By campaign</h2>{_table('Campaign', content.by[CAMPAIGN], content.earlier(CAMPAIGN), _campaign, content.more[CAMPAIGN])}"
        f"<h2>By step</h2>{many(STEP) or _table('Step', content.by[STEP], content.earlier(STEP), _step, content.more[STEP])}"
        f"<h2>Replies by label</h2>{many(LABEL) or _table('Label', content.by[LABEL], content.earlier(LABEL), _label)}"
        f"<p class=end>People count once in a row. In brackets: the {days} days before. This link ends on {to_text(ends)[:10]}.</p>"
    )


def _step(row: CampaignCounts) -> str | None:
    return row.step and f"Step {row.step}"


def _label(row: CampaignCounts) -> str | None:
    return row.label and row.label.replace("_", " ").capitalize()


def _campaign(row: CampaignCounts) -> str:
    return f"{row.campaign or row.campaign_id or 'No campaign named'} ({row.tool})"


def _date(at: datetime) -> str:
    return f"{at.day} {at:%b %Y}"


def _rate(row: CampaignCounts) -> str:
    return "-" if row.reply_rate is None else f"{row.reply_rate:.1%}"


def _values(row: CampaignCounts) -> Sequence[str]:
    return f"{row.mailed:,}", f"{row.replied:,}", _rate(row), f"{row.bounced:,}", f"{row.unsubscribed:,}"


def _chart(rows: Sequence[CampaignCounts], then: Earlier, member: str, what: str, dates: Sequence[datetime]) -> str:
    values, earlier = [getattr(row, member) for row in rows], [getattr(then(row), member) for row in rows]
    most, step, today = max(*values, *earlier, 1), 720 / len(values), len(values) - 1
    hatched = f'fill="url(#today-{member})"'
    weekends = "".join(
        f'<rect class=weekend x="{n * step:.1f}" width="{step:.1f}" height=96 />'
        for n in range(len(values))
        if dates[n].weekday() > FRIDAY and len(values) <= MOST_WEEKENDS
    )
    bars = "".join(
        f'<rect {hatched if n == today else f"class={member}"} x="{n * step + step * 0.1:.1f}" '
        f'y="{96 - 92 * value / most:.1f}" width="{step * 0.8:.1f}" height="{92 * value / most:.1f}">'
        f"<title>{_date(dates[n])}: {value:,} {what}, {earlier[n]:,} before</title></rect>"
        for n, value in enumerate(values)
        if value
    )
    line = " ".join(f"{(n + 0.5) * step:.1f},{96 - 92 * value / most:.1f}" for n, value in enumerate(earlier))
    hatch = (
        f'<pattern id=today-{member} width=4 height=4 patternUnits=userSpaceOnUse patternTransform="rotate(45)">'
        f"<rect class={member} width=2 height=4 /></pattern>"
    )
    label = f"{sum(values):,} {what} by day, at most {max(values):,}"
    return (
        f'<svg viewBox="0 0 720 96" preserveAspectRatio=none role=img aria-label="{label}">{hatch}{weekends}{bars}'
        f'<polyline points="{line}" /></svg><p>{what.capitalize()}</p>'
    )


def _table(head: str, rows: Sequence[CampaignCounts], then: Earlier, name: Callable[[CampaignCounts], str | None], more: int = 0) -> str:
    if not rows:
        return "<p>None in this time.</p>"
    chosen = slice(1, 2) if head == "Label" else slice(None)
    body = ""
    for row in rows:
        cells = zip(_values(row)[chosen], _values(then(row))[chosen], strict=True)
        numbers = "".join(f"<td>{value} <small>({old})</small></td>" for value, old in cells)
        body += f"<tr><th scope=row>{escape(name(row) or 'Not known')}</th>{numbers}</tr>"
    heads = "".join(f"<th scope=col>{column}</th>" for column in (head, *COLUMNS[chosen]))
    left_out = f"<p>{more:,} more rows are not shown.</p>" if more else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class=scroll tabindex=0 role=region aria-label="By {head.lower()}">{table}</div>{left_out}'


def _message(title: str, detail: str) -> str:
    return f"<h1>{escape(title)}</h1><p>{escape(detail[:1].upper() + detail[1:])}</p>"


def _response(status: int, title: str, content: str) -> Response:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>{content}</main></body></html>"
    )
    return Response(status, page.encode(), b"text/html; charset=utf-8", [*HEADERS])


ROUTES = [Route("GET", PATH, report_page, scope="")]
