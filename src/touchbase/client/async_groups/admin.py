"""Groups of operations of the asynchronous client: admin. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.async_calls import AsyncCall, AsyncGroup, AsyncIterate, AsyncSender, AsyncWriteCall
from touchbase.client.requests import (
    admin, admin_cells, admin_clients, admin_companies, admin_connections, admin_contacts, admin_keys, admin_reports,
    admin_suppressions,
)


class AsyncAdminCells(AsyncGroup):
    """The stores that clients live in."""

    list = AsyncCall(admin_cells.list_cells)


class AsyncAdminClients(AsyncGroup):
    """Clients and their settings."""

    list = AsyncCall(admin_clients.list_clients)
    iterate = AsyncIterate(admin_clients.list_clients)
    get = AsyncCall(admin_clients.get_client)
    create = AsyncCall(admin_clients.create_client)
    put = AsyncCall(admin_clients.put_client)
    rename = AsyncCall(admin_clients.rename_client)
    delete = AsyncCall(admin_clients.delete_client)
    suspend = AsyncCall(admin_clients.suspend_client)
    resume = AsyncCall(admin_clients.resume_client)
    rotate_id = AsyncCall(admin_clients.rotate_client_id)


class AsyncAdminConnections(AsyncGroup):
    """Tools of a client, their secrets and settings."""

    list = AsyncCall(admin_connections.list_connections)
    get = AsyncCall(admin_connections.get_connection)
    connect = AsyncCall(admin_connections.connect)
    change = AsyncCall(admin_connections.change_connection)
    disconnect = AsyncCall(admin_connections.disconnect)
    list_silences = AsyncCall(admin_connections.list_silences)


class AsyncAdminKeys(AsyncGroup):
    """API keys."""

    list = AsyncCall(admin_keys.list_keys)
    iterate = AsyncIterate(admin_keys.list_keys)
    get = AsyncCall(admin_keys.get_key)
    create = AsyncCall(admin_keys.create_key)
    revoke = AsyncCall(admin_keys.revoke_key)
    rotate = AsyncCall(admin_keys.rotate_key)


class AsyncAdminContacts(AsyncGroup):
    """Contacts of all clients."""

    list = AsyncCall(admin_contacts.list_contacts_of_all_clients)
    iterate = AsyncIterate(admin_contacts.list_contacts_of_all_clients)
    match = AsyncCall(admin_contacts.match_contacts_of_all_clients)


class AsyncAdminCompanies(AsyncGroup):
    """Companies of all clients."""

    list = AsyncCall(admin_companies.list_companies_of_all_clients)
    iterate = AsyncIterate(admin_companies.list_companies_of_all_clients)
    match = AsyncCall(admin_companies.match_companies_of_all_clients)


class AsyncAdminSuppressions(AsyncGroup):
    """Who no client may contact."""

    list = AsyncCall(admin_suppressions.list_installation_suppressions)
    iterate = AsyncIterate(admin_suppressions.list_installation_suppressions)
    list_csv = AsyncCall(admin_suppressions.list_installation_suppressions_csv)
    save = AsyncCall(admin_suppressions.save_installation_suppressions)
    check = AsyncCall(admin_suppressions.check_installation_suppressions)
    get = AsyncCall(admin_suppressions.get_installation_suppression)
    remove = AsyncWriteCall(admin_suppressions.remove_installation_suppression)


class AsyncAdminReports(AsyncGroup):
    """Reports of each client."""

    contacts_by_status = AsyncCall(admin_reports.report_contacts_by_status_of_all_clients)
    iterate_contacts_by_status = AsyncIterate(admin_reports.report_contacts_by_status_of_all_clients)
    companies_by_status = AsyncCall(admin_reports.report_companies_by_status_of_all_clients)
    iterate_companies_by_status = AsyncIterate(admin_reports.report_companies_by_status_of_all_clients)
    campaigns = AsyncCall(admin_reports.report_campaigns_of_all_clients)
    iterate_campaigns = AsyncIterate(admin_reports.report_campaigns_of_all_clients)


class AsyncAdmin(AsyncGroup):
    """What only administrators may do."""

    status = AsyncCall(admin.get_status)

    def __init__(self, sender: AsyncSender) -> None:
        super().__init__(sender)
        self.clients = AsyncAdminClients(sender)
        self.cells = AsyncAdminCells(sender)
        self.keys = AsyncAdminKeys(sender)
        self.connections = AsyncAdminConnections(sender)
        self.contacts = AsyncAdminContacts(sender)
        self.companies = AsyncAdminCompanies(sender)
        self.suppressions = AsyncAdminSuppressions(sender)
        self.reports = AsyncAdminReports(sender)
