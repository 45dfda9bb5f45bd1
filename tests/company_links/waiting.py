"""A client with a contact that waits for a company with the domain of its address."""

from __future__ import annotations

from dataclasses import replace

from touchbase.clients.sql.clients import find_client_by_number, set_client_settings
from touchbase.company_links.plans import link_page, start_linking
from touchbase.jobs.sql import list_jobs
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation
from touchbase.sql.store import Store


async def wait_for_a_company(store: Store, number: int, at: int = 5) -> None:
    """Turn the links on, and let a contact wait; the setting is off again afterwards."""
    client = await store.read(find_client_by_number(number))
    assert client is not None
    settings = client.settings
    await store.write(set_client_settings(client.client_id, replace(settings, link_companies_by_email="existing")))
    contact = await store.write(create_contact(Creation(Contact(number, 0, at, at, email="wait@roofs.com", email_key="wait@roofs.com"))))
    await store.write(start_linking(number, at))
    [job, *_] = await store.read(list_jobs(number, 1, kind="contacts.link_companies"))
    await store.write(link_page(number, job.id, contact.record.id - 1, 1, at))
    await store.write(set_client_settings(client.client_id, settings))
