"""Groups of operations of the synchronous client: public. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.calls import Call, FileCall, Group, Iterate, WriteCall
from touchbase.client.follow import EventsGroup
from touchbase.client.waiting import JobsGroup
from touchbase.client.requests import (
    companies, company_custom_fields, company_statuses, contact_custom_fields, contact_statuses, contacts, deliveries, events,
    exports, imports, jobs, messages, reports, suppressions, webhook_endpoints, webhooks,
)


class Contacts(Group):
    """Contacts of one client."""

    list = Call(contacts.list_contacts)
    iterate = Iterate(contacts.list_contacts)
    list_numbered = Call(contacts.list_contacts_numbered)
    search = Call(contacts.search_contacts)
    iterate_search = Iterate(contacts.search_contacts)
    match = Call(contacts.match_contacts)
    get = Call(contacts.get_contact)
    create = WriteCall(contacts.create_contact)
    upsert = WriteCall(contacts.upsert_contact)
    update = WriteCall(contacts.update_contact)
    delete = WriteCall(contacts.delete_contact)
    restore = WriteCall(contacts.restore_contact)
    batch = Call(contacts.batch_contacts)
    update_matching = Call(contacts.update_contacts)
    merge = Call(contacts.merge_contacts)
    undo_merge = Call(contacts.undo_contact_merge)
    timeline = Call(contacts.get_contact_timeline)
    iterate_timeline = Iterate(contacts.get_contact_timeline)
    history = Call(contacts.get_contact_history)
    iterate_history = Iterate(contacts.get_contact_history)
    explain = Call(contacts.explain_contact)
    suppression = Call(contacts.get_contact_suppression)
    list_deleted = Call(contacts.list_deleted_contacts)
    iterate_deleted = Iterate(contacts.list_deleted_contacts)
    list_duplicates = Call(contacts.list_duplicate_contacts)
    iterate_duplicates = Iterate(contacts.list_duplicate_contacts)
    erase = Call(contacts.erase_contact)
    export_person = Call(contacts.export_contact)
    list_erasures = Call(contacts.list_erasures)
    iterate_erasures = Iterate(contacts.list_erasures)


class Companies(Group):
    """Companies of one client."""

    list = Call(companies.list_companies)
    iterate = Iterate(companies.list_companies)
    list_numbered = Call(companies.list_companies_numbered)
    search = Call(companies.search_companies)
    iterate_search = Iterate(companies.search_companies)
    match = Call(companies.match_companies)
    get = Call(companies.get_company)
    create = WriteCall(companies.create_company)
    upsert = WriteCall(companies.upsert_company)
    update = WriteCall(companies.update_company)
    delete = WriteCall(companies.delete_company)
    restore = WriteCall(companies.restore_company)
    batch = Call(companies.batch_companies)
    update_matching = Call(companies.update_companies)
    merge = Call(companies.merge_companies)
    undo_merge = Call(companies.undo_company_merge)
    timeline = Call(companies.get_company_timeline)
    iterate_timeline = Iterate(companies.get_company_timeline)
    history = Call(companies.get_company_history)
    iterate_history = Iterate(companies.get_company_history)
    explain = Call(companies.explain_company)
    suppression = Call(companies.get_company_suppression)
    list_deleted = Call(companies.list_deleted_companies)
    iterate_deleted = Iterate(companies.list_deleted_companies)
    list_duplicates = Call(companies.list_duplicate_companies)
    iterate_duplicates = Iterate(companies.list_duplicate_companies)


class Imports(Group):
    """Files ▸ records."""

    contacts = Call(imports.import_contacts)
    companies = Call(imports.import_companies)
    start = Call(imports.start_import)
    list_contact_mappings = Call(imports.list_contact_import_mappings)
    delete_contact_mapping = Call(imports.delete_contact_import_mapping)
    list_company_mappings = Call(imports.list_company_import_mappings)
    delete_company_mapping = Call(imports.delete_company_import_mapping)


class Exports(Group):
    """Records ▸ files."""

    contacts = FileCall(exports.export_contacts)
    companies = FileCall(exports.export_companies)
    start_contacts = Call(exports.start_contacts_export)
    start_companies = Call(exports.start_companies_export)


class Jobs(JobsGroup):
    """Long work in the background: imports, exports, renames."""

    list = Call(jobs.list_jobs)
    iterate = Iterate(jobs.list_jobs)
    get = Call(jobs.get_job)
    cancel = Call(jobs.cancel_job)
    result = FileCall(jobs.get_job_result)
    bad_rows = FileCall(jobs.get_job_bad_rows)


class Messages(Group):
    """Sent and received mails and LinkedIn messages."""

    list = Call(messages.list_messages)
    iterate = Iterate(messages.list_messages)
    get = Call(messages.get_message)
    create = Call(messages.create_message)
    delete = Call(messages.delete_message)
    set_interested = Call(messages.set_message_interested)


class Events(EventsGroup):
    """The log of everything that changed."""

    list = Call(events.list_events)
    samples = Call(events.list_event_samples)


class Suppressions(Group):
    """Who must not be contacted."""

    list = Call(suppressions.list_suppressions)
    iterate = Iterate(suppressions.list_suppressions)
    list_csv = Call(suppressions.list_suppressions_csv)
    save = Call(suppressions.save_suppressions)
    check = Call(suppressions.check_suppressions)
    get = Call(suppressions.get_suppression)
    remove = WriteCall(suppressions.remove_suppression)


class ContactCustomFields(Group):
    """Custom fields of contacts."""

    list = Call(contact_custom_fields.list_contact_custom_fields)
    iterate = Iterate(contact_custom_fields.list_contact_custom_fields)
    get = Call(contact_custom_fields.get_contact_custom_field)
    define = Call(contact_custom_fields.define_contact_custom_field)
    change = WriteCall(contact_custom_fields.change_contact_custom_field)
    remove = WriteCall(contact_custom_fields.remove_contact_custom_field)
    merge = WriteCall(contact_custom_fields.merge_contact_custom_field)
    merge_values = WriteCall(contact_custom_fields.merge_contact_custom_field_values)


class CompanyCustomFields(Group):
    """Custom fields of companies."""

    list = Call(company_custom_fields.list_company_custom_fields)
    iterate = Iterate(company_custom_fields.list_company_custom_fields)
    get = Call(company_custom_fields.get_company_custom_field)
    define = Call(company_custom_fields.define_company_custom_field)
    change = WriteCall(company_custom_fields.change_company_custom_field)
    remove = WriteCall(company_custom_fields.remove_company_custom_field)
    merge = WriteCall(company_custom_fields.merge_company_custom_field)
    merge_values = WriteCall(company_custom_fields.merge_company_custom_field_values)


class ContactStatuses(Group):
    """Statuses of contacts."""

    define = Call(contact_statuses.define_contact_status)
    rename = WriteCall(contact_statuses.rename_contact_status)
    remove = Call(contact_statuses.remove_contact_status)
    merge = WriteCall(contact_statuses.merge_contact_status)
    list = Call(contact_statuses.list_contact_statuses)
    iterate = Iterate(contact_statuses.list_contact_statuses)


class CompanyStatuses(Group):
    """Statuses of companies."""

    define = Call(company_statuses.define_company_status)
    rename = WriteCall(company_statuses.rename_company_status)
    remove = Call(company_statuses.remove_company_status)
    merge = WriteCall(company_statuses.merge_company_status)
    list = Call(company_statuses.list_company_statuses)
    iterate = Iterate(company_statuses.list_company_statuses)


class Reports(Group):
    """Counts by status, campaign, tool and time."""

    contacts_by_status = Call(reports.report_contacts_by_status)
    companies_by_status = Call(reports.report_companies_by_status)
    campaigns = Call(reports.report_campaigns)


class WebhookEndpoints(Group):
    """Where Touchbase sends events to, and its attempts."""

    list = Call(webhook_endpoints.list_webhook_endpoints)
    iterate = Iterate(webhook_endpoints.list_webhook_endpoints)
    get = Call(webhook_endpoints.get_webhook_endpoint)
    add = Call(webhook_endpoints.add_webhook_endpoint)
    change = Call(webhook_endpoints.change_webhook_endpoint)
    remove = Call(webhook_endpoints.remove_webhook_endpoint)
    preview = Call(webhook_endpoints.preview_webhook)
    rotate_secret = Call(webhook_endpoints.rotate_webhook_secret)
    resume = Call(webhook_endpoints.resume_webhook_endpoint)
    test = Call(webhook_endpoints.test_webhook_endpoint)
    replay = Call(webhook_endpoints.replay_webhooks)
    list_attempts = Call(webhook_endpoints.list_webhook_attempts)
    iterate_attempts = Iterate(webhook_endpoints.list_webhook_attempts)


class Webhooks(Group):
    """Webhooks as tools send them, for tests."""

    emailcampaign = Call(webhooks.emailcampaign_webhook)
    check_emailcampaign = Call(webhooks.check_emailcampaign_webhook)
    crm = Call(webhooks.crm_webhook)
    check_crm = Call(webhooks.check_crm_webhook)


class Deliveries(Group):
    """Received webhooks of all clients: the inbox."""

    list = Call(deliveries.list_deliveries)
    iterate = Iterate(deliveries.list_deliveries)
    get = Call(deliveries.get_delivery)
    count = Call(deliveries.count_deliveries)
    group = Call(deliveries.group_deliveries)
    replay = Call(deliveries.replay_delivery)
    replay_matching = Call(deliveries.replay_deliveries)
    list_refusals = Call(deliveries.list_refusals)
    iterate_refusals = Iterate(deliveries.list_refusals)
    get_refused = Call(deliveries.get_refused_webhook)
    replay_refused = Call(deliveries.replay_refused_webhook)
