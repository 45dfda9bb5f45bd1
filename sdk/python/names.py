"""How operations of the API are called in the Python client: group, method and `operationId`."""

from __future__ import annotations

from dataclasses import dataclass, field

RECORD = {
    "list": "list_{many}", "list_numbered": "list_{many}_numbered", "search": "search_{many}", "match": "match_{many}",
    "get": "get_{one}", "create": "create_{one}", "upsert": "upsert_{one}", "update": "update_{one}", "delete": "delete_{one}",
    "restore": "restore_{one}", "batch": "batch_{many}", "update_matching": "update_{many}", "merge": "merge_{many}",
    "undo_merge": "undo_{one}_merge", "timeline": "get_{one}_timeline", "history": "get_{one}_history", "explain": "explain_{one}",
    "suppression": "get_{one}_suppression", "list_deleted": "list_deleted_{many}", "list_duplicates": "list_duplicate_{many}",
}  # fmt: skip
FIELDS = {
    "list": "list_{one}_custom_fields", "get": "get_{one}_custom_field", "define": "define_{one}_custom_field",
    "change": "change_{one}_custom_field", "remove": "remove_{one}_custom_field", "merge": "merge_{one}_custom_field",
    "merge_values": "merge_{one}_custom_field_values",
}  # fmt: skip
STATUSES = {word: f"{word}_{{one}}_status" for word in ("define", "rename", "remove", "merge")} | {"list": "list_{one}_statuses"}


def _of(table: dict[str, str], first: str, many: str) -> dict[str, str]:
    return {method: operation.format(one=first, many=many) for method, operation in table.items()}


def _suppressions(kind: str) -> dict[str, str]:
    full = {"list": "list_{}suppressions", "list_csv": "list_{}suppressions_csv", "save": "save_{}suppressions"}
    single = {"check": "check_{}suppressions", "get": "get_{}suppression", "remove": "remove_{}suppression"}
    return {method: operation.format(kind) for method, operation in (full | single).items()}


GROUPS: dict[str, dict[str, str]] = {
    "contacts": _of(RECORD, "contact", "contacts")
    | {"block": "block_contact", "unblock": "unblock_contact"}
    | {"erase": "erase_contact", "export_person": "export_contact", "list_erasures": "list_erasures"},
    "companies": _of(RECORD, "company", "companies"),
    "imports": {
        "contacts": "import_contacts", "companies": "import_companies", "start": "start_import", "read_again": "read_import_again",
        "list_contact_mappings": "list_contact_import_mappings", "delete_contact_mapping": "delete_contact_import_mapping",
        "list_company_mappings": "list_company_import_mappings", "delete_company_mapping": "delete_company_import_mapping",
    },
    "exports": {
        "contacts": "export_contacts", "companies": "export_companies", "start_contacts": "start_contacts_export",
        "start_companies": "start_companies_export",
    },
    "jobs": {
        "list": "list_jobs", "get": "get_job", "cancel": "cancel_job", "result": "get_job_result", "bad_rows": "get_job_bad_rows",
        "report": "get_job_report",
    },
    "messages": {
        "list": "list_messages", "get": "get_message", "create": "create_message", "delete": "delete_message",
        "set_interested": "set_message_interested",
    },
    "attention": {"list": "list_attention", "change": "change_attention"},
    "conversations": {
        "list": "list_conversations", "get": "get_conversation", "change": "change_conversation", "change_many": "change_conversations",
        "block_many": "block_conversations",
        "count": "get_counters", "answer": "answer_conversation", "take_back_answer": "take_back_answer",
        "put_draft": "put_answer_draft", "mark_read": "mark_conversation_read", "mark_unread": "mark_conversation_unread",
    },
    "notes": {
        f"{method}_of_{one}": f"{operation}_{one}_note{'s' * (method == 'list')}"
        for one in ("contact", "company")
        for method, operation in (("list", "list"), ("create", "create"), ("update", "change"), ("delete", "delete"))
    },
    "tasks": {"list": "list_tasks"} | {
        f"{method}_of_{one}": f"{operation}_{one}_task{'s' * (method == 'list')}"
        for one in ("contact", "company")
        for method, operation in (("list", "list"), ("create", "create"), ("update", "change"), ("delete", "delete"))
    },
    "events": {"list": "list_events", "samples": "list_event_samples", "files": "list_event_files", "file": "get_event_file"},
    "suppressions": _suppressions(""),
    "contact_custom_fields": _of(FIELDS, "contact", "contacts"),
    "company_custom_fields": _of(FIELDS, "company", "companies"),
    "contact_statuses": _of(STATUSES, "contact", "contacts"),
    "company_statuses": _of(STATUSES, "company", "companies"),
    "reports": {
        "contacts_by_status": "report_contacts_by_status", "companies_by_status": "report_companies_by_status",
        "contacts_funnel": "report_contacts_funnel", "companies_funnel": "report_companies_funnel", "campaigns": "report_campaigns",
    },
    "webhook_endpoints": {
        "list": "list_webhook_endpoints", "get": "get_webhook_endpoint", "add": "add_webhook_endpoint",
        "change": "change_webhook_endpoint", "remove": "remove_webhook_endpoint", "preview": "preview_webhook",
        "rotate_secret": "rotate_webhook_secret", "resume": "resume_webhook_endpoint", "test": "test_webhook_endpoint",
        "replay": "replay_webhooks", "list_attempts": "list_webhook_attempts", "get_request": "get_webhook_request",
    },
    "webhooks": {
        "emailcampaign": "emailcampaign_webhook", "check_emailcampaign": "check_emailcampaign_webhook",
        "crm": "crm_webhook", "check_crm": "check_crm_webhook",
    },
    "deliveries": {
        "list": "list_deliveries", "get": "get_delivery", "count": "count_deliveries", "newest": "list_newest_receipts",
        "group": "group_deliveries", "replay": "replay_delivery", "replay_matching": "replay_deliveries", "list_refusals": "list_refusals",
        "get_refused": "get_refused_webhook", "replay_refused": "replay_refused_webhook",
    },
    "revyops": {
        "look_up_contacts": "look_up_contacts", "look_up_companies": "look_up_companies", "list_contacts_of_all": "list_contacts_of_all",
        "look_up_contacts_of_all": "look_up_contacts_of_all", "get_contact_of_any": "get_contact_of_any",
        "list_companies_of_all": "list_companies_of_all", "look_up_companies_of_all": "look_up_companies_of_all",
        "get_company_of_any": "get_company_of_any",
    },
    "admin": {"status": "get_status"},
    "admin.databases": {"list": "list_databases"},
    "admin.clients": {
        "list": "list_clients", "get": "get_client", "create": "create_client", "put": "put_client", "rename": "rename_client",
        "delete": "delete_client", "suspend": "suspend_client", "resume": "resume_client", "rotate_id": "rotate_client_id",
    },
    "admin.connections": {
        "list": "list_connections", "get": "get_connection", "connect": "connect", "change": "change_connection",
        "disconnect": "disconnect", "map": "map_connection", "list_silences": "list_silences", "load": "load_connection",
        "list_pushes": "list_pushes", "retry_pushes": "retry_pushes",
    },
    "admin.ignore_rules": {"list": "list_ignore_rules", "rename": "rename_ignore_rule", "remove": "remove_ignore_rule"},
    "admin.keys": {"list": "list_keys", "get": "get_key", "create": "create_key", "revoke": "revoke_key", "rotate": "rotate_key"},
    "team": {"me": "get_me", "change_password": "change_password"},
    "team.users": {"list": "list_users", "get": "get_user", "update": "update_user", "reset": "reset_user"},
    "team.invitations": {"list": "list_invitations", "create": "invite_user", "revoke": "revoke_invitation"},
    "team.sessions": {"list": "list_sessions", "end": "end_session", "end_all": "end_sessions"},
    "team.keys": {"list": "list_personal_keys", "create": "create_personal_key", "revoke": "revoke_personal_key"},
    "team.statuses": {"list": "list_team_statuses", "replace": "set_team_statuses"},
    "team.notifications": {"list": "list_notifications", "read": "read_notifications"},
    "team.snippets": {"list": "list_snippets", "create": "create_snippet", "update": "update_snippet", "delete": "delete_snippet"},
    "team.views": {
        "list": "list_views", "create": "create_view", "update": "update_view", "delete": "delete_view",
        "set_default": "set_default_view", "unset_default": "unset_default_view",
    },
    "audit_events": {"list": "list_audit_events", "export": "export_audit_events"},
    "admin.contacts": {"list": "list_contacts_of_all_clients", "match": "match_contacts_of_all_clients"},
    "admin.companies": {"list": "list_companies_of_all_clients", "match": "match_companies_of_all_clients"},
    "admin.suppressions": _suppressions("installation_"),
    "team.events": {"list": "list_all_events"},
    "team.changes": {
        "list": "list_changes", "get": "get_change", "summary": "summarize_change", "records": "list_change_records",
        "revert": "revert_change",
    },
    "team.distinct_contacts": {"list": "list_distinct_contacts", "add": "add_distinct_contacts", "remove": "remove_distinct_contacts"},
    "team.distinct_companies": {"list": "list_distinct_companies", "add": "add_distinct_companies", "remove": "remove_distinct_companies"},
    "team.sign_in": {"get": "get_sign_in"},
    "team.messages": {"list": "list_all_messages"},
    "team.suppressions": {"list": "list_all_suppressions"}, "team.erasures": {"list": "list_all_erasures"},
    "team.contacts": {"list_deleted": "list_all_deleted_contacts", "list_duplicates": "list_all_duplicate_contacts"},
    "team.companies": {"list_deleted": "list_all_deleted_companies", "list_duplicates": "list_all_duplicate_companies"},
    "team.webhook_endpoints": {
        "list": "list_all_webhook_endpoints", "add": "add_shared_webhook_endpoint", "get": "get_shared_webhook_endpoint",
        "change": "change_shared_webhook_endpoint", "remove": "remove_shared_webhook_endpoint",
        "rotate_secret": "rotate_shared_webhook_secret", "resume": "resume_shared_webhook_endpoint", "test": "test_shared_webhook_endpoint",
        "list_attempts": "list_all_webhook_attempts", "get_request": "get_shared_webhook_request",
    },
    "admin.report_links": {"list": "list_report_links", "create": "create_report_link", "revoke": "revoke_report_link"},
    "admin.reports": {
        "contacts_by_status": "report_contacts_by_status_of_all_clients",
        "companies_by_status": "report_companies_by_status_of_all_clients", "campaigns": "report_campaigns_of_all_clients",
        "contacts_funnel": "report_contacts_funnel_of_all_clients", "companies_funnel": "report_companies_funnel_of_all_clients",
    },
}  # fmt: skip
"""Group -> method -> function of requests; `complete` adds the first interface of RevyOps under its own names."""
ABOUT = {
    "contacts": "Contacts of one client.", "companies": "Companies of one client.", "imports": "Files ▸ records.",
    "exports": "Records ▸ files.", "jobs": "Long work in the background: imports, exports, renames.",
    "messages": "Sent and received mails and LinkedIn messages.", "conversations": "Replies of all clients, to work through.",
    "attention": "What needs a person.", "notes": "What a team writes down about contacts and companies.",
    "tasks": "What people have to do about contacts and companies.",
    "events": "The log of everything that changed.",
    "suppressions": "Who must not be contacted.", "contact_custom_fields": "Custom fields of contacts.",
    "company_custom_fields": "Custom fields of companies.", "contact_statuses": "Statuses of contacts.",
    "company_statuses": "Statuses of companies.", "reports": "Counts by status, campaign, tool and time.",
    "webhook_endpoints": "Where Touchbase sends events to, and its attempts.", "webhooks": "Webhooks as tools send them, for tests.",
    "deliveries": "Received webhooks of all clients: the inbox.", "revyops": "The interface of RevyOps, for programs that move.",
    "admin": "What only administrators may do.", "admin.clients": "Clients and their settings.",
    "admin.databases": "The databases that clients live in.", "admin.keys": "API keys.",
    "admin.connections": "Tools of a client, their secrets and settings.",
    "admin.ignore_rules": "What connections ignore.",
    "team.sign_in": "How people sign in.",
    "team.suppressions": "The do-not-contact lists of all clients.", "team.erasures": "Erasures of all clients.",
    "team.contacts": "Contacts of all clients.", "team.companies": "Companies of all clients.",
    "team": "Who calls, and people.", "team.users": "People, their roles and clients.",
    "team.invitations": "Invitations of people who have not joined.", "team.sessions": "Where people are signed in to the console.",
    "team.keys": "Keys that people have made for themselves.", "team.snippets": "Texts for answers.", "team.views": "Lists under names.",
    "team.notifications": "What a person was told of.",
    "team.statuses": "How the team works with statuses.",
    "audit_events": "Who did what.",
    "admin.contacts": "Contacts of all clients.", "admin.companies": "Companies of all clients.",
    "admin.suppressions": "Who no client may contact.", "admin.reports": "Reports of each client.",
    "admin.report_links": "Links to the report of one client.",
    "team.changes": "What was done to many records, and its revert.",
    "team.distinct_contacts": "Pairs of contacts that are not the same.",
    "team.distinct_companies": "Pairs of companies that are not the same.",
    "team.events": "Events of all clients, newest first.", "team.messages": "Messages of all clients, newest first.",
    "team.webhook_endpoints": "Endpoints of all clients, and those of each.",
}  # fmt: skip
BASES = ("events", "jobs")
"""Groups whose classes have a base in a module of their name, for what needs more than one request."""


@dataclass(frozen=True)
class Variant:
    """A function for some of an operation's parameters, where these decide what the answer is."""

    operation: str
    omitted: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    fixed: dict[str, object] = field(default_factory=dict)
    answer: str = ""
    """The type of the answer."""
    about: str = ""
    """What it does; default: the operation's summary."""


def _numbered(many: str, answer: str) -> Variant:
    return Variant(
        f"list_{many}",
        omitted=("limit", "cursor"),
        required=("page",),
        answer=answer,
        about=f"List {many} in numbered pages, which RevyOps has",
    )


def _suppression_variants(kind: str) -> dict[str, Variant]:
    listed, removed = f"list_{kind}suppressions", f"remove_{kind}suppression"
    return {
        listed: Variant(listed, omitted=("format",), answer="SuppressionPage"),
        f"{listed}_csv": Variant(listed, fixed={"format": "csv"}, answer="str", about="List suppressions as CSV"),
        removed: Variant(removed, answer="None"),
    }


VARIANTS: dict[str, Variant] = {
    "list_contacts": Variant("list_contacts", omitted=("page", "page_size"), answer="ContactPage"),
    "list_contacts_numbered": _numbered("contacts", "NumberedContacts"),
    "list_companies": Variant("list_companies", omitted=("page", "page_size"), answer="CompanyPage"),
    "list_companies_numbered": _numbered("companies", "NumberedCompanies"),
    "delete_contact": Variant("delete_contact", omitted=("erase",), answer="ContactResponse"),
    "erase_contact": Variant(
        "delete_contact", omitted=("dry_run",), fixed={"erase": True}, answer="ErasureOut", about="Erase the person of one contact for ever"
    ),
    "list_events": Variant("list_events", omitted=("Last-Event-ID",), answer="EventPage"),
    "stream_events": Variant(
        "list_events",
        omitted=("wait", "limit"),
        fixed={"Accept": "text/event-stream"},
        answer="bytes",
        about="Read the events after a cursor as a stream",
    ),
    **_suppression_variants(""),
    **_suppression_variants("installation_"),
}
DRY_RUNS = {"DryRunResponse", "RenamePreviewOut", "FieldChangePreview", "FieldTypePreview"}
"""Answers of a call that only says what it would do; the method has `dry_run` for it."""
DRY_RUN_ANSWERS = {"remove_suppression": "SuppressionOut", "remove_installation_suppression": "SuppressionOut"}
NOT_IN_GROUPS = {"stream_events", "stream_changes"}
"""Functions that `events.follow` uses."""


def complete(operations: list[str]) -> dict[str, dict[str, str]]:
    """Return the whole table."""
    first = {operation.removeprefix("v1_"): operation for operation in operations if operation.startswith("v1_")}
    return {**GROUPS, "revyops": {**GROUPS["revyops"], **{f"v1_{name}": value for name, value in first.items()}}}
