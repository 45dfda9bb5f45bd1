"""The recording: four weeks of calls of eight tools about people of a fictitious agency's clients.

`data/lives.jsonl` has what happened to some people of each client: `[seconds before the end, body, step, text]` for each call. A demo with
more people gives each of these lives to several of them. `data/bodies.jsonl` has the bodies, with places for names, numbers and times;
`data/calls.jsonl` all other calls, by their seconds before now; `data/agency.json` the clients, texts and names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from touchbase.common.plain_text import ascii_of
from touchbase.common.timestamps import DAY, SECOND, Micros, from_text, to_text

WEEKS: Micros = 21 * DAY
SILENT: Micros = 26 * 3_600 * SECOND
"""How long the tool that fell silent has not called."""
SILENT_TOOL = ("alder-robotics", "instantly")
SHARES = 20_000
"""Contacts of all clients together, of which an account's `contacts` are shares."""
FEWEST = 6
"""Contacts of a client, whatever their number of all."""
END = from_text("2026-11-29T00:00:00Z")
"""The end of the recording, a Sunday; a replay has the same weekdays and hours."""
JITTER: Micros = 2 * 3_600 * SECOND
"""Time by which the hours of people with the same life differ at most; their lives also begin on other working days of the week."""
REPEAT = "repeat"
"""Expected outcome of a repeat: counted at its first call if that is applied, else stored and ignored (decision 0005)."""
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A recorded request at a time."""

    at: Micros
    target: str
    body: bytes
    expected: str | None = "applied"
    """The state of a webhook's delivery when all is applied, or `REPEAT`; empty: it is refused. None: a request that succeeds."""
    client_id: str = ""
    method: str = "POST"
    media: str = "application/json"


@cache
def agency() -> dict[str, Any]:
    """Return the clients, texts and names."""
    agency: dict[str, Any] = json.loads(_file("agency.json"))
    return agency


def accounts() -> list[dict[str, Any]]:
    """Return the clients in the order of their ids; the console shows the first, so it is the largest."""
    account_list: list[dict[str, Any]] = agency()["accounts"]
    return account_list


@cache
def bodies() -> dict[str, dict[str, Any]]:
    """Return the bodies of webhooks by name: channel, expected state and template."""
    return {line["name"]: line for line in _lines("bodies.jsonl")}


@cache
def lives_of(client: str) -> list[dict[str, Any]]:
    """Return the lives of the recorded people of a client."""
    return [line for line in _lines("lives.jsonl") if line["client"] == client]


def people_of(account: Values, contacts: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a client's companies and people, by their members; `contacts` has all clients' contacts."""
    words, chance = agency()["words"], Random(f"touchbase demo {account['id']}")  # noqa: S311
    count = max(FEWEST, round(account["contacts"] * contacts / SHARES))
    names = [(f"{name} {word}", trade) for name in words["firms"] for trade, trades in words["trades"].items() for word in trades]
    firms = [
        {
            "firm": name,
            "domain": f"{_plain(name)}.example",
            "industry": trade,
            "trade": trade.lower(),
            "employees": chance.choice(words["sizes"]),
        }
        for name, trade in chance.sample(names, min(max(3, count // 7), len(names)))
    ]
    people: list[dict[str, Any]] = []
    taken: set[str] = set()
    for number in range(count):
        firm, first, last = chance.choice(firms), chance.choice(words["first"]), chance.choice(words["last"])
        user = f"{_plain(first)}.{_plain(last)}"
        while f"{user}@{firm['domain']}" in taken:
            user += str(chance.randint(2, 9))
        taken.add(f"{user}@{firm['domain']}")
        linkedin = f"https://www.linkedin.com/in/{_plain(first)}-{_plain(last)}-{_plain(firm['firm'])}-{number}"
        own = {"first": first, "last": last, "name": f"{first} {last}", "email": f"{user}@{firm['domain']}", "linkedin": linkedin}
        country = chance.choices([*words["countries"]], [*words["countries"].values()])[0]
        own |= {"title": chance.choice(words["titles"]), "country": country, "source": chance.choice(words["sources"])}
        people.append({**firm, **own, "number": number, "ten": 10 * number, "score": chance.randint(1, 100)})
    return firms, people


def setup_calls(now: Micros, *, has_secrets: bool) -> list[RecordedCall]:
    """Return the requests that make the clients and their connections, before the three weeks."""
    return [_call(line, {}, now) for line in _calls(has_secrets) if SECOND * line["at"] < -WEEKS]


def calls_of(account: Values, people: Sequence[Values], now: Micros, *, has_secrets: bool = True) -> Iterator[RecordedCall]:
    """Yield all calls about a client's people in three weeks up to now, in no order."""
    lives = lives_of(account["id"])
    chance, end = Random(f"replay of {account['id']}"), now + (END - now) % (7 * DAY)  # noqa: S311
    for place, person in enumerate(people):
        copies, number = divmod(place, len(lives))
        life, shift = lives[number], chance.randint(-JITTER, JITTER)
        begin = datetime.fromtimestamp((end / SECOND) + life["calls"][0][0] if life["calls"] else 0, UTC)
        if copies and begin.weekday() < 5:
            shift += chance.randint(-begin.weekday(), 4 - begin.weekday()) * DAY
        common = {**person, **_own(account, life["campaign"]), "copies": copies, "weekday": f"{begin:%A}"}
        yield from _life(account, life["calls"], common, end + shift, now)
    for line in _calls(has_secrets):
        if line.get("client", SILENT_TOOL[0]) == account["id"] and SECOND * line["at"] >= -WEEKS:
            yield _call(line, {**people[line["person"] % len(people)], **_own(account, 0)} if "person" in line else {}, now)


def _life(account: Values, lines: Sequence[Sequence[Any]], common: Values, end: Micros, now: Micros) -> Iterator[RecordedCall]:
    """Yield the calls about one person in the three weeks; of the silent tool those before it fell silent."""
    before: RecordedCall | None = None
    for seconds, name, *more in lines:
        at, step = end + SECOND * seconds, more[0] if more else 1
        is_silent = account["id"] == SILENT_TOOL[0] and name.startswith(SILENT_TOOL[1])
        if not now - WEEKS < at < (now - SILENT if is_silent else now):
            before = None
        elif name == REPEAT:
            if before is not None:
                yield RecordedCall(at, before.target, before.body, REPEAT)
        elif name == "change":  # a status that a person sets by hand
            body = json.dumps({"email": common["email"], "contact_status": more[1]}).encode()
            yield RecordedCall(at, "/public/v2/contacts?match=email", body, None, account["id"], "PUT")
        else:
            before = _webhook(account["id"], name, at, step, more[1] if len(more) > 1 else "", common)
            yield before


def _webhook(client: str, name: str, at: Micros, step: int, text: str, common: Values) -> RecordedCall:
    template = bodies()[name]
    values = {**common, **_words(name, at, step, text, common)}
    body = json.dumps(_filled(template["body"], values), ensure_ascii=False).encode()
    return RecordedCall(at, f"/public/{template['channel']}-webhook/{client}", body, template["expected"])


def _words(name: str, at: Micros, step: int, text: str, common: Values) -> dict[str, Any]:
    """Return the words for a template of one call."""
    kind, texts, time = name.rpartition(" ")[2], agency()["texts"], to_text(at // 1_000 * 1_000)
    key, plain = text.removesuffix(" quoted"), text
    if key in texts:
        same = [key] if kind == "sent" else [text for text in texts if text.partition(" ")[0] == key.partition(" ")[0]]
        plain = texts[same[(same.index(key) + common.get("copies", 0)) % len(same)]].format_map(common)
    if text.endswith(" quoted"):
        quoted = "\n".join(f"> {line}".rstrip() for line in texts["mail 1"].format_map(common).split("\n"))
        plain = f"{plain}\n\n{common['sender']} <{common['mailbox']}> wrote:\n{quoted}"
    if name == "heyreach replied":
        plain = plain.partition("\n\n")[0]
    html = "".join(f"<p>{part}</p>" for part in plain.replace("&", "&amp;").replace("<", "&lt;").split("\n\n")).replace("\n", "<br>")
    before = "Automatic reply: " if kind == "away" else "Re: " if step > 1 or kind == "replied" else ""
    return {
        "time": time, "bare_time": time.removesuffix("Z"), "ms": at // 1_000, "step": step, "mail": common["ten"] + step, "text": plain,
        "html": html, "preview": plain.partition("\n")[0][:80], "id": f"{common['client']}-{common['number']}-{kind}-{step}",
        "subject": f"{before}{common['firm']} and {common['topic']}",
    }  # fmt: skip


def _own(account: Values, campaign: int) -> dict[str, Any]:
    """Return a client's own words for texts and bodies."""
    first = account["sender"].split()[0]
    return {
        "client": account["id"], "client_name": account["name"], "sender": account["sender"], "sender_first": first,
        "mailbox": f"{first.lower()}@{account['id']}.example", "topic": account["topic"], "offer": account["offer"],
        "campaign": account["campaigns"][campaign], "campaign_id": 40_000 + 100 * len(account["name"]) + campaign,
    }  # fmt: skip


def _filled(template: Any, values: Values) -> Any:
    """Return a template with its places filled: `{name}` in texts; `{"=": name, "+": 5}` is a number."""
    if isinstance(template, str):
        return template.format_map(values) if "{" in template else template
    if isinstance(template, list):
        return [_filled(part, values) for part in template]
    if not isinstance(template, dict):
        return template
    if "=" in template:
        return values[template["="]] + template.get("+", 0)
    return {name: _filled(value, values) for name, value in template.items()}


def _call(line: Values, values: Values, now: Micros) -> RecordedCall:
    """Return one of the other calls."""
    at, expected, client = now + SECOND * line["at"], line.get("expected"), line.get("client", "")
    if "template" in line:
        call = _webhook(client, line["template"], at, line.get("step", 1), "", values)
        body = call.body[: len(call.body) // 2] if line.get("is_cut") else call.body
    else:
        body = line["csv"].encode() if "csv" in line else json.dumps(_filled(line["body"], values) if values else line["body"]).encode()
    return RecordedCall(at, line["path"], body, expected, client, line["method"], "text/csv" if "csv" in line else "application/json")


def _calls(has_secrets: bool) -> Iterator[dict[str, Any]]:
    return (line for line in _lines("calls.jsonl") if line.get("needs_secrets", has_secrets) == has_secrets)


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _file(name).splitlines()]


def _file(name: str) -> str:
    return (files("touchbase.demo") / "data" / name).read_text(encoding="utf-8")


def _plain(text: str) -> str:
    """Return a text's letters and digits without accents, in lower case."""
    return "".join(letter for letter in ascii_of(text) if letter.isalnum())
