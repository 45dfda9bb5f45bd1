"""The workers of a process: inbox, fetching, jobs and outgoing webhooks; with every kind of job that there is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import touchbase
from touchbase.answering.worker import AnswerWorker
from touchbase.changes.job import KINDS as CHANGE_KINDS
from touchbase.common.timestamps import DAY, SECOND, Clock, Micros
from touchbase.company_links.job import KINDS as LINK_KINDS
from touchbase.company_links.worker import CompanyLinker
from touchbase.config import Settings
from touchbase.custom_fields.job import KINDS as CUSTOM_FIELD_KINDS
from touchbase.deliveries.work import WorkReport
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker
from touchbase.exports.job import export_kinds
from touchbase.imports.job import KINDS as IMPORT_KINDS
from touchbase.imports.preview import new_file_sandbox
from touchbase.inbox.worker import InboxWorker, add_report
from touchbase.jobs.runner import JobKind
from touchbase.jobs.worker import JobWorker
from touchbase.loading.job import LoadKind
from touchbase.mapping.job import KINDS as MAPPING_KINDS
from touchbase.notifying.worker import NotificationWorker
from touchbase.outgoing.blocklists import BlocklistClient
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.outgoing.http_client import WebhookClient
from touchbase.outgoing.hubspot_client import HubSpotClient
from touchbase.outgoing.mail_client import MailClient, SenderByScheme
from touchbase.outgoing.models import Installation
from touchbase.sandbox.pool import Sandbox
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import Worker
from touchbase.statuses.job import KINDS as STATUS_KINDS

HOUR: Micros = 3600 * SECOND


def job_files_us(settings: Settings) -> Micros:
    """Return how long the files of jobs are stored."""
    return settings.keep_job_files_days * DAY or HOUR


def attempts_us(settings: Settings) -> Micros:
    """Return how long attempts of outgoing webhooks are stored; 0: for ever."""
    return settings.keep_webhook_attempts_days * DAY


def job_kinds(settings: Settings) -> tuple[JobKind, ...]:
    """Return every kind of job; a capability with a new one adds it here."""
    load = LoadKind(f"touchbase/{touchbase.__version__}", settings.fetch_allowed, settings.max_stored_bytes)
    fields = (*STATUS_KINDS, *CUSTOM_FIELD_KINDS)
    return (*IMPORT_KINDS, *export_kinds(settings.page_bytes), *fields, *LINK_KINDS, *CHANGE_KINDS, *MAPPING_KINDS, load)


def job_worker(settings: Settings, store: Store, clock: Clock, outage: Outage | None = None, sandbox: Sandbox | None = None) -> JobWorker:
    """Return the worker of all kinds of jobs; `sandbox` reads the files of imports."""
    files = sandbox or new_file_sandbox()
    return JobWorker(store, clock, job_kinds(settings), keep_files_us=job_files_us(settings), outage=outage, sandbox=files)


@dataclass(frozen=True, slots=True)
class Workers:
    """The inbox worker, the fetch worker, the workers of jobs, links, outgoing webhooks, answers and notifications, without a server."""

    inbox: InboxWorker
    fetch: FetchWorker
    jobs: JobWorker
    linker: CompanyLinker
    webhooks: Dispatcher
    answers: AnswerWorker
    notifications: NotificationWorker

    async def run(self) -> None:
        """Run all workers until `stop`."""
        workers = (self.inbox, self.fetch, self.jobs, self.linker, self.webhooks, self.answers, self.notifications)
        await asyncio.gather(*(worker.run() for worker in workers))

    def stop(self) -> None:
        """Finish the current batches, then return from `run`."""
        self.notifications.stop()
        self.answers.stop()
        self.webhooks.stop()
        self.linker.stop()
        self.jobs.stop()
        self.fetch.stop()
        self.inbox.stop()

    async def drain(self) -> tuple[WorkReport, int]:
        """Run due jobs, apply due deliveries, fetch the records that they need, link contacts, send due webhooks.

        Returns the report and the number of fetches.
        """
        await self.jobs.drain()
        report, requests = await self.inbox.drain(), 0
        while more := await self.fetch.drain():
            requests += more
            add_report(report, await self.inbox.drain())
        await self.linker.drain()
        await self.jobs.drain()  # the linker may have begun some
        await self.answers.drain()
        await self.webhooks.drain()
        await self.notifications.drain()
        return report, requests


@contextlib.asynccontextmanager
async def running(worker: Worker, name: str) -> AsyncIterator[None]:
    """Run a worker until the end of the context, and let it finish its current step."""
    working = asyncio.create_task(worker.run(), name=name)
    try:
        yield
    finally:
        worker.stop()
        await working


async def run_all(workers: Sequence[Worker], ending: contextlib.AsyncExitStack) -> None:
    """Run these workers until the end of the stack; the last one ends first."""
    for worker in workers:
        await ending.enter_async_context(running(worker, type(worker).__name__))


def outgoing_parts(settings: Settings, store: Store) -> tuple[SenderByScheme, Installation]:
    """Return the sender of outgoing webhooks, messages and write-back, and the installation's data for messages to people."""
    agent = f"touchbase/{touchbase.__version__}"
    http, tools = WebhookClient(agent, settings.webhook_allowed), HttpClient(agent, settings.fetch_allowed)
    domains = settings.recipient_domains
    place = Installation(settings.public_url.rstrip("/"), settings.smtp_from, mail_domains=domains, slack_token=settings.slack_token)
    mail = MailClient(settings.smtp_url, settings.smtp_from, domains)
    return SenderByScheme(http, mail, HubSpotClient(store, tools.send, tools.close), BlocklistClient(store, tools.send, tools.close)), place
