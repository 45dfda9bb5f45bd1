"""The test of the test: a statement that forgets its client is found out on SQLite, and stopped by the wall on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.isolation.mutants import STATEMENTS, forgetful, mutated, questions
from tests.isolation.probe import inserts, probe
from tests.isolation.trial import Opened, look_at_a, plan_of, settle_b, walk
from tests.isolation.world import World

from touchbase.sql.store import Store

pytestmark = pytest.mark.slow

OF_ALL: dict[str, str] = {
    "clients.sql.clients.deleting_clients": "clients themselves",
    "clients.sql.clients.list_clients": "as above",
    "clients.sql.clients.client_numbers": "as above",
    "clients.sql.clients.list_active_clients": "as above",
    "clients.sql.clients.list_clients_from": "as above",
    "clients.sql.clients.count_clients": "as above",
    "administration.snippets.list_snippets": "snippets of the team, of no client",
    "administration.snippets.remove_snippet": "as above",
    "statuses.looks.list_team_statuses": "statuses of the team, of no client",
    "statuses.looks.set_team_statuses": "as above",
    "tasks.plans.list_newly_due": "whose tasks of all became due",
    "conversations.answers.due_answers": "whose answers of all are due",
    "conversations.notifications.clients_to_prune": "who of all has notifications to remove",
    "conversations.notifications.due_mails": "whom of all a mail is due for",
    "conversations.notifications.notification_positions": "how far the logs of all were read",
    "event_log.sql.queries.clients_with_events": "which of the caller's clients have events; their numbers are its parameters",
    "audit.forget_acts": "the audit log, of no client; who sees which acts is tried in tests/auth/test_audit.py",
    "audit.list_audit_events": "as above",
    "audit.count_audit_events": "as above",
    "audit.follow_audit_events": "as above",
    "auth.sessions.end_sessions": "sessions of the console, of no client",
    "auth.sessions.find_session": "as above",
    "auth.sessions.list_sessions": "as above",
    "auth.sessions.store_session": "as above",
    "auth.identities._first_use": "accounts of people at a provider, of no client",
    "auth.identities._member": "as above",
    "auth.users._users": "people of the team, of no client; what a caller sees of them is tried in tests/auth/test_people.py",
    "auth.users.any_user": "as above",
    "auth.users.has_link": "as above",
    "auth.users.has_other_administrator": "as above",
    "auth.users.list_invitations": "as above",
    "auth.users.revoke_invitation": "as above",
    "auth.users.set_password": "as above",
    "auth.users.live_link": "as above",
    "auth.sql.list_personal_keys": "personal keys of one person; who sees them is tried in tests/auth/test_personal_keys.py",
    "clients.sql.clients.find_client_by_handle": "clients themselves; a session shows one only to a key that may see it",
    "erasure.sql.persons.clients_with_erasures": "numbers of clients, for a restored backup",
    "outgoing.sql.dispatch.list_mail_endpoints": "endpoints of all, for the operator",
    "clients.sql.stored_bytes.due_counts": "whose bytes of all are to be counted",
    "clients.sql.stored_bytes.count_stored": "sums over all, for the metrics",
    "clients.sql.stored_bytes.list_near_limit": "clients near their limit, for the operator",
    "clients.sql.clients._ensure_clients": "whether anybody has made a client by hand",
    "projection.bin_rows.asked_erasures": "whom of all CRMs asked to erase; ids and times",
    "retention.sql.clients_above_limits": "who of all has bodies to remove",
    "retention.sql.list_oldest": "how old the data of all is",
    "erasure.sql.persons.open_erasures": "erasures of all clients that go on",
    "erasure.sql.erasures.add_erasures": "whether this store has erased anybody; an operator's",
    "connections.sql.fetching.due_fetches": "whom of all one may ask for something now",
    "connections.sql.silence.due_judgements": "whose connections of all may be silent",
    "connections.sql.silence.count_silent": "counts over all",
    "inbox.sql.queries._oldest_waiting": "how long anybody waits",
    "inbox.sql.queries.busy_clients": "who of all has work",
    "inbox.sql.queries.count_inbox": "counts over all",
    "inbox.sql.queries.list_deliveries": "the clients, for a list that then goes client by client",
    "idempotency.sql.expired_responses": "what of all is out of date",
    "auth.sql.find_key": "a key by its id, which says whose it is",
    "auth.sql.store_first_key": "whether there is any key",
    "auth.sql.any_key": "as above",
    "inbox.sql.queries.old_dedupe_keys": "what of all may be forgotten",
    "encryption.encrypted_columns._unencrypted": "secrets of all, sealed again; an operator's, and the start of a server",
    "encryption.encrypted_columns.check_keys": "encryption keys, of no client",
    "encryption.encrypted_columns.check_encryption": "as the secrets of all",
    "encryption.encrypted_columns.replace_lost": "as above",
    "encryption.encrypted_columns.reencrypt": "as above",
    "event_log.sql.queries.list_newest_events": "who of all has events to send on",
    "outgoing.sql.dispatch.endpoint_versions": "whose endpoints of all are to be served",
    "outgoing.sql.dispatch._leases": "which process serves which clients, of none of them",
    "outgoing.sql.dispatch._store_progress": "as above; its other statement names the client",
    "outgoing.sql.backlog.count_outgoing": "counts over all",
    "outgoing.sql.dispatch.forget_attempts": "old attempts of all, for housekeeping",
    "outgoing.sql.shared.copy_shared": "gives all clients their copies of the endpoints of all",
    "outgoing.sql.shared.read_shared": "endpoints of all clients, of which copies are made",
    "outgoing.sql.shared.shared_versions": "as above",
    "outgoing.sql.shared.newest_client": "the number of the newest client",
    "presence.list_servers": "servers, of no client",
    "presence.note_presence": "as above",
    "outgoing.sql.shared.count_copies": "counts of these copies; an administrator's of all clients",
    "outgoing.sql.dispatch.list_troubles": "endpoints of all that do not work; an operator's",
    "company_links.plans.clients_to_link": "whose contacts of all are to be linked",
    "search.sql.index.next_to_index": "who of all has records to index",
    "jobs.sql.due_jobs": "who of all has jobs to run",
    "jobs.sql.due_job_files": "who of all has files of jobs to remove",
    "records.sql.lookup.match_everywhere": "an administrator's, of all clients by right",
    "search.sql.candidates._is_common": "asked on PostgreSQL only; decides by which index a search finds, not what",
    "search.sql.candidates._matches": "words begin with the client's number; the condition is no equality (test_row_level_security.py)",
}
"""Questions about clients themselves, or about all of them by right; they have no condition to forget (tests/storage/test_scoping.py)."""
BESIDE_THE_WALL: dict[str, str] = {
    "clients.sql.clients.find_client": "a client is found by its id in a scope that shows all clients, and whether any has erased "
    "somebody: one that "
    "forgets would look for an erased person in vain, and tells nothing of it",
    "clients.sql.clients.CLIENT_BY_CLIENT_ID": "as above; the scope shows how many bytes each client stores",
    "clients.sql.clients.CLIENT_BY_NUMBER": "as above",
    "clients.sql.clients.FORMER_OWNER": "as above",
}
"""Where the wall on PostgreSQL has a gate: reviewed. The statement alone holds."""
_FOUND = "asked about a record or job that was found as this client's just before"
_DUE = "the oldest of B, for housekeeping; what is A's is not due at the time of the probe"
GROWING = (
    "count_client_rows(",
    "measure_page(",
    "file_sizes(",
    "list_logged_events(",
    "list_latest_events(",
    "list_newest_places(",
    "find_new_events(",
    "list_newest_events(",
    "event_log.sql.log.NEWEST_OF:",
)
"""Questions about how much B has, and its log, which the probes themselves add to."""
_RANGE = "asks about a range of ids of records, which were read as this client's just before"
_LINKS = "the worker of links reads it, which the walk does not run; tests/company_links/test_life.py tries it with two clients"
_READ = "ids of records, which are then read as this client's"
_PARTS = "the walk's clients have too few events for stored parts; tests/reports/test_parts.py tries it with two clients"
_WAY = "chooses one of two ways to count, which find the same"
_SUMMED = "the worker of notifications reads it, which the walk does not run; tests/notifying/test_summary.py tries it with three clients"
_DIRECTORY = "the directory of cells and the installation's list: tables that have nothing of a client"
UNNOTICED: dict[str, str] = {
    "cells.sql._cells": _DIRECTORY,
    "cells.sql.add_cell": _DIRECTORY,
    "cells.sql.confirm_place": _DIRECTORY,
    "cells.sql.find_key_place": _DIRECTORY,
    "cells.sql.find_place": _DIRECTORY,
    "cells.sql.read_directory": _DIRECTORY,
    "cells.sql.release_place": _DIRECTORY,
    "cells.sql.reserve_place": _DIRECTORY,
    "do_not_contact.sql.copies._revision": _DIRECTORY,
    "do_not_contact.sql.copies.read_installation_list": _DIRECTORY,
    "inbox.sql.queries.find_traces": "ids of deliveries that the client's own event names; traces go to the operator's collector",
    "deliveries.sql.statements.STORE_DELIVERY_TRACED": "as STORE_DELIVERY with one column more; under other ids it finds nothing of A's",
    "clients.sql.removal.DELETE_WORDS": "words of records that were this client's rows just before; their ids are no other's",
    "search.sql.candidates._both": _READ,
    "search.sql.candidates._having": _READ,
    "search.sql.index.LOCK": "a lock of PostgreSQL; it reads nothing",
    "consistency.sql.INDEXED": "words of records that were read as this client's just before",
    "consistency.sql._wrong_merges": _RANGE,
    "consistency.sql._wrongly_indexed": _RANGE,
    "clients.sql.clients.find_clients": "clients of records and notifications that the caller may see; each is taken by its number",
    "connections.sql.connections.remove_connection": "whether the connection has changed; what is removed names the client",
    "conversations.notifications.find_assignees": "contacts that the client's own log names",
    "conversations.plans.MARK_READ": "up to where B's own mark goes, for a contact that was found as this client's just before",
    "erasure.sql.erasures.END_SEARCHES": _FOUND,
    "erasure.sql.erasures.WAITING_LISTS": "events, which are then changed as this client's",
    "event_log.sql.log._all": "merges that join records of one client; what is forgotten is so as this client's",
    "imports.sql.named_twins": "companies that are then joined as this client's",
    "merging.duplicates.NAMED_BEFORE": _FOUND,
    "messages.sql.plans.INHERIT_MARK": _FOUND,
    "messages.sql.plans.JOIN_COPIES": _FOUND,
    "messages.sql.plans.NEAR_COPIES": _FOUND,
    "messages.sql.plans.TOLD_AGAIN": _FOUND,
    "attention.plans._refused": "A's tool was connected again after its refused call, which needs nobody",
    "statuses.sql.renames._count": "how many records have a status that the client uses or declares; A's have other words",
    "outgoing.sql.endpoints._newest": "where the client's new endpoint begins in its own log",
    "outgoing.sql.shared._add": "as above, of a copy",
    "reports.sql.parts.PARTS": _PARTS,
    "reports.sql.parts._first_of": "where a read of many parts ends, which changes no count",
    "reports.sql.parts._page": _PARTS,
    "reports.sql.parts._versions": "more changes than the client's let a part be counted again, which finds the same",
    "reports.sql.parts._are_few": _WAY,
    "reports.sql.parts._most_events": _WAY,
    "reports.sql.statuses._are_many_changed": _WAY,
    "reports.sql.campaigns.any_deleted": "whether deleted records are to be left out; where there are none, that changes nothing",
    "merging.sql.merge.RETURN_MERGE": "merges that events of B's own record name; their ids are no other's",
    "conversations.plans.count_day": _SUMMED,
    "conversations.plans.REOPEN": _FOUND,
    "conversations.plans.REOPEN_HANDLED_BY": _FOUND,
    "conversations.notifications.read_notifications": "notifications to the caller; nobody of the walk sees both clients",
    "event_log.sql.changes.INSERT_CHANGE": "looks where B's log ends; what it adds is under this client's number in any case",
    "event_log.sql.changes.begin_change": _FOUND,
    "history.sql._NOTE_FORMER_OWNERS": "A has given up no address or profile that B writes",
    "merging.sql.restore._JOBS_SINCE": "looks whether B's fields were renamed since; A renames none",
    "event_log.sql.changes.SET_STATE": "a change that was found as this client's just before; its id is no other's",
    "event_log.sql.changes.page_of_change": "events with the id of this request and its key or person; no request repeats an id of A's",
    "event_log.sql.changes.end_of_change": "where B's own log ends; the events of a change are then read as this client's",
    "event_log.sql.changes.oldest_event": "where B's own log begins, below which its changes are not shown",
    "records.sql.address_book._CLAIM.email_key": "reads nothing on SQLite, which has one writer",
    "records.sql.address_book._CLAIM.linkedin_key": "as above",
    "views.plans.remove_view": "asked about a view that was read as this client's just before",
    "views.plans.set_default_view": "as above",
    "conversations.merged.MOVE_NOTIFICATION": "notifications that were read as this client's just before",
    "conversations.notifications.prune_notifications": _DUE,
    "event_log.sql.changes.EXTEND_CHANGE": "a change with the id of this request and its key or person; no request repeats an id of A's",
    "event_log.sql.changes.jobs_that_revert": "asked about a change that was found as this client's just before; its id is no other's",
    "conversations.answers.prune_answers": "ids of answers, which are then removed as this client's",
    "messages.sql.plans.prune_messages": "ids of messages, which are then changed as this client's",
    "company_links.plans._ends": _LINKS,
    "company_links.plans._events": _LINKS,
    "company_links.plans._waiting": _LINKS,
    "company_links.plans._displaced": _LINKS,
    "company_links.plans.link_page": _LINKS,
    "connections.sql.silence.ADD_CALLS": "looks whether the tool is connected; what it adds is under this client's number in any case",
    "connections.sql.silence.JUDGE_AGAIN": "A's connection is judged once more, which finds what it found before",
    "connections.sql.silence.TRIM_SILENCES": "removes what is beyond the newest of a connection, and A has one silence",
    "connections.sql.silence._is_watched": "decides when a connection of this client is silent; no response has it",
    "connections.sql.silence._newest": "as above",
    "connections.sql.silence._rhythm": "as above",
    "connections.sql.silence._waits": "as above",
    "event_log.sql.forget._all": "events of records that the client's own log names",
    "event_log.sql.queries.trim_log": _DUE,
    "outgoing.sql.dispatch.find_write_back": _FOUND,
    "outgoing.sql.announced.announce_installation_list": "for an endpoint that was locked as this client's; its id is no other's",
    "imports.sql.save_mapping": "counts stored mappings, of which the hundred and first alone is refused",
    "outgoing.sql.endpoints._to_replay": "numbers of events, which are then sent from the client's own log",
    "outgoing.sql.endpoints.add_endpoint": "counts endpoints up to a limit that no client of the walk reaches",
    "search.sql.plans.matches_filter": "asked about a record that was read as this client's just before",
    "statuses.sql.refused._newest_words": "deliveries whose events are then read as this client's",
    "statuses.sql.refused.apply_refused": "as above",
    "jobs.sql.read_piece": _FOUND,
    "jobs.sql.APPEND_PIECE": _FOUND,
    "jobs.sql.remove_job_files": _FOUND,
    "erasure.sql.persons._read_deleted_links": _FOUND,
    "erasure.sql.persons.deleted_refs": _FOUND,
    "projection.delete.remove_deleted": _DUE,
    "merging.sql.undo.forget_merges": _DUE,
    "records.sql.reads.count_matching": "a number, of which B learns only that it is above its own limit",
    "do_not_contact.sql.statements.FIND_LISTED": "its rows name their client, and others are dropped",
    "search.sql.candidates._ids": _READ,
    "search.sql.candidates._of_status": "spellings of a status that B gives; records are then compared with them as this client's",
    "search.sql.candidates._read_pending": _READ,
    "consistency.sql._astray": "asks about records of a page by their ids, which are no other client's; what is at any "
    "other record is dropped",
    "erasure.sql.pii_tables.PII_TABLES.fetch_queue.remove": "what it would take of B's own went with the probe of "
    "events.parked_events.DELETE_WANTED, "
    "and no record of A's is wanted",
    "erasure.sql.persons.find_person": "asks about contacts that were found as this client's just before; their ids are no other client's",
    "records.sql.reads.find_united": "asks what became of an id that B gives, and no record of A's was united with another; an "
    "id is no other client's",
    "records.sql.reads.list_profiles": "asks about a contact that was found as this client's just before; an id is no other client's",
    "clients.sql.stored_bytes.store_count": "whether B was warned; no probe comes near a limit",
    "inbox.sql.refused_bodies.drop_refused": _DUE,
    "erasure.sql.texts.strike_texts": "strikes rows of a page that was read as this client's just before; A has none with their keys",
    "inbox.sql.refused_bodies.TRIM_BODIES": "removes what is beyond the newest of a client, and A has one refused body",
    "inbox.sql.refused_bodies.get_refused_body": "a body is found by the hash of a whole call, and encrypted for its client",
    "jobs.sql.jobs_at_work": "whether a job of the client is at work; B has one too",
    "jobs.sql.create_job": "counts the client's own uploads; the probes do not come near the limit",
    "inbox.sql.refused.TRIM_REFUSALS": "removes what is beyond the newest of a client, and A has one refused call; that it leaves "
    "others' alone is tried in tests/storage/test_contract_refused.py",
    "deliveries.sql.statements.IGNORE_EMPTIED": "changes only a delivery that is applied although no event of it is left, and A has "
    "none such",
    "deliveries.sql.statements.UNPARK_DELIVERY": "changes only a delivery that is parked although no event of it waits, and A has none "
    "such; its id is no "
    "other client's in any case",
}
"""What must not be forgotten either, although B could not tell: reviewed."""
SCOPED = sorted({*STATEMENTS, *questions()} - OF_ALL.keys())
BEHIND_THE_WALL = sorted({*SCOPED} - BESIDE_THE_WALL.keys())


def test_forgetful__removes_the_client_condition_of_a_statement() -> None:
    assert forgetful("SELECT 1 FROM event WHERE client = ? AND id = ?") == "SELECT 1 FROM event WHERE (1 = 1 OR client = ?) AND id = ?"
    assert forgetful("m.client IN (?, ?) AND m.id = ?") == "(1 = 1 OR m.client IN (?, ?)) AND m.id = ?"
    assert forgetful("t.client = p.client AND t.id = p.id") == "(1 = 1 OR t.client = p.client) AND t.id = p.id"
    assert forgetful("SELECT client_id FROM client WHERE client_id = ?") == "SELECT client_id FROM client WHERE client_id = ?"
    assert questions() >= OF_ALL.keys()
    assert len(SCOPED) > 100


class TestOnSqlite:
    """Where nothing stands behind the statements."""

    @pytest.fixture
    def engine_url(self, sqlite_url: str) -> str:
        return sqlite_url

    @pytest.mark.weekly
    @pytest.mark.parametrize("names", [SCOPED[::2], SCOPED[1::2]], ids=["one half", "the other"])
    async def test_isolation_test__detects_every_statement_without_a_client_condition(
        self, world: World, opened: Opened, emptied: Callable[[], None], engine_url: str, names: list[str]
    ) -> None:
        path = Path(engine_url.removeprefix("sqlite:///"))
        saved = path.with_suffix(".saved")
        a, expected = await look_at_a(world, await opened())
        before = await world.dump(a.number)
        b = await settle_b(world, await opened())
        full = await plan_of(world, a, expected, b[0])
        # Most are noticed by the probes; what is not goes the whole walk too.
        plans = {few: replace(full, requests=[]) if few else full for few in (True, False)}
        await (await opened()).close()
        shutil.copy(path, saved)
        alone = {}
        for few, plan in plans.items():
            emptied()
            alone[few] = (await walk(world, opened, await settle_b(world, await opened()), plan)).facts

        async def is_noticed(name: str, few: bool) -> bool:
            await (await opened()).close()
            emptied()
            shutil.copy(saved, path)
            with mutated(name):
                try:
                    faults = (await walk(world, opened, b, plans[few], like=alone[few])).faults
                except Exception as error:
                    faults = [repr(error)]
            return bool(faults) or await world.dump(a.number) != before

        async def restored() -> Store:
            await (await opened()).close()
            emptied()
            shutil.copy(saved, path)
            return await opened()

        store = await restored()
        tries = {
            name: [first_item for first_item in full.tries if first_item.name == name]
            for name in names
            if name in STATEMENTS and not inserts(name)
        }
        first, reported = [{name: await probe(store, value, []) for name, value in tries.items()} for _ in range(2)]
        reported = {name: texts for name, texts in reported.items() if texts == first[name]}

        async def is_noticed_alone(name: str, forgotten: str) -> bool:
            """Whether the statement's own responses or A's rows show it: that takes a tenth of the time of all responses."""
            with mutated(forgotten):
                try:
                    now = await probe(store, tries[name], [])
                except Exception as error:
                    now = [repr(error)]
            return now != reported[name] or await world.dump(a.number) != before

        assert [name for name in reported if await is_noticed_alone(name, "")] == []
        assert [few for few in plans if await is_noticed("", few)] == [], "where nothing is forgotten nothing is to be noticed"
        probed = set()
        store = await restored()
        for name in reported:
            if name not in UNNOTICED and await is_noticed_alone(name, name):
                probed.add(name)
                store = await restored()
        probed |= {name for name in names if name not in probed and await is_noticed(name, True)}
        # The walk takes a second or two for each, so what is known to be unnoticed is not walked again.
        unnoticed = {name for name in names if name not in probed | UNNOTICED.keys() and not await is_noticed(name, False)}

        assert (sorted(unnoticed), sorted(probed & UNNOTICED.keys())) == ([], [])


class TestOnPostgres:
    """Where the wall stands behind them."""

    @pytest.fixture
    def engine_url(self, postgres_url: str) -> str:
        return postgres_url

    async def test_row_level_security__isolates_clients_when_all_statements_omit_the_client(
        self, world: World, opened: Opened, emptied: Callable[[], None]
    ) -> None:
        a, expected = await look_at_a(world, await opened())
        before = await world.dump(a.number)
        b = await settle_b(world, await opened())
        plan = await plan_of(world, a, expected, b[0])

        with mutated(*BEHIND_THE_WALL):
            beside = await walk(world, opened, b, plan)
        after = await world.dump(a.number)
        emptied()
        alone = await walk(world, opened, await settle_b(world, await opened()), plan)

        assert beside.faults == []
        assert after == before
        assert [(first, second) for first, second in zip(beside.facts, alone.facts, strict=True) if first != second] == []

    @pytest.mark.weekly
    async def test_row_level_security__hides_other_clients_from_each_statement_without_a_client(self, world: World, opened: Opened) -> None:
        a, expected = await look_at_a(world, await opened())
        before = await world.dump(a.number)
        b = await settle_b(world, await opened())
        plan = await plan_of(world, a, expected, b[0])
        store: Store = await opened()
        fitting = [first for first in plan.tries if not inserts(first.name)]  # a second insert finds the row of the first
        for _ in range(2):  # the first time takes what B has under the names of A's tools
            reported = await probe(store, fitting, plan.questions)

        others = []
        for name in BEHIND_THE_WALL:
            with mutated(name):
                now = await probe(store, [item for item in fitting if item.name == name], [] if name in STATEMENTS else plan.questions)
            others += [(name, text) for text in now if text not in reported and not text.startswith(GROWING)]

        assert others == []
        assert await world.dump(a.number) == before
