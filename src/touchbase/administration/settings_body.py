"""Bodies of a client's settings, and their checks."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from touchbase.clients.models import (
    KEEP_BODIES_DAYS,
    KEEP_DELETED_DAYS,
    LARGEST_STORED_BYTES,
    LINK_MODES,
    MOST_DAYS,
    MOST_STATUSES,
    ClientLimits,
    ClientSettings,
    FieldType,
    RequireVerification,
    StatusSet,
    SuppressOn,
)
from touchbase.common import field_limits as limits
from touchbase.custom_fields.api.schemas import FieldTypeBody, check_words, checked_field
from touchbase.errors import Fault, Invalid
from touchbase.http.schemas import example, named_enum
from touchbase.records.api.schemas import FieldName

named_enum("LinkCompaniesByEmail", "Whether a mail domain gives a contact its company.", LINK_MODES)
StatusName = Annotated[str, Meta(min_length=1, max_length=limits.STATUS)]
StatusNames = Annotated[list[StatusName], Meta(max_length=MOST_STATUSES)]


class StatusSetBody(Struct, forbid_unknown_fields=True):
    """The statuses of one kind of record, in order; `transitions` maps a status to the statuses that may follow it.

    `opt_outs` are statuses of contacts that must not be contacted; words such as `unsubscribed` opt out without being named.
    """

    statuses: Annotated[list[StatusName], Meta(min_length=1, max_length=MOST_STATUSES)]
    transitions: Annotated[dict[StatusName, StatusNames], Meta(max_length=MOST_STATUSES)] = {}
    opt_outs: Annotated[StatusNames, Meta(description="Statuses of contacts that must not be contacted.")] = []


FieldTypes = Annotated[dict[FieldName, FieldTypeBody], Meta(max_length=limits.CUSTOM_FIELDS)]


OwnLimit = Annotated[int, Meta(ge=0, le=limits.LARGEST_ID)] | None


class LimitsBody(Struct, forbid_unknown_fields=True):
    """Limits of a client per second, in each server process; null: the server's limit, 0: no limit."""

    requests: OwnLimit = None
    rows: OwnLimit = None
    bytes: OwnLimit = None
    webhooks: OwnLimit = None
    webhook_bytes: OwnLimit = None


class RequireVerificationBody(Struct, forbid_unknown_fields=True):
    """The channels on which webhooks without verification are rejected, for every tool."""

    email_campaign: bool = False
    crm: bool = False


class SuppressOnBody(Struct, forbid_unknown_fields=True):
    """The events that put an e-mail address on the client's do-not-contact list."""

    unsubscribed: bool = True
    complained: bool = True
    hard_bounced: bool = True


class SettingsBody(Struct, forbid_unknown_fields=True):
    """A client's settings. A setting that is left out has its default; the defaults allow everything."""

    on_duplicate: Literal["error", "return", "update"] = "error"
    contact_statuses: StatusSetBody | None = None
    company_statuses: StatusSetBody | None = None
    contact_fields: FieldTypes = {}
    company_fields: FieldTypes = {}
    create_unknown: Annotated[bool, Meta(description="Whether an e-mail event for an unknown person creates the contact.")] = True
    linkedin_reply_counts: Annotated[bool, Meta(description="Whether a LinkedIn reply moves `last_reply_received`.")] = True
    limits: Annotated[
        LimitsBody | None, Meta(description="Limits in place of the server's. Only a key that belongs to no client may change them.")
    ] = None
    keep_bodies_days: (
        Annotated[int, Meta(ge=0, le=MOST_DAYS, description="Days to store the body of an applied delivery; null: no limit.")] | None
    ) = KEEP_BODIES_DAYS
    keep_deleted_days: Annotated[
        int, Meta(ge=1, le=MOST_DAYS, description="Days for which a deleted record can be restored, and a merge undone.")
    ] = KEEP_DELETED_DAYS
    erase_on_crm_request: Annotated[
        bool,
        Meta(
            description="Whether a CRM's request to erase a person is done without asking; else the contact waits in the bin, with "
            "`erasure_requested_at`, until it is erased or restored."
        ),
    ] = False
    max_stored_bytes: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=LARGEST_STORED_BYTES,
                description="The most bytes that the client may store; null: the installation's limit, 0: no limit. "
                "Only a key that belongs to no client may change it.",
            ),
        ]
        | None
    ) = None
    require_verification: Annotated[
        RequireVerificationBody, Meta(description="By channel, whether webhooks of every tool must be verified.")
    ] = msgspec.field(default_factory=RequireVerificationBody)
    link_companies_by_email: Annotated[
        Literal["off", "existing", "create"],
        Meta(
            description="Whether a contact without a company gets the one with the domain of its business e-mail address: `existing` links "
            "to a company that there is, `create` also creates it."
        ),
    ] = "off"
    suppress_on: Annotated[
        SuppressOnBody, Meta(description="By reason, whether such events put the address on the do-not-contact list.")
    ] = msgspec.field(default_factory=SuppressOnBody)
    store_message_bodies: Annotated[bool, Meta(description="Whether subject, text and HTML of messages are stored.")] = True
    operators_export: Annotated[
        bool, Meta(description="Whether people with the role operator may export records as files; administrators always may.")
    ] = True


class ClientRequest(Struct):
    """A client's new settings; read-only fields are ignored."""

    settings: SettingsBody


example(
    ClientRequest,
    {
        "settings": {
            "on_duplicate": "update",
            "contact_statuses": {"statuses": ["new", "contacted", "customer"], "transitions": {"customer": []}},
            "contact_fields": {"Seats": {"type": "number"}},
        }
    },
)


def checked(body: SettingsBody) -> ClientSettings:
    """Return validated settings; raise `Invalid` for contradictions."""
    faults: list[Fault] = []
    settings = ClientSettings(
        on_duplicate=body.on_duplicate,
        contact_statuses=_statuses(body.contact_statuses, "/settings/contact_statuses", faults),
        company_statuses=_statuses(body.company_statuses, "/settings/company_statuses", faults),
        contact_fields=_fields(body.contact_fields, "/settings/contact_fields", faults),
        company_fields=_fields(body.company_fields, "/settings/company_fields", faults),
        create_unknown=body.create_unknown,
        linkedin_reply_counts=body.linkedin_reply_counts,
        limits=None if body.limits is None else ClientLimits(**msgspec.structs.asdict(body.limits)),
        keep_bodies_days=body.keep_bodies_days,
        keep_deleted_days=body.keep_deleted_days,
        erase_on_crm_request=body.erase_on_crm_request,
        max_stored_bytes=body.max_stored_bytes,
        require_verification=RequireVerification(body.require_verification.email_campaign, body.require_verification.crm),
        link_companies_by_email=body.link_companies_by_email,
        suppress_on=SuppressOn(**msgspec.structs.asdict(body.suppress_on)),
        store_message_bodies=body.store_message_bodies,
        operators_export=body.operators_export,
    )
    if faults:
        raise Invalid(faults)
    return settings


def _statuses(body: StatusSetBody | None, pointer: str, faults: list[Fault]) -> StatusSet | None:
    if body is None:
        return None
    check_words(body.statuses, f"{pointer}/statuses", faults)
    for before, after in body.transitions.items():
        for status in dict.fromkeys((before, *after)):
            if status not in body.statuses:
                faults.append(Fault(f"{pointer}/transitions", "status", f"{status!r} is not one of the statuses"))
    for status in body.opt_outs:
        if status not in body.statuses:
            faults.append(Fault(f"{pointer}/opt_outs", "status", f"{status!r} is not one of the statuses"))
    if body.opt_outs and pointer.endswith("/company_statuses"):
        faults.append(Fault(f"{pointer}/opt_outs", "unexpected", "are for statuses of contacts; put the domain on the do-not-contact list"))
    return StatusSet(body.statuses, body.transitions, list(dict.fromkeys(body.opt_outs)))


def _fields(body: dict[str, FieldTypeBody], pointer: str, faults: list[Fault]) -> dict[str, FieldType]:
    for name in body:
        if name != name.strip() or limits.is_blank(name):
            faults.append(Fault(pointer, "blank", f"the name {name!r} must not be blank or have white space around it"))
    return {name: checked_field(field, _options_of(name, pointer), faults) for name, field in body.items()}


def _options_of(name: str, pointer: str) -> str:
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}/options"
