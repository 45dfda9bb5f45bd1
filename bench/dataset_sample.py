"""The pattern of a grown store: a few contacts with their histories, made by the service itself through its own interface.

`bench.dataset` multiplies their rows. So the format is whatever the service writes today, and nothing here has to know it.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from bench.interleaving import settle
from bench.load import Address
from bench.server_process import CannotMeasure, as_installed

EVENTS = 10
"""Of each contact."""
HISTORIES = (
    ("new", ("email_sent", "email_opened", "email_link_clicked", "reply_received", "email_sent") * 2),
    ("new", ("email_sent", "email_opened") * 5),
    ("new", ("email_sent", "email_opened", "email_opened", "email_sent", "lead_not_interested") * 2),
    ("lead", ("email_sent", "email_sent", "email_opened", "email_link_clicked", "email_opened") * 2),
    ("won", ("email_opened", "email_link_clicked") * 5),
)
"""The status at creation and what happened afterwards. The last one is rare: one contact of a thousand."""
TABLES = ("company", "contact", "custom_field", "event", "delivery", "delivery_body")
SECONDS_BETWEEN = 60

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """One contact: its rows by table, in the order of their keys, and how many there are of each."""

    number: int
    rows: dict[str, list[Row]]

    @property
    def address(self) -> str:
        """The e-mail address in those rows; that of contact 7 in a grown store has 7 in its place."""
        return address_of(self.number)

    @property
    def domain(self) -> str:
        """The company's domain in those rows."""
        return domain_of(self.number)


def address_of(number: object) -> str:
    return f"k{number}@known.example.com"


def domain_of(number: object) -> str:
    return f"c{number}.example.com"


def make_samples(folder: Path) -> list[Sample]:
    """One of each history."""
    with as_installed(f"sqlite:///{folder}/pattern.db", folder) as running:
        with _client(running.address) as call:
            for number in range(1, len(HISTORIES) + 1):
                _make_history(call, number)
        settle(running)
    store = apsw.Connection(f"{folder}/pattern.db", flags=apsw.SQLITE_OPEN_READONLY)
    with closing(store):
        return [Sample(number, _rows(store, number)) for number in range(1, len(HISTORIES) + 1)]


def webhook(kind: str, address: str, message: str, when: str) -> str:
    """A call of a campaign tool."""
    return (
        f'{{"timestamp":"{when}","event_type":"{kind}","workspace":"11111111-0000-4000-8000-000000000001",'
        '"campaign_id":"22222222-0000-4000-8000-000000000002","campaign_name":"Autumn roofers",'
        f'"lead_email":"{address}","email_account":"sam@example.net","unibox_url":"https://app.example.net/unibox?t=1",'
        f'"firstName":"Nora","lastName":"Quill","step":2,"email_id":"{message}","reply_text":"Tell me more."}}'
    )


def _make_history(call: Any, number: int) -> None:
    """One contact of a company, and what happens with it."""
    status, kinds = HISTORIES[number - 1]
    company = call("/public/v2/companies", json.dumps({"domain": domain_of(number), "name": "Quill and Sons"}))
    custom = [{"field_name": "Seats", "field_value": "40"}, {"field_name": "Team", "field_value": "Sales"}]
    contact = {"email": address_of(number), "first_name": "Nora", "last_name": "Quill", "company_id": company["id"], "origin": "import"}
    call("/public/v2/contacts", json.dumps(contact | {"contact_status": status, "contact_custom_fields_input": custom}))
    began = time.time() + 1
    for place, kind in enumerate(kinds):
        when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(began + place * SECONDS_BETWEEN))
        call("/public/emailcampaign-webhook/default", webhook(kind, address_of(number), f"mail-{place}", when))


@contextmanager
def _client(address: Address) -> Iterator[Any]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=10)

    def call(path: str, body: str) -> Any:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status // 100 != 2:
            raise CannotMeasure(f"{path} was answered {answer.status}: {said.decode()}")
        return json.loads(said) if said else None

    with closing(connection):
        yield call


def _rows(store: apsw.Connection, number: int) -> dict[str, list[Row]]:
    (contact, company) = store.execute("SELECT id, company_id FROM contact WHERE email = ?", (address_of(number),)).fetchall()[0]
    deliveries = "(SELECT delivery_id FROM event WHERE record_kind = 1 AND record_id = :contact)"
    wheres = {
        "company": "id = :company",
        "contact": "id = :contact",
        "custom_field": "record_kind = 1 AND record_id = :contact",
        "event": "record_kind = 1 AND record_id = :contact",
        "delivery": f"id IN {deliveries}",
        "delivery_body": f"id IN {deliveries}",
    }
    return {table: _all(store, f"SELECT * FROM {table} WHERE {wheres[table]}", contact, company) for table in TABLES}


def _all(store: apsw.Connection, sql: str, contact: int, company: int) -> list[Row]:
    cursor = store.execute(sql, {"contact": contact, "company": company})
    rows = []
    for row in cursor:
        rows.append({column[0]: value for column, value in zip(cursor.get_description(), row, strict=True)})
    return rows
