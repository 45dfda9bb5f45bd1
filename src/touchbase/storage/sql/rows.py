"""Rows to records and back: the one place that knows the order of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from touchbase.domain.api_key import ApiKey
from touchbase.domain.client import DELETING, Client, ClientSettings, Deletion
from touchbase.domain.company import Company
from touchbase.domain.connection import Connection, ConnectionSettings
from touchbase.domain.contact import Contact
from touchbase.domain.custom_field import CustomField
from touchbase.domain.delivery import Delivery
from touchbase.domain.events import Detail, StoredEvent
from touchbase.domain.stamps import Stamps
from touchbase.storage.sql.op import Row

Columns = tuple[tuple[str, str], ...]

_STATUS: Columns = (
    ("initial_status", "text"), ("status", "text"), ("previous_status", "text"), ("status_changed_us", "bigint"),
    ("status_entry_us", "bigint"), ("status_entry_key", "text"), ("status_cause", "text"),
)  # fmt: skip
CONTACT: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("created_us", "bigint"), ("updated_us", "bigint"), ("email", "text"),
    ("email_key", "text"), ("linkedin_url", "text"), ("linkedin_key", "text"), ("first_name", "text"),
    ("last_name", "text"), ("company_id", "bigint"), ("origin", "text"), ("from_api", "bigint"), *_STATUS,
    ("first_sent_us", "bigint"), ("last_sent_us", "bigint"), ("last_reply_us", "bigint"), ("stamps", "text"),
)  # fmt: skip
COMPANY: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("created_us", "bigint"), ("updated_us", "bigint"), ("domain", "text"),
    ("name", "text"), ("from_api", "bigint"), *_STATUS, ("stamps", "text"),
)  # fmt: skip
CUSTOM_FIELD: Columns = (
    ("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("name", "text"), ("id", "bigint"),
    ("value", "text"), ("updated_us", "bigint"), ("priority", "bigint"), ("stamped_us", "bigint"), ("stamp_key", "text"),
    ("created_us", "bigint"),
)  # fmt: skip
EVENT: Columns = (
    ("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("occurred_us", "bigint"), ("key", "text"),
    ("event", "text"), ("effect", "text"), ("status", "text"), ("tool", "text"), ("channel", "text"), ("campaign", "text"),
    ("delivery_id", "bigint"), ("received_us", "bigint"), ("via", "bigint"), ("detail", "text"),
)  # fmt: skip
DELIVERY: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("channel", "text"), ("state", "text"), ("received_us", "bigint"), ("tool", "text"),
    ("attempts", "bigint"), ("repeats", "bigint"), ("error", "text"), ("applied_us", "bigint"), ("next_attempt_us", "bigint"),
    ("size", "bigint"), ("verified", "bigint"), ("duplicate_of", "bigint"), ("dated", "bigint"), ("problems", "text"), ("key", "bytea"),
)  # fmt: skip

CONNECTION: Columns = (
    ("client", "bigint"), ("channel", "text"), ("tool", "text"), ("created_us", "bigint"), ("updated_us", "bigint"),
    ("secrets", "text"), ("settings", "text"), ("access_token", "text"), ("secrets_since_us", "bigint"),
)  # fmt: skip

CLIENT: Columns = (
    ("id", "bigint"), ("client_id", "text"), ("created_us", "bigint"), ("settings", "text"), ("name", "text"), ("state", "text"),
    ("state_us", "bigint"), ("removed", "bigint"), ("rows_total", "bigint"), ("made_by", "text"),
)  # fmt: skip
KEY: Columns = (
    ("key_id", "text"), ("digest", "bytea"), ("scopes", "text"), ("client", "bigint"), ("name", "text"), ("created_us", "bigint"),
    ("env", "text"), ("expires_us", "bigint"), ("revoked_us", "bigint"), ("last_used_us", "bigint"), ("replaces", "text"),
    ("replaced_by", "text"),
)  # fmt: skip


def names(columns: Sequence[tuple[str, str]], prefix: str = "") -> str:
    """The columns' names as SQL lists them: `a, b, c`, or `t.a, t.b, t.c`."""
    return ", ".join(prefix + name for name, _ in columns)


def client_names(table: str = "client") -> str:
    """What `client_of` reads of this table; last, whether the client has erased somebody, so that nobody else pays for asking."""
    return f"{names(CLIENT, f'{table}.')}, EXISTS (SELECT 1 FROM erased e WHERE e.client = {table}.id)"


def _encode(value: object) -> str:
    return msgspec.json.encode(value).decode()


_decode_stamps = msgspec.json.Decoder(dict[str, tuple[int, int, str]]).decode
_decode_detail = msgspec.json.Decoder(dict[str, Any]).decode
_decode_problems = msgspec.json.Decoder(dict[str, str]).decode
_decode_headers = msgspec.json.Decoder(dict[str, str]).decode
_decode_settings = msgspec.json.Decoder(ClientSettings).decode
_decode_secrets = msgspec.json.Decoder(list[str]).decode
_decode_connection_settings = msgspec.json.Decoder(ConnectionSettings).decode


def _stamps(text: str | None) -> Stamps:
    return {} if text is None else _decode_stamps(text)


def _stamps_text(stamps: Stamps) -> str | None:
    return _encode(stamps) if stamps else None


# A starred row has a length that types cannot know; the tables and the classes list the same columns.
_contact: Callable[..., Contact] = Contact
_company: Callable[..., Company] = Company
_event: Callable[..., StoredEvent] = StoredEvent
_delivery: Callable[..., Delivery] = Delivery


def contact_of(row: Row) -> Contact:
    """A contact, without its custom fields."""
    return _contact(*row[:12], bool(row[12]), *row[13:-1], _stamps(row[-1]))


def contact_row(c: Contact) -> Row:
    """The contact's row, in the order of `CONTACT`."""
    return (
        c.client, c.id, c.created_us, c.updated_us, c.email, c.email_key, c.linkedin_url, c.linkedin_key, c.first_name,
        c.last_name, c.company_id, c.origin, int(c.from_api), c.initial_status, c.status, c.previous_status,
        c.status_changed_us, c.status_entry_us, c.status_entry_key, c.status_cause, c.first_sent_us, c.last_sent_us,
        c.last_reply_us, _stamps_text(c.stamps),
    )  # fmt: skip


def company_of(row: Row) -> Company:
    """A company, without its custom fields."""
    return _company(*row[:6], bool(row[6]), *row[7:-1], _stamps(row[-1]))


def company_row(c: Company) -> Row:
    """The company's row, in the order of `COMPANY`."""
    return (
        c.client, c.id, c.created_us, c.updated_us, c.domain, c.name, int(c.from_api), c.initial_status, c.status,
        c.previous_status, c.status_changed_us, c.status_entry_us, c.status_entry_key, c.status_cause, _stamps_text(c.stamps),
    )  # fmt: skip


def custom_field_of(row: Row) -> CustomField:
    """One custom field of a `CUSTOM_FIELD` row; whose it is stands in the first three columns."""
    return CustomField(row[4], row[3], row[5], row[6], row[7], row[8], row[9], row[10])


def custom_field_row(client: int, kind: int, record_id: int, f: CustomField) -> Row:
    """The field's row, in the order of `CUSTOM_FIELD`."""
    return (client, kind, record_id, f.name, f.id, f.value, f.updated_us, f.priority, f.stamped_us, f.stamp_key, f.created_us)


def event_of(row: Row) -> StoredEvent:
    """One event of an `EVENT` row."""
    return _event(*row[1:14], _decode_detail(row[14]) if row[14] != "{}" else {})


def event_row(client: int, e: StoredEvent) -> Row:
    """The event's row, in the order of `EVENT`."""
    return (
        client, e.record_kind, e.record_id, e.occurred_us, e.key, e.event, e.effect, e.status, e.tool, e.channel, e.campaign,
        e.delivery_id, e.received_us, e.via, _encode(e.detail) if e.detail else "{}",
    )  # fmt: skip


def detail_text(detail: Detail) -> str:
    """An event's detail as it is stored: JSON."""
    return _encode(detail)


def headers_of(text: bytes | None) -> dict[str, str]:
    """The headers of a call, as they are stored."""
    return _decode_headers(text or b"{}")


def delivery_of(row: Row) -> Delivery:
    """A delivery of a row (client_id, then `DELIVERY` without key), optionally followed by query, headers, body, why gone, when."""
    made = _delivery(row[1], row[0], *row[2:16], _decode_problems(row[16]) if row[16] else {})
    if made.verified is not None:
        made.verified = bool(made.verified)
    if len(row) > 17:
        made.query, made.headers, made.body = row[17], headers_of(row[18]), row[19] or b""
    if len(row) > 20:
        made.body_gone, made.body_gone_us = row[20:22]
    return made


def connection_of(row: Row) -> Connection:
    """A connection of a `CONNECTION` row."""
    client, channel, tool, created_us, updated_us, secrets, settings, token, guarded_us = row
    decoded = _decode_secrets(secrets), _decode_connection_settings(settings)
    return Connection(client, channel, tool, created_us, updated_us, *decoded, token, guarded_us)


def connection_row(c: Connection) -> Row:
    """The connection's row, in the order of `CONNECTION`."""
    texts = secrets_text(c.secrets), settings_text(c.settings), c.access_token
    return (c.client, c.channel, c.tool, c.created_us, c.updated_us, *texts, c.updated_us if c.secrets else None)


def secrets_text(secrets: Sequence[str]) -> str:
    """Secrets as they are kept: JSON."""
    return _encode(list(secrets))


def problems_text(problems: Mapping[str, str]) -> str | None:
    """Problems as they are stored: JSON, or NULL for none."""
    return _encode(problems) if problems else None


def client_of(row: Row) -> Client:
    """A client of a row that begins with `client_names`."""
    number, client_id, created_us, settings, name, state, state_us, removed, total, made_by, has_erased = row[:11]
    deletion = Deletion(state_us, removed, total) if state == DELETING else None
    return Client(number, client_id, created_us, _decode_settings(settings), name, state, deletion, bool(has_erased), made_by)


def key_of(row: Row) -> ApiKey:
    """An API key of a `KEY` row."""
    key_id, digest, scopes, *rest = row
    return ApiKey(key_id, bytes(digest), tuple(_decode_secrets(scopes)), *rest)


def key_row(k: ApiKey) -> Row:
    """The key's row, in the order of `KEY`."""
    return (
        k.key_id, k.digest, _encode(list(k.scopes)), k.client, k.name, k.created_us, k.env, k.expires_us, k.revoked_us,
        k.last_used_us, k.replaces, k.replaced_by,
    )  # fmt: skip


def settings_text(settings: ClientSettings | ConnectionSettings) -> str:
    """The settings as they are kept: JSON."""
    return _encode(settings)
