"""Erasure of a person: first all data linked to the person, in one transaction; then a search of the inbox for deliveries that name them.

The search needs only the keyed hashes that the erasure stored: it hashes the identities in each body and compares. So it resumes
at the last page after a crash, and a restored backup is searched in the same way. Deliveries, then queued ones, files of jobs, and texts in
other tables are searched; at last the store's files are cleaned, and only then the erasure is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from touchbase.common.field_limits import InvalidText
from touchbase.common.timestamps import Clock
from touchbase.deliveries.sql.objects import waits_for_objects
from touchbase.deliveries.work import ProcessingStore, Translate
from touchbase.do_not_contact.addresses import ref_of
from touchbase.do_not_contact.sql.lookup import list_clear_addresses
from touchbase.erasure.erase_pending import PendingDeliveries
from touchbase.erasure.models import Erasure
from touchbase.erasure.sql.erasures import end_erasure, erase_pending, erase_person, sweep_erasure
from touchbase.erasure.sql.persons import find_erased, find_person, get_erasure, read_bodies, read_links
from touchbase.erasure.text_search import TextSearch
from touchbase.erasure_marks import EMAIL, email_ref, linkedin_refs
from touchbase.errors import Fault, Invalid, NotFound
from touchbase.history.identity_links import Ref
from touchbase.identity.scan import Identities, scan_deliveries
from touchbase.inbox.fair_scheduler import BATCH_SIZE
from touchbase.inbox.sql.refused_bodies import drop_refused, read_refused_bodies
from touchbase.inbox.worker import ConnectionsOf, Read, no_connections, translator
from touchbase.jobs.sql import due_job_files, jobs_at_work, remove_job_files
from touchbase.records.models import Contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.sql.store import Vacuumed

PAGE = 200
REFUSED_PAGE = 20
"""Bodies of refused webhooks that are decrypted at once."""
FILE_PIECES = 4
"""Pieces of a job's files removed in one transaction."""
LATE_DELIVERIES = 0
"""Used instead of an erasure's number for the search of deliveries received after the erasures."""
OBJECTS = "an object that the object storage has not removed yet"
"""`waits_for` of an erasure that only waits for that."""
Progress = Callable[[Erasure], None]


def identities(email: str | None, linkedin_url: str | None) -> list[Ref]:
    """Return the identities of these addresses. Raises `Invalid` for an invalid address."""
    refs: list[Ref] = []
    if email is not None:
        try:
            refs.append(email_ref(email))
        except InvalidText as refused:
            raise Invalid([Fault("email", refused.code, refused.detail)]) from None
    if linkedin_url is not None:
        profile_refs = linkedin_refs(linkedin_url)
        if not profile_refs:
            raise Invalid([Fault("linkedin_url", "linkedin_url", "is not the address of a LinkedIn profile")])
        refs += profile_refs
    return refs


class Eraser:
    """Erases people from one store, and searches its inbox for deliveries that name them."""

    def __init__(self, store: ProcessingStore, read: Read, clock: Clock, connections: ConnectionsOf = no_connections) -> None:
        self._store = store
        self._read = read
        self._clock = clock
        self._connections = connections
        self._pending = PendingDeliveries(store, clock)
        self._texts = TextSearch(store, self._erased)
        self._stages: dict[tuple[int, int], int] = {}
        """The stage of the search behind the inbox, by client and erasure; after a restart it begins again."""
        self._covered: dict[tuple[int, int], frozenset[int]] = {}
        """By client and erasure, the others that its search covers: their hashes were stored before it began."""

    async def would_erase(self, client: int, contact_id: int | None, refs: Sequence[Ref]) -> dict[str, int]:
        """Count the rows that an erasure would remove, by kind. Reads the whole inbox; changes nothing."""
        person = await self._store.read(find_person(client, contact_id, list(refs)))
        after: int | None = 0
        bodies = unsearchable = 0
        while after is not None:
            identities, after = await self._page(client, after, None)
            unsearchable += sum(named.unsearchable is not None for named in identities.values())
            bodies += sum(not named.unsearchable and not person.refs.isdisjoint(named.refs) for named in identities.values())
        return person.counts | {"deliveries": bodies} | ({"unsearchable": unsearchable} if unsearchable else {})

    async def erase(self, client: int, contact_id: int | None = None, refs: Iterable[Ref] = (), *, search: bool = True) -> Erasure:
        """Erase a contact, or the people with these identities; the search of the inbox follows. `NotFound`."""
        return await self._store.write(erase_person(client, self._clock(), contact_id, sorted(set(refs)), search))

    async def apply_pending(self, client: int) -> None:
        """Apply the queued deliveries of the client; events about erased people are dropped."""
        translate = await self._translate(client)
        while (await self._store.work(client, BATCH_SIZE, translate, self._clock())).taken:
            pass

    async def search(self, erasure: Erasure, until_us: int | None = None, on_page: Progress = lambda erasure: None) -> Erasure:
        """Search page by page until finished (`searched_us` is set), until `until_us`, or until it has to wait (`waits_for`).

        Without `until_us` the store's files are cleaned then.
        """
        erasure.waits_for = ""
        while erasure.searched_us is None and not erasure.waits_for and (until_us is None or self._clock() < until_us):
            erasure = await self.step(erasure)
            on_page(erasure)
        if until_us is None and erasure.searched_us is not None:
            await self.clean([erasure])
        return erasure

    async def clean(self, erasures: Sequence[Erasure], *, full: bool = False) -> Vacuumed:
        """Clean the store's files after the search of these erasures; they are done then if nothing was in the way.

        One whose client has objects in object storage that were to be removed by then waits for that.
        """
        for erasure in erasures:
            if erasure.searched_us is not None and await self._store.read(waits_for_objects(erasure.client, erasure.searched_us)):
                erasure.waits_for = OBJECTS
        present = [erasure for erasure in erasures if erasure.waits_for != OBJECTS]
        if erasures and not present and not full:
            return Vacuumed.CLEAN
        result = await self._store.vacuum(full=full)
        ready = [erasure for erasure in present if result and erasure.searched_us is not None and erasure.done_us is None]
        for erasure in ready:
            erasure.done_us = self._clock()
        await asyncio.gather(*(self._store.write(end_erasure(erasure.client, erasure.id, erasure.done_us or 0)) for erasure in ready))
        return result

    def next_search(self, erasures: Sequence[Erasure]) -> Erasure:
        """Return the erasure of one client whose search goes on or begins; it covers as many of the others as it can.

        A search finds all erased people of the client. So hundreds of them, erased together, need one search of the inbox.
        """
        for erasure in erasures:
            if (erasure.client, erasure.id) in self._covered:
                return erasure
        least = min(erasure.swept_to for erasure in erasures)
        first = max((erasure for erasure in erasures if erasure.swept_to == least), key=lambda erasure: (erasure.sweep_until, erasure.id))
        others = frozenset(erasure.id for erasure in erasures if erasure.sweep_until <= first.sweep_until and erasure.id != first.id)
        self._stages.pop((first.client, first.id), None)
        self._covered[first.client, first.id] = others
        return first

    async def step(self, erasure: Erasure) -> Erasure:
        """Search one page; return the erasure with its progress."""
        client = erasure.client
        if erasure.swept_to < 0:
            await self._erase_records(client)
            identities, last = dict[int, Identities](), 0
        else:
            identities, after = await self._page(client, erasure.swept_to, erasure.sweep_until)
            last = erasure.sweep_until if after is None else after
        done, applied, waits_for = erasure.swept_to >= 0 and last >= erasure.sweep_until, 0, ""
        if done:
            done, applied, waits_for = await self._search_behind(erasure)
        unsearchable = [number for number, named in identities.items() if named.unsearchable is not None]
        erased = await self._erased(client, set().union(*(named.refs for named in identities.values())))
        clear = [number for number, named in identities.items() if not named.unsearchable and not erased.isdisjoint(named.refs)]
        covered = self._covered.get((client, erasure.id), frozenset())
        await self._store.write(sweep_erasure(client, erasure.id, clear, last, done, self._clock(), applied, unsearchable, sorted(covered)))
        if done:
            self._covered.pop((client, erasure.id), None)
        now = await self._store.read(get_erasure(client, erasure.id))
        if now is None:
            raise NotFound(f"there is no erasure with id {erasure.id}")
        now.waits_for = waits_for
        return now

    async def _search_behind(self, erasure: Erasure) -> tuple[bool, int, str]:
        """Search a page behind the inbox; return whether all is searched, the deliveries applied, and the work that it waits for."""
        client, key = erasure.client, (erasure.client, erasure.id)
        stage = self._stages.setdefault(key, 0)
        if stage == 0:
            page = await self._pending.page(client, erasure.id, await self._translate(client), erasure.sweep_until)
            if page.done:
                await self._erase_refused(client)
            self._stages[key] = int(page.done)
            return False, page.applied, "a queued webhook that names the person" if page.is_stuck else ""
        if stage == 1:
            if await self._store.read(jobs_at_work(client)):
                return False, 0, "an import or export of the client that is at work"
            while due := await self._store.read(due_job_files(self._clock(), PAGE, client)):
                for _, job in due:
                    await self._store.write(remove_job_files(client, job, FILE_PIECES, self._clock()))
            self._stages[key] = 2
            return False, 0, ""
        if not await self._texts.page(client, erasure.id, await self._translate(client)):
            return False, 0, ""
        del self._stages[key]
        return True, 0, ""

    async def search_pending(self, client: int) -> bool:
        """Search one page of a suspended client's queue, because later deliveries may name erased people; return whether finished."""
        page = await self._pending.page(client, LATE_DELIVERIES, await self._translate(client))
        return page.done or page.is_stuck

    async def _erase_records(self, client: int) -> None:
        """Erase the records with an erased identity: a restored backup contains people erased after it was taken."""
        cursor: tuple[int, int] | None = None
        while contacts := await self._store.read(list_records(Listing(CONTACT_TYPE, client, PAGE, cursor))):
            named = [_addresses(contact) for contact in contacts]
            erased = await self._erased(client, set().union(*named))
            for refs in named:
                if not refs.isdisjoint(erased):
                    await self.erase(client, refs=refs, search=False)
            cursor = (contacts[-1].created_us, contacts[-1].id)
        await self._erase_linked(client, deleted=True)
        await self._erase_linked(client, deleted=False)

    async def _erase_refused(self, client: int) -> None:
        """Remove the bodies of refused webhooks that name an erased person, or that cannot be searched."""
        after, translate = "", await self._translate(client)
        while page := await self._store.read(read_refused_bodies(client, after, REFUSED_PAGE)):
            named = await scan_deliveries([refused.as_delivery(number) for number, refused in enumerate(page)], translate)
            erased = await self._erased(client, set().union(*(ids.refs for ids in named.values())))
            digests = [page[number].digest for number, ids in named.items() if ids.unsearchable or not erased.isdisjoint(ids.refs)]
            if digests:
                await self._store.write(drop_refused(client, digests=digests))
            after = page[-1].digest

    async def _erase_linked(self, client: int, *, deleted: bool) -> None:
        after: Ref | None = ("", "", "")
        while after is not None:
            page = await self._store.read(read_links(client, PAGE, after, deleted=deleted))
            for ref in sorted(await self._erased(client, {ref for ref, _ in page.links})):
                await self.erase(client, refs=[ref], search=False)
            await self._erase_parked(client, [ref for ref, contact in page.links if contact is None])
            after = page.last
        await self._hide_entries(client)

    async def _hide_entries(self, client: int) -> None:
        """Replace erased addresses on the do-not-contact list by their hashes."""
        after = ("", "")
        while page := await self._store.read(list_clear_addresses(client, PAGE, after)):
            for ref in sorted(await self._erased(client, {ref for entry in page if (ref := ref_of(entry)) is not None})):
                await self.erase(client, refs=[ref], search=False)
            after = page[-1]

    async def _erase_parked(self, client: int, refs: list[Ref]) -> None:
        """Erase the parked events of objects that occurred together with an erased identity: the replaced store knew whose they are."""
        erased = await self._store.read(find_erased(client, refs, derived=True)) if refs else set()
        if erased:
            await self._store.write(erase_pending(client, sorted(erased), self._clock()))

    async def _page(self, client: int, after: int, until: int | None) -> tuple[dict[int, Identities], int | None]:
        """Return the identities in each delivery of a page, and the cursor of the next page."""
        page = await self._store.read(read_bodies(client, after, PAGE, until))
        return await scan_deliveries(page.deliveries, await self._translate(client)), page.last

    async def _translate(self, client: int) -> Translate:
        return translator(self._read, await self._connections(client))

    async def _erased(self, client: int, refs: set[Ref]) -> set[Ref]:
        return await self._store.read(find_erased(client, sorted(refs))) if refs else set()


def _addresses(contact: Contact) -> set[Ref]:
    refs = {("", EMAIL, contact.email_key)} if contact.email_key else set[Ref]()
    return refs | linkedin_refs(contact.linkedin_url) if contact.linkedin_key and contact.linkedin_url else refs
