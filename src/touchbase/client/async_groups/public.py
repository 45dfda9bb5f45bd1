"""Groups of operations of the asynchronous client: public. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.async_calls import AsyncCall, AsyncFileCall, AsyncGroup, AsyncIterate, AsyncWriteCall
from touchbase.client.async_follow import AsyncEventsGroup
from touchbase.client.async_waiting import AsyncJobsGroup
from touchbase.client.requests import (
    companies, company_custom_fields, company_statuses, contact_custom_fields, contact_statuses, contacts, deliveries, events,
    exports, imports, jobs, messages, reports, suppressions, webhook_endpoints, webhooks,
)


class AsyncContacts(AsyncGroup):
    """Contacts of one client."""

    list = AsyncCall(contacts.list_contacts)
    iterate = AsyncIterate(contacts.list_contacts)
    list_numbered = AsyncCall(contacts.list_contacts_numbered)
    search = AsyncCall(contacts.search_contacts)
    iterate_search = AsyncIterate(contacts.search_contacts)
    match = AsyncCall(contacts.match_contacts)
    get = AsyncCall(contacts.get_contact)
    create = AsyncWriteCall(contacts.create_contact)
    upsert = AsyncWriteCall(contacts.upsert_contact)
    update = AsyncWriteCall(contacts.update_contact)
    delete = AsyncWriteCall(contacts.delete_contact)
    restore = AsyncWriteCall(contacts.restore_contact)
    batch = AsyncCall(contacts.batch_contacts)
    update_matching = AsyncCall(contacts.update_contacts)
    merge = AsyncCall(contacts.merge_contacts)
    undo_merge = AsyncCall(contacts.undo_contact_merge)
    timeline = AsyncCall(contacts.get_contact_timeline)
    iterate_timeline = AsyncIterate(contacts.get_contact_timeline)
    history = AsyncCall(contacts.get_contact_history)
    iterate_history = AsyncIterate(contacts.get_contact_history)
    explain = AsyncCall(contacts.explain_contact)
    suppression = AsyncCall(contacts.get_contact_suppression)
    list_deleted = AsyncCall(contacts.list_deleted_contacts)
    iterate_deleted = AsyncIterate(contacts.list_deleted_contacts)
    list_duplicates = AsyncCall(contacts.list_duplicate_contacts)
    iterate_duplicates = AsyncIterate(contacts.list_duplicate_contacts)
    erase = AsyncCall(contacts.erase_contact)
    export_person = AsyncCall(contacts.export_contact)
    list_erasures = AsyncCall(contacts.list_erasures)
    iterate_erasures = AsyncIterate(contacts.list_erasures)


class AsyncCompanies(AsyncGroup):
    """Companies of one client."""

    list = AsyncCall(companies.list_companies)
    iterate = AsyncIterate(companies.list_companies)
    list_numbered = AsyncCall(companies.list_companies_numbered)
    search = AsyncCall(companies.search_companies)
    iterate_search = AsyncIterate(companies.search_companies)
    match = AsyncCall(companies.match_companies)
    get = AsyncCall(companies.get_company)
    create = AsyncWriteCall(companies.create_company)
    upsert = AsyncWriteCall(companies.upsert_company)
    update = AsyncWriteCall(companies.update_company)
    delete = AsyncWriteCall(companies.delete_company)
    restore = AsyncWriteCall(companies.restore_company)
    batch = AsyncCall(companies.batch_companies)
    update_matching = AsyncCall(companies.update_companies)
    merge = AsyncCall(companies.merge_companies)
    undo_merge = AsyncCall(companies.undo_company_merge)
    timeline = AsyncCall(companies.get_company_timeline)
    iterate_timeline = AsyncIterate(companies.get_company_timeline)
    history = AsyncCall(companies.get_company_history)
    iterate_history = AsyncIterate(companies.get_company_history)
    explain = AsyncCall(companies.explain_company)
    suppression = AsyncCall(companies.get_company_suppression)
    list_deleted = AsyncCall(companies.list_deleted_companies)
    iterate_deleted = AsyncIterate(companies.list_deleted_companies)
    list_duplicates = AsyncCall(companies.list_duplicate_companies)
    iterate_duplicates = AsyncIterate(companies.list_duplicate_companies)


class AsyncImports(AsyncGroup):
    """Files ▸ records."""

    contacts = AsyncCall(imports.import_contacts)
    companies = AsyncCall(imports.import_companies)
    start = AsyncCall(imports.start_import)
    list_contact_mappings = AsyncCall(imports.list_contact_import_mappings)
    delete_contact_mapping = AsyncCall(imports.delete_contact_import_mapping)
    list_company_mappings = AsyncCall(imports.list_company_import_mappings)
    delete_company_mapping = AsyncCall(imports.delete_company_import_mapping)


class AsyncExports(AsyncGroup):
    """Records ▸ files."""

    contacts = AsyncFileCall(exports.export_contacts)
    companies = AsyncFileCall(exports.export_companies)
    start_contacts = AsyncCall(exports.start_contacts_export)
    start_companies = AsyncCall(exports.start_companies_export)


class AsyncJobs(AsyncJobsGroup):
    """Long work in the background: imports, exports, renames."""

    list = AsyncCall(jobs.list_jobs)
    iterate = AsyncIterate(jobs.list_jobs)
    get = AsyncCall(jobs.get_job)
    cancel = AsyncCall(jobs.cancel_job)
    result = AsyncFileCall(jobs.get_job_result)
    bad_rows = AsyncFileCall(jobs.get_job_bad_rows)


class AsyncMessages(AsyncGroup):
    """Sent and received mails and LinkedIn messages."""

    list = AsyncCall(messages.list_messages)
    iterate = AsyncIterate(messages.list_messages)
    get = AsyncCall(messages.get_message)
    create = AsyncCall(messages.create_message)
    delete = AsyncCall(messages.delete_message)
    set_interested = AsyncCall(messages.set_message_interested)


class AsyncEvents(AsyncEventsGroup):
    """The log of everything that changed."""

    list = AsyncCall(events.list_events)
    samples = AsyncCall(events.list_event_samples)


class AsyncSuppressions(AsyncGroup):
    """Who must not be contacted."""

    list = AsyncCall(suppressions.list_suppressions)
    iterate = AsyncIterate(suppressions.list_suppressions)
    list_csv = AsyncCall(suppressions.list_suppressions_csv)
    save = AsyncCall(suppressions.save_suppressions)
    check = AsyncCall(suppressions.check_suppressions)
    get = AsyncCall(suppressions.get_suppression)
    remove = AsyncWriteCall(suppressions.remove_suppression)


class AsyncContactCustomFields(AsyncGroup):
    """Custom fields of contacts."""

    list = AsyncCall(contact_custom_fields.list_contact_custom_fields)
    iterate = AsyncIterate(contact_custom_fields.list_contact_custom_fields)
    get = AsyncCall(contact_custom_fields.get_contact_custom_field)
    define = AsyncCall(contact_custom_fields.define_contact_custom_field)
    change = AsyncWriteCall(contact_custom_fields.change_contact_custom_field)
    remove = AsyncWriteCall(contact_custom_fields.remove_contact_custom_field)
    merge = AsyncWriteCall(contact_custom_fields.merge_contact_custom_field)
    merge_values = AsyncWriteCall(contact_custom_fields.merge_contact_custom_field_values)


class AsyncCompanyCustomFields(AsyncGroup):
    """Custom fields of companies."""

    list = AsyncCall(company_custom_fields.list_company_custom_fields)
    iterate = AsyncIterate(company_custom_fields.list_company_custom_fields)
    get = AsyncCall(company_custom_fields.get_company_custom_field)
    define = AsyncCall(company_custom_fields.define_company_custom_field)
    change = AsyncWriteCall(company_custom_fields.change_company_custom_field)
    remove = AsyncWriteCall(company_custom_fields.remove_company_custom_field)
    merge = AsyncWriteCall(company_custom_fields.merge_company_custom_field)
    merge_values = AsyncWriteCall(company_custom_fields.merge_company_custom_field_values)


class AsyncContactStatuses(AsyncGroup):
    """Statuses of contacts."""

    define = AsyncCall(contact_statuses.define_contact_status)
    rename = AsyncWriteCall(contact_statuses.rename_contact_status)
    remove = AsyncCall(contact_statuses.remove_contact_status)
    merge = AsyncWriteCall(contact_statuses.merge_contact_status)
    list = AsyncCall(contact_statuses.list_contact_statuses)
    iterate = AsyncIterate(contact_statuses.list_contact_statuses)


class AsyncCompanyStatuses(AsyncGroup):
    """Statuses of companies."""

    define = AsyncCall(company_statuses.define_company_status)
    rename = AsyncWriteCall(company_statuses.rename_company_status)
    remove = AsyncCall(company_statuses.remove_company_status)
    merge = AsyncWriteCall(company_statuses.merge_company_status)
    list = AsyncCall(company_statuses.list_company_statuses)
    iterate = AsyncIterate(company_statuses.list_company_statuses)


class AsyncReports(AsyncGroup):
    """Counts by status, campaign, tool and time."""

    contacts_by_status = AsyncCall(reports.report_contacts_by_status)
    companies_by_status = AsyncCall(reports.report_companies_by_status)
    campaigns = AsyncCall(reports.report_campaigns)


class AsyncWebhookEndpoints(AsyncGroup):
    """Where Touchbase sends events to, and its attempts."""

    list = AsyncCall(webhook_endpoints.list_webhook_endpoints)
    iterate = AsyncIterate(webhook_endpoints.list_webhook_endpoints)
    get = AsyncCall(webhook_endpoints.get_webhook_endpoint)
    add = AsyncCall(webhook_endpoints.add_webhook_endpoint)
    change = AsyncCall(webhook_endpoints.change_webhook_endpoint)
    remove = AsyncCall(webhook_endpoints.remove_webhook_endpoint)
    preview = AsyncCall(webhook_endpoints.preview_webhook)
    rotate_secret = AsyncCall(webhook_endpoints.rotate_webhook_secret)
    resume = AsyncCall(webhook_endpoints.resume_webhook_endpoint)
    test = AsyncCall(webhook_endpoints.test_webhook_endpoint)
    replay = AsyncCall(webhook_endpoints.replay_webhooks)
    list_attempts = AsyncCall(webhook_endpoints.list_webhook_attempts)
    iterate_attempts = AsyncIterate(webhook_endpoints.list_webhook_attempts)


class AsyncWebhooks(AsyncGroup):
    """Webhooks as tools send them, for tests."""

    emailcampaign = AsyncCall(webhooks.emailcampaign_webhook)
    check_emailcampaign = AsyncCall(webhooks.check_emailcampaign_webhook)
    crm = AsyncCall(webhooks.crm_webhook)
    check_crm = AsyncCall(webhooks.check_crm_webhook)


class AsyncDeliveries(AsyncGroup):
    """Received webhooks of all clients: the inbox."""

    list = AsyncCall(deliveries.list_deliveries)
    iterate = AsyncIterate(deliveries.list_deliveries)
    get = AsyncCall(deliveries.get_delivery)
    count = AsyncCall(deliveries.count_deliveries)
    group = AsyncCall(deliveries.group_deliveries)
    replay = AsyncCall(deliveries.replay_delivery)
    replay_matching = AsyncCall(deliveries.replay_deliveries)
    list_refusals = AsyncCall(deliveries.list_refusals)
    iterate_refusals = AsyncIterate(deliveries.list_refusals)
    get_refused = AsyncCall(deliveries.get_refused_webhook)
    replay_refused = AsyncCall(deliveries.replay_refused_webhook)
