"""Workers for each cell; pools and clients are shared."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import touchbase
from touchbase.adapters.registry import Adapters, load_adapters
from touchbase.answering.worker import AnswerWorker
from touchbase.auth.auth_throttle import KeyThrottle, WebhookThrottle
from touchbase.auth.last_used import KeyUsage
from touchbase.common.parquet import check_installed
from touchbase.common.timestamps import DAY, Clock
from touchbase.company_links.worker import CompanyLinker
from touchbase.config import BadSettings, Settings
from touchbase.connections.service import Connections
from touchbase.connections.silence import CallCounts
from touchbase.console.oidc import Provider
from touchbase.deliveries.work import ProcessingStore, WorkReport
from touchbase.encryption.cipher import AesGcmCipher
from touchbase.encryption.keys import EncryptionKeys
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker, count_fetch
from touchbase.erasure.service import Eraser
from touchbase.event_archive.worker import EventArchiver
from touchbase.event_log.feed import Feed
from touchbase.http.actors import ActorNames
from touchbase.http.dependencies import AuthMode, RequestLimits, new_sandbox
from touchbase.idempotency.service import ResponseCleanup
from touchbase.imports.preview import Previews, new_file_sandbox
from touchbase.inbox.cleanup import DedupeCleanup
from touchbase.inbox.refused import RefusedWebhooks
from touchbase.inbox.translator_pool import TranslatorPool
from touchbase.inbox.worker import InboxWorker, PeriodicTask, add_report, count_report
from touchbase.maintenance import Maintenance
from touchbase.metrics import Metrics
from touchbase.notifying.worker import NotificationWorker
from touchbase.objects.worker import BodyMover
from touchbase.outgoing.api.event_objects import AS_IN_API
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.outgoing.mail_client import SenderByScheme
from touchbase.outgoing.models import Installation
from touchbase.rate_limit.rate_limiter import limiter
from touchbase.retention.service import Retention, UnrecognisedLimits
from touchbase.routing.cell_store import CellStore
from touchbase.routing.router import CellRouter
from touchbase.sandbox.pool import Sandbox
from touchbase.spool.spool import Spool
from touchbase.sql.outage import Outage
from touchbase.sql.worker import Worker
from touchbase.storage import keys_of
from touchbase.tracing.interface import Tracing
from touchbase.tracing.setup import open_tracing
from touchbase.web import Dependencies
from touchbase.workers import Workers, attempts_us, job_files_us, job_worker, outgoing_parts, run_all, running


def periodic_tasks(store: ProcessingStore) -> list[PeriodicTask]:
    """Return the cleanup tasks of the inbox worker: expired idempotency keys and dedupe entries."""
    return [ResponseCleanup(store), DedupeCleanup(store)]


@dataclass(frozen=True, slots=True)
class Shared:
    """Parts shared by the workers of all cells."""

    settings: Settings
    clock: Clock
    store: CellRouter
    metrics: Metrics
    adapters: Adapters
    connections: Connections
    reader: TranslatorPool
    sandbox: Sandbox
    files: Sandbox
    """Reads the files of imports, for previews and jobs."""
    http: HttpClient
    sender: SenderByScheme
    place: Installation
    calls: CallCounts
    """Calls of connections that are counted and not written yet."""
    tracing: Tracing | None
    spool: Spool | None
    oidc: Provider | None

    def workers(self, store: ProcessingStore, outage: Outage, tasks: Sequence[PeriodicTask] = ()) -> Workers:
        """Return workers on one store, which share its outage; `tasks` are done besides the inbox."""
        jobs = job_worker(self.settings, store, self.clock, outage, self.files)
        inbox = InboxWorker(
            store,
            self.reader,
            self.clock,
            connections=self.connections.of,
            on_report=self._count,
            tasks=[*periodic_tasks(store), *tasks],
            outage=outage,
        )
        counted = partial(count_fetch, self.metrics)
        fetch = FetchWorker(
            store,
            self.adapters,
            self.http.send,
            self.clock,
            on_stored=inbox.wake_client,
            on_fetched=counted,
            outage=outage,
            sandbox=self.reader.sandbox,
            stored_bytes=self.settings.max_stored_bytes,
        )
        linker = CompanyLinker(store, self.clock, on_job=jobs.wake, outage=outage)
        dispatcher = Dispatcher(
            store,
            self.sender,
            self.clock,
            AS_IN_API,
            metrics=self.metrics,
            place=self.place,
            tracing=self.tracing,
            outage=outage,
            actors=ActorNames(self.store, self.clock),
            home=self.store,
        )
        agent = f"touchbase/{touchbase.__version__}"
        answers = AnswerWorker(store, self.clock, agent, self.settings.fetch_allowed, outage)
        is_home = store is self.store.home
        notifications = NotificationWorker(store, self.store, self.clock, self.sender.post, self.place, outage, summarizes=is_home)
        return Workers(inbox, fetch, jobs, linker, dispatcher, answers, notifications)

    def _count(self, report: WorkReport) -> None:
        """Add a batch of an inbox worker to the counts."""
        count_report(self.metrics, self.clock, report)
        self.calls.record(report.calls)
        if self.tracing is not None:
            self.tracing.applied(report.traced, report.began_us, self.clock())

    def retention(self, store: ProcessingStore, outage: Outage) -> Retention:
        """Return the background task of pending erasures and expired bodies of one store."""
        limits = UnrecognisedLimits(
            self.settings.keep_unrecognised_days, self.settings.keep_unrecognised_bytes, self.settings.keep_refused_days
        )
        eraser = Eraser(store, self.reader, self.clock, self.connections.of)
        days = self.settings.keep_events_days
        archives = self.settings.objects_events_after_days > 0
        return Retention(store, eraser, self.clock, unrecognised=limits, keep_events_days=days, archives_events=archives, outage=outage)

    def movers(self, store: ProcessingStore, outage: Outage) -> list[Worker]:
        """Return the workers that move bodies and events of one store to object storage, if there is one."""
        bucket = self.store.bucket
        if bucket is None:
            return []
        if bucket.settings.events_after_days:
            check_installed(BadSettings)
        return [BodyMover(store, bucket, self.clock, outage), EventArchiver(store, bucket, self.clock, outage)]

    def maintenance(
        self,
        store: ProcessingStore,
        outage: Outage,
        *,
        uses: KeyUsage | None = None,
        refused: RefusedWebhooks | None = None,
        removes: bool = True,
    ) -> Maintenance:
        """Return the maintenance of one store; with `uses` and `refused` it also stores the process's counts of all clients."""
        return Maintenance(
            store,
            self.clock,
            uses=uses,
            refused=refused,
            calls=self.calls if uses is not None else None,
            removes=removes,
            attempts_us=attempts_us(self.settings),
            audit_us=self.settings.keep_audit_days * DAY,
            max_stored_bytes=self.settings.max_stored_bytes,
            installation=self.store,
            outage=outage,
        )


@contextlib.asynccontextmanager
async def sharing(
    settings: Settings,
    store: CellRouter,
    clock: Clock,
    metrics: Metrics,
    log_name: Callable[[str], str],
    load: Callable[[], Adapters] = load_adapters,
) -> AsyncIterator[Shared]:
    """Open the shared parts and close them in the end, after the workers have stopped. `load` returns the adapters."""
    tracing = open_tracing(touchbase.__version__, log_name) if settings.tracing else None
    sender, place = outgoing_parts(settings, store)
    http, reader = HttpClient(f"touchbase/{touchbase.__version__}", settings.fetch_allowed), TranslatorPool()
    sandbox, files = new_sandbox(), new_file_sandbox()
    async with contextlib.AsyncExitStack() as ending:
        if tracing is not None:
            ending.push_async_callback(tracing.close)
        ending.push_async_callback(sender.close)
        ending.push_async_callback(http.close)
        ending.callback(reader.close)
        ending.callback(sandbox.close)
        ending.callback(files.close)
        connections = Connections(store, clock)
        calls, adapters, spool = CallCounts(clock), load(), _spool(settings, metrics)
        if spool is not None:
            ending.callback(spool.close)
            await ending.enter_async_context(running(spool, "spool"))
        oidc = _provider(settings, clock, ending)
        yield Shared(
            settings, clock, store, metrics, adapters, connections, reader, sandbox, files, http, sender, place, calls, tracing, spool, oidc
        )


def _provider(settings: Settings, clock: Clock, ending: contextlib.AsyncExitStack) -> Provider | None:
    """Return the OpenID provider of the settings; its HTTP client may reach private addresses."""
    if settings.oidc is None:
        return None
    issuer = urlsplit(settings.oidc.issuer)
    allowed = [*settings.fetch_allowed, f"{issuer.scheme}://{issuer.netloc}"]
    http = HttpClient(f"touchbase/{touchbase.__version__}", allowed, "correct TOUCHBASE_OIDC_ISSUER or the provider's configuration")
    ending.push_async_callback(http.close)
    return Provider(settings.oidc, http.send, clock, settings.public_url.rstrip("/"))


def _spool(settings: Settings, metrics: Metrics) -> Spool | None:
    """Return the spool of webhooks, if there is to be one. It stores nothing before the web application is built."""
    if not settings.spool:
        return None
    cipher = AesGcmCipher(keys_of(settings.database, EncryptionKeys(settings.encryption_key, settings.encryption_key_old)))
    return Spool(Path(settings.spool), settings.max_spool_bytes, cipher, metrics)


@dataclass(slots=True)
class Fleet:
    """The sets of workers of a process, by the number of their cell, the home store first."""

    cell_of: Callable[[int], int]
    """Returns the cell of a client."""
    sets: dict[int, Workers] = field(default_factory=dict)
    maintenances: list[Maintenance] = field(default_factory=list)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def wake_inbox(self, client: int) -> None:
        """Look for new deliveries of a client now."""
        workers = self.sets.get(self.cell_of(client))
        if workers is not None:
            workers.inbox.wake_client(client)

    def wake_jobs(self) -> None:
        """Look for new jobs now."""
        for workers in self.sets.values():
            workers.jobs.wake()

    def wake_dispatchers(self) -> None:
        """Look for changed endpoints now."""
        for workers in self.sets.values():
            workers.webhooks.wake()

    def wake_maintenance(self) -> None:
        """Start the next round of maintenance now."""
        for maintenance in self.maintenances:
            maintenance.wake()

    async def run(self) -> None:
        """Run all workers until `stop`."""
        await asyncio.gather(self.stopping.wait(), *(workers.run() for workers in self.sets.values()))

    def stop(self) -> None:
        """Finish the current batches, then return from `run`."""
        self.stopping.set()
        for workers in self.sets.values():
            workers.stop()

    async def drain(self) -> tuple[WorkReport, int]:
        """Do due work in every cell; return the report and the number of fetches."""
        report, requests = WorkReport(), 0
        for workers in self.sets.values():
            done, count = await workers.drain()
            add_report(report, done)
            requests += count
        return report, requests


async def start_cell(shared: Shared, fleet: Fleet, ending: contextlib.AsyncExitStack, runs: bool, cell: CellStore) -> None:
    """Start the maintenance of a cell and, if this process `runs` workers, its workers, like the home store's."""
    workers, maintenance = shared.workers(cell.store, cell.outage), shared.maintenance(cell.store, cell.outage, removes=runs)
    retention = shared.retention(cell.store, cell.outage)
    fleet.sets[cell.cell.number] = workers
    fleet.maintenances.append(maintenance)
    every: list[Worker] = [
        workers.webhooks,
        workers.jobs,
        workers.linker,
        workers.inbox,
        workers.fetch,
        workers.answers,
        workers.notifications,
        retention,
        *shared.movers(cell.store, cell.outage),
    ]
    await run_all([maintenance, *(every if runs else [])], ending)


def web_parts(shared: Shared, fleet: Fleet, *, auth: AuthMode, uses: KeyUsage, refused: RefusedWebhooks) -> Dependencies:
    """Return the dependencies of the web application; requests wake `fleet` for new work."""
    settings, store = shared.settings, shared.store
    return Dependencies(
        store=store,
        clock=shared.clock,
        auth=auth,
        limits=body_limits(settings),
        version=touchbase.__version__,
        on_stored=fleet.wake_inbox,
        read=shared.reader,
        sandbox=shared.sandbox,
        previews=Previews(shared.files),
        senders=shared.adapters,
        connections=shared.connections,
        public_url=settings.public_url.rstrip("/"),
        fetch_allowed=settings.fetch_allowed,
        protocol_answer=shared.adapters.protocol_answer,
        metrics=shared.metrics,
        key_uses=uses,
        on_deleting=fleet.wake_maintenance,
        on_job=fleet.wake_jobs,
        on_endpoint=fleet.wake_dispatchers,
        oidc=shared.oidc,
        send_webhook=shared.sender.post,
        webhook_allowed=settings.webhook_allowed,
        installation=shared.place,
        keep_job_files_us=job_files_us(settings),
        keep_events_us=settings.keep_events_days * DAY,
        limiter=limiter(settings),
        failed_keys=KeyThrottle(settings.rate_limit_failed_keys),
        refused=refused,
        failed_calls=WebhookThrottle(settings.rate_limit_failed_calls),
        feed=Feed(store, settings.max_waiting),
        tracing=shared.tracing,
        spool=shared.spool,
        cell_of_name=store.placement.cell_of_name,
    )


def body_limits(settings: Settings) -> RequestLimits:
    """Return the limits of request bodies."""
    return RequestLimits(
        api_body_bytes=settings.max_api_body_bytes,
        batch_body_bytes=settings.max_batch_body_bytes,
        page_bytes=settings.page_bytes,
        webhook_body_bytes=settings.max_webhook_body_bytes,
        file_bytes=settings.max_import_bytes,
        import_previews=settings.max_import_previews,
        stored_bytes=settings.max_stored_bytes,
        file_seconds=settings.import_timeout,
        body_seconds=settings.body_timeout,
        body_idle_seconds=settings.body_idle_timeout,
    )
