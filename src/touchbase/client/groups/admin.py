"""Groups of operations of the synchronous client: admin. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.calls import Call, Group, Iterate, Sender, WriteCall
from touchbase.client.requests import (
    admin, admin_cells, admin_clients, admin_companies, admin_connections, admin_contacts, admin_keys, admin_reports,
    admin_suppressions,
)


class AdminCells(Group):
    """The stores that clients live in."""

    list = Call(admin_cells.list_cells)


class AdminClients(Group):
    """Clients and their settings."""

    list = Call(admin_clients.list_clients)
    iterate = Iterate(admin_clients.list_clients)
    get = Call(admin_clients.get_client)
    create = Call(admin_clients.create_client)
    put = Call(admin_clients.put_client)
    rename = Call(admin_clients.rename_client)
    delete = Call(admin_clients.delete_client)
    suspend = Call(admin_clients.suspend_client)
    resume = Call(admin_clients.resume_client)
    rotate_id = Call(admin_clients.rotate_client_id)


class AdminConnections(Group):
    """Tools of a client, their secrets and settings."""

    list = Call(admin_connections.list_connections)
    get = Call(admin_connections.get_connection)
    connect = Call(admin_connections.connect)
    change = Call(admin_connections.change_connection)
    disconnect = Call(admin_connections.disconnect)
    list_silences = Call(admin_connections.list_silences)


class AdminKeys(Group):
    """API keys."""

    list = Call(admin_keys.list_keys)
    iterate = Iterate(admin_keys.list_keys)
    get = Call(admin_keys.get_key)
    create = Call(admin_keys.create_key)
    revoke = Call(admin_keys.revoke_key)
    rotate = Call(admin_keys.rotate_key)


class AdminContacts(Group):
    """Contacts of all clients."""

    list = Call(admin_contacts.list_contacts_of_all_clients)
    iterate = Iterate(admin_contacts.list_contacts_of_all_clients)
    match = Call(admin_contacts.match_contacts_of_all_clients)


class AdminCompanies(Group):
    """Companies of all clients."""

    list = Call(admin_companies.list_companies_of_all_clients)
    iterate = Iterate(admin_companies.list_companies_of_all_clients)
    match = Call(admin_companies.match_companies_of_all_clients)


class AdminSuppressions(Group):
    """Who no client may contact."""

    list = Call(admin_suppressions.list_installation_suppressions)
    iterate = Iterate(admin_suppressions.list_installation_suppressions)
    list_csv = Call(admin_suppressions.list_installation_suppressions_csv)
    save = Call(admin_suppressions.save_installation_suppressions)
    check = Call(admin_suppressions.check_installation_suppressions)
    get = Call(admin_suppressions.get_installation_suppression)
    remove = WriteCall(admin_suppressions.remove_installation_suppression)


class AdminReports(Group):
    """Reports of each client."""

    contacts_by_status = Call(admin_reports.report_contacts_by_status_of_all_clients)
    iterate_contacts_by_status = Iterate(admin_reports.report_contacts_by_status_of_all_clients)
    companies_by_status = Call(admin_reports.report_companies_by_status_of_all_clients)
    iterate_companies_by_status = Iterate(admin_reports.report_companies_by_status_of_all_clients)
    campaigns = Call(admin_reports.report_campaigns_of_all_clients)
    iterate_campaigns = Iterate(admin_reports.report_campaigns_of_all_clients)


class Admin(Group):
    """What only administrators may do."""

    status = Call(admin.get_status)

    def __init__(self, sender: Sender) -> None:
        super().__init__(sender)
        self.clients = AdminClients(sender)
        self.cells = AdminCells(sender)
        self.keys = AdminKeys(sender)
        self.connections = AdminConnections(sender)
        self.contacts = AdminContacts(sender)
        self.companies = AdminCompanies(sender)
        self.suppressions = AdminSuppressions(sender)
        self.reports = AdminReports(sender)
