"""The statements of the write path, named; each works on a set of rows (`storage/sql/op.py`)."""

from __future__ import annotations

from touchbase.domain.delivery import REPEAT_WINDOW
from touchbase.domain.events import COMPANY as COMPANY_KIND
from touchbase.domain.events import CONTACT as CONTACT_KIND
from touchbase.domain.events import VIA_API
from touchbase.storage.sql.op import Op, array, delete
from touchbase.storage.sql.rows import COMPANY, CONTACT, CUSTOM_FIELD, DELIVERY, EVENT, Columns, client_names, names

BODY: Columns = (("client", "bigint"), ("id", "bigint"), ("query", "text"), ("headers", "bytea"), ("body", "bytea"))
ONE: Columns = (("client", "bigint"), ("id", "bigint"))
CREATION: Columns = (*ONE, ("at", "bigint"), ("effect", "text"), ("status", "text"), ("detail", "text"))
"""What a record's creation says of it in its history, besides what every creation says."""
CALL: Columns = (("client", "bigint"), ("key", "bytea"))
REF: Columns = (("client", "bigint"), ("tool", "text"), ("object_type", "text"), ("object_id", "text"))
LINK: Columns = (*REF, ("id", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"))
RECORD: Columns = (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"))


def _values(columns: Columns, first: int = 1) -> str:
    return ", ".join(f"?{n}" for n in range(first, first + len(columns)))


def _arrays(columns: Columns, first: int = 1) -> str:
    return ", ".join(array(n, kind) for n, (_, kind) in enumerate(columns, first))


def _table(name: str, columns: Columns, first: int = 1) -> str:
    return f"{name}({names(columns)}) AS (SELECT * FROM unnest({_arrays(columns, first)}))"


def _create(table: str, kind: int, columns: Columns, condition: str, name: str = "") -> Op:
    """Insert records, and for those that went in their custom fields and the first entry of their history; answers their ids."""
    inserted = f"INSERT INTO {table} ({names(columns)}) SELECT * FROM p WHERE {condition} ON CONFLICT DO NOTHING"
    customs = f"INSERT INTO custom_field ({names(CUSTOM_FIELD)})"
    # What is the same in every creation stands here, so that it is not sent with each.
    entries = (
        f"INSERT INTO event ({names(EVENT)}) SELECT r.client, {kind}, r.id, r.at, '', '{table}.created', r.effect, r.status, 'api', 'api', "
        f"NULL, NULL, r.at, {VIA_API}, r.detail FROM r"
    )
    there = f"EXISTS (SELECT 1 FROM {table} t WHERE t.client = {{0}}.client AND t.id = {{0}}.{{1}})"
    return Op(
        name=name or f"create_{table}",
        columns=columns,
        more_columns=CUSTOM_FIELD,
        sqlite_set=inserted,
        more_set=f"{customs} SELECT * FROM q WHERE {there.format('q', 'record_id')}",
        last_columns=CREATION,
        last_set=f"{entries} WHERE {there.format('r', 'id')}",
        made=f"SELECT t.id FROM p CROSS JOIN {table} t WHERE t.client = p.client AND t.id = p.id",
        postgres=(
            f"WITH {_table('p', columns)}, {_table('q', CUSTOM_FIELD, len(columns) + 1)}, "
            f"{_table('r', CREATION, len(columns) + len(CUSTOM_FIELD) + 1)}, "
            f"made AS ({inserted} RETURNING client, id), "
            f"more AS ({customs} SELECT q.* FROM q JOIN made ON made.client = q.client AND made.id = q.record_id), "
            f"entries AS ({entries} JOIN made ON made.client = r.client AND made.id = r.id) "
            "SELECT id FROM made"
        ),
    )


_COMPANY_IS_THERE = "(p.company_id IS NULL OR EXISTS (SELECT 1 FROM company c WHERE c.client = p.client AND c.id = p.company_id))"
# The statement itself looks for erasures: what was read of the client before may be older than its first one.
_NONE_ERASED = "NOT EXISTS (SELECT 1 FROM erased e WHERE e.client = p.client)"
CREATE_CONTACT = _create("contact", CONTACT_KIND, CONTACT, f"{_COMPANY_IS_THERE} AND {_NONE_ERASED}")
CREATE_CHECKED_CONTACT = _create("contact", CONTACT_KIND, CONTACT, _COMPANY_IS_THERE, "create_checked_contact")
CREATE_COMPANY = _create("company", COMPANY_KIND, COMPANY, "true")


def _insert(table: str, columns: Columns, returning: str = "") -> Op:
    tail = "ON CONFLICT DO NOTHING" + (f" RETURNING {returning}" if returning else "")
    return Op(f"insert_{table}", columns, body=f"INSERT INTO {table} ({names(columns)}) SELECT * FROM p WHERE true {tail}")


INSERT_CONTACT = _insert("contact", CONTACT, "id")
INSERT_COMPANY = _insert("company", COMPANY, "id")
INSERT_EVENT = _insert("event", EVENT, "record_kind, record_id, occurred_us, key")

_REF_MATCH = "t.client = p.client AND t.tool = p.tool AND t.object_type = p.object_type AND t.object_id = p.object_id"
ONE_MATCH = "t.client = p.client AND t.id = p.id"
_RECORD_MATCH = "t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id"


def _find(name: str, table: str, columns: Columns, key: Columns, match: str, *, lock: bool = False) -> Op:
    body = f"SELECT {names(columns, 't.')} FROM p CROSS JOIN {table} t WHERE {match}"
    # Locked in the order of ids, so that two batches that share records wait instead of dying. SQLite needs
    # no locks, and takes a CROSS JOIN at its word: for each row of p it looks into the table's index.
    return Op(name, key, body=body + " ORDER BY t.client, t.id FOR UPDATE OF t", sqlite_set=body) if lock else Op(name, key, body=body)


def _key(column: str) -> Columns:
    return (("client", "bigint"), (column, "text"))


_SAME_EMAIL, _SAME_LINKEDIN = (f"t.client = p.client AND t.{column} = p.{column}" for column in ("email_key", "linkedin_key"))
_SAME_DOMAIN = "t.client = p.client AND t.domain = p.domain"
CONTACT_BY_ID = _find("contact_by_id", "contact", CONTACT, ONE, ONE_MATCH, lock=True)
CONTACT_BY_EMAIL = _find("contact_by_email", "contact", CONTACT, _key("email_key"), _SAME_EMAIL, lock=True)
CONTACT_BY_LINKEDIN = _find("contact_by_linkedin", "contact", CONTACT, _key("linkedin_key"), _SAME_LINKEDIN, lock=True)
COMPANY_BY_ID = _find("company_by_id", "company", COMPANY, ONE, ONE_MATCH, lock=True)
COMPANY_BY_DOMAIN = _find("company_by_domain", "company", COMPANY, _key("domain"), _SAME_DOMAIN, lock=True)
# Only looked at, to say who is there already: who locks may have to wait, or be given up. The index of the key answers it.
CONTACT_HAVING_EMAIL = _find("contact_having_email", "contact", (*_key("email_key"), ONE[1]), _key("email_key"), _SAME_EMAIL)
CONTACT_HAVING_LINKEDIN = _find("contact_having_linkedin", "contact", (*_key("linkedin_key"), ONE[1]), _key("linkedin_key"), _SAME_LINKEDIN)
COMPANY_HAVING_DOMAIN = _find("company_having_domain", "company", COMPANY, _key("domain"), _SAME_DOMAIN)
CONTACT_TO_SHOW = _find("contact_to_show", "contact", CONTACT, ONE, ONE_MATCH)
COMPANY_TO_SHOW = _find("company_to_show", "company", COMPANY, ONE, ONE_MATCH)
COMPANY_EXISTS = _find("company_exists", "company", ONE, ONE, ONE_MATCH)
CUSTOM_FIELDS_OF = _find("custom_fields_of", "custom_field", CUSTOM_FIELD, RECORD, _RECORD_MATCH)
EVENTS_OF = _find("events_of", "event", EVENT, RECORD, _RECORD_MATCH)
LINK_BY_REF = _find("link_by_ref", "link", LINK, REF, _REF_MATCH)
LINKS_OF = _find("links_of", "link", LINK, RECORD, _RECORD_MATCH)
# Locked where several processes work: what a turn reads of one client's identities stays true until it ends,
# so that two turns never make two records of one person.
CLIENT_BY_NUMBER = Op(
    "client_by_number",
    (("id", "bigint"),),
    sqlite=f"SELECT {client_names()} FROM client WHERE id = ?1",
    body=f"SELECT {client_names('c')} FROM p JOIN client c ON c.id = p.id FOR NO KEY UPDATE OF c",
)
DELIVERIES_WITH_EVENTS = Op(
    "deliveries_with_events",
    ONE,
    body="SELECT p.id FROM p WHERE EXISTS (SELECT 1 FROM event e WHERE e.client = p.client AND e.delivery_id = p.id)",
)


def _update(name: str, table: str, columns: Columns) -> Op:
    """Set the columns after client and id."""
    pairs = ", ".join(f"{column} = p.{column}" for column, _ in columns[2:])
    return Op(name, columns, body=f"UPDATE {table} AS t SET {pairs} FROM p WHERE {ONE_MATCH}")


# What events change in the usual case: not the keys, and not the status where it stays, because their indexes cost.
_KEYS = ("created_us", "email", "email_key", "linkedin_url", "linkedin_key", "company_id", "from_api", "initial_status")
FOLD_STATUS_COLUMNS = tuple(column for column in CONTACT if column[0] not in _KEYS)
FOLD_COLUMNS = tuple(column for column in FOLD_STATUS_COLUMNS if column[0] != "status")
FOLD_CONTACT = _update("fold_contact", "contact", FOLD_COLUMNS)
FOLD_CONTACT_STATUS = _update("fold_contact_status", "contact", FOLD_STATUS_COLUMNS)
UPDATE_CONTACT = _update("update_contact", "contact", CONTACT)
UPDATE_COMPANY = _update("update_company", "company", COMPANY)
SAVE_CUSTOM_FIELD = Op(
    "save_custom_field",
    CUSTOM_FIELD,
    body=f"INSERT INTO custom_field ({names(CUSTOM_FIELD)}) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, record_kind, record_id, name) DO UPDATE SET value = excluded.value, updated_us = excluded.updated_us, "
    "priority = excluded.priority, stamped_us = excluded.stamped_us, stamp_key = excluded.stamp_key",
)
SAVE_LINK = Op(
    "save_link",
    LINK,
    body=f"INSERT INTO link ({names(LINK)}) SELECT * FROM p WHERE true ON CONFLICT (client, tool, object_type, object_id) "
    "DO UPDATE SET record_kind = excluded.record_kind, record_id = excluded.record_id",
)
MOVE_LINKS = Op(
    "move_links",
    (*RECORD, ("to_id", "bigint")),
    sqlite="UPDATE link SET record_id = ?4 WHERE client = ?1 AND record_kind = ?2 AND record_id = ?3",
    body=f"UPDATE link t SET record_id = p.to_id FROM p WHERE {_RECORD_MATCH}",
)


DELETE_EVENTS_OF = delete("delete_events_of", "event", RECORD)
DELETE_CUSTOM_FIELDS_OF = delete("delete_custom_fields_of", "custom_field", RECORD)
DELETE_CONTACT = delete("delete_contact", "contact", ONE)
DELETE_COMPANY = delete("delete_company", "company", ONE)
MOVE_CONTACTS_TO_COMPANY = Op(
    "move_contacts_to_company",
    (*ONE, ("to_id", "bigint"), ("at", "bigint")),
    sqlite="UPDATE contact SET company_id = ?3, updated_us = max(?4, updated_us + 1) WHERE client = ?1 AND company_id = ?2",
    body="UPDATE contact t SET company_id = p.to_id, updated_us = GREATEST(p.at, t.updated_us + 1) "
    "FROM p WHERE t.client = p.client AND t.company_id = p.id",
)

# The table of recent calls decides what is new, so that the deliveries, which are many and change, need no index of keys. In
# the order of keys, so that two batches with the same calls wait for each other instead of dying.
_RECENT = (
    "INSERT INTO dedupe_key (client, key, delivery_id, received_us, duplicate_of) "
    "SELECT client, key, id, received_us, duplicate_of FROM p WHERE true{} "
    "ON CONFLICT (client, key) DO UPDATE SET delivery_id = excluded.delivery_id, received_us = excluded.received_us, "
    "duplicate_of = excluded.duplicate_of "
    f"WHERE dedupe_key.received_us < excluded.received_us - {REPEAT_WINDOW} OR dedupe_key.delivery_id = excluded.duplicate_of"
)
_KEEP = f"INSERT INTO delivery ({names(DELIVERY)}) SELECT {names(DELIVERY, 'p.')} FROM p"
_KEEP_BODY = f"INSERT INTO delivery_body ({names(BODY)}) SELECT q.* FROM q"
KEEP_DELIVERY = Op(
    name="keep_delivery",
    columns=DELIVERY,
    more_columns=BODY,
    first_set=_RECENT.format(""),
    made="SELECT p.id FROM p CROSS JOIN dedupe_key t WHERE t.client = p.client AND t.key = p.key AND t.delivery_id = p.id",
    sqlite_set=_KEEP,
    more_set=f"{_KEEP_BODY} WHERE EXISTS (SELECT 1 FROM delivery t WHERE t.client = q.client AND t.id = q.id)",
    postgres=(
        f"WITH {_table('p', DELIVERY)}, {_table('q', BODY, len(DELIVERY) + 1)}, "
        f"made AS ({_RECENT.format(' ORDER BY client, key')} RETURNING client, delivery_id AS id), "
        f"kept AS ({_KEEP} JOIN made ON made.client = p.client AND made.id = p.id), "
        f"more AS ({_KEEP_BODY} JOIN made ON made.client = q.client AND made.id = q.id) SELECT id FROM made"
    ),
)
# With whether equal bytes are a repeat in any case, and when the next call of its client came, whatever it was.
_CALL = (
    "t.client, t.key, t.delivery_id, t.received_us, "
    "(SELECT d.dated FROM delivery d WHERE d.client = t.client AND d.id = t.delivery_id), "
    "(SELECT n.received_us FROM dedupe_key n WHERE n.client = t.client AND n.received_us >= t.received_us "
    "AND (n.received_us > t.received_us OR n.delivery_id > t.delivery_id) ORDER BY n.received_us LIMIT 1)"
)
CALL_BY_KEY = Op(
    "call_by_key",
    CALL,
    sqlite=f"SELECT {_CALL} FROM dedupe_key t WHERE t.client = ?1 AND t.key = ?2",
    body=f"SELECT {_CALL} FROM p JOIN dedupe_key t ON t.client = p.client AND t.key = p.key",
)
COUNT_REPEAT = Op(
    "count_repeat",
    (*ONE, ("times", "bigint")),
    sqlite="UPDATE delivery SET repeats = repeats + ?3 WHERE client = ?1 AND id = ?2",
    body=f"UPDATE delivery t SET repeats = t.repeats + p.times FROM p WHERE {ONE_MATCH}",
)
# By the row itself: a look into another table would be of before the wait for whoever takes the body away.
REPLAY_DELIVERY = Op(
    "replay_delivery",
    (*ONE, ("next_attempt_us", "bigint")),
    sqlite="UPDATE delivery SET state = 'received', attempts = 0, error = NULL, next_attempt_us = ?3 "
    "WHERE client = ?1 AND id = ?2 AND body_removed IS NULL RETURNING id",
    body="UPDATE delivery t SET state = 'received', attempts = 0, error = NULL, next_attempt_us = p.next_attempt_us FROM p "
    f"WHERE {ONE_MATCH} AND t.body_removed IS NULL RETURNING t.id",
)
DELIVERY_ENDINGS = Op("delivery_endings", ONE, body=f"SELECT t.id, t.state, t.error FROM p JOIN delivery t ON {ONE_MATCH}")
TARGETS_OF_DELIVERIES = Op(
    "targets_of_deliveries",
    ONE,
    body="SELECT e.delivery_id, e.record_kind, e.record_id, count(*) FROM p JOIN event e ON e.client = p.client AND e.delivery_id = p.id "
    "GROUP BY e.delivery_id, e.record_kind, e.record_id",
)
UNPARK_DELIVERY = Op(
    "unpark_delivery",
    (*ONE, ("applied_us", "bigint")),
    sqlite="UPDATE delivery SET state = 'applied', error = NULL, applied_us = ?3 WHERE client = ?1 AND id = ?2 AND state = 'parked' "
    "AND NOT EXISTS (SELECT 1 FROM event e WHERE e.client = ?1 AND e.delivery_id = ?2 AND e.record_kind = 3)",
    body="UPDATE delivery t SET state = 'applied', error = NULL, applied_us = p.applied_us FROM p "
    f"WHERE {ONE_MATCH} AND t.state = 'parked' AND NOT EXISTS "
    "(SELECT 1 FROM event e WHERE e.client = t.client AND e.delivery_id = t.id AND e.record_kind = 3)",
)
_EMPTIED = (
    "SET state = 'ignored', error = p.error, applied_us = COALESCE(t.applied_us, p.at) FROM p "
    f"WHERE {ONE_MATCH} AND t.state IN ('applied', 'parked') "
    "AND NOT EXISTS (SELECT 1 FROM event e WHERE e.client = t.client AND e.delivery_id = t.id)"
)
IGNORE_EMPTIED = Op("ignore_emptied", (*ONE, ("error", "text"), ("at", "bigint")), body=f"UPDATE delivery AS t {_EMPTIED}")

RESERVE_IDS = Op(
    "reserve_ids",
    (("name", "text"), ("count", "bigint")),
    sqlite="UPDATE id_block SET next = next + ?2 WHERE name = ?1 RETURNING next - ?2",
    body="UPDATE id_block t SET next = t.next + p.count FROM p WHERE t.name = p.name RETURNING t.next - p.count",
)
INSERT_CLIENT = Op(
    "insert_client",
    (("id", "bigint"), ("client_id", "text"), ("created_us", "bigint"), ("settings", "text"), ("made_by", "text")),
    body="INSERT INTO client (id, client_id, created_us, settings, made_by) SELECT * FROM p "
    "WHERE NOT EXISTS (SELECT 1 FROM client_alias a WHERE a.client_id = p.client_id) ON CONFLICT DO NOTHING",
)
CLIENT_BY_CLIENT_ID = Op(
    "client_by_client_id",
    (("client_id", "text"),),
    body=f"SELECT {client_names('c')} FROM p JOIN client c ON c.client_id = p.client_id",
)
SET_CLIENT_SETTINGS = Op(
    "set_client_settings",
    (("client_id", "text"), ("settings", "text")),
    body="UPDATE client SET settings = p.settings FROM p WHERE client.client_id = p.client_id",
)
