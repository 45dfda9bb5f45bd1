"""HTTP resources of one contact's or company's suppression."""

from __future__ import annotations

from touchbase.auth.authentication import READ
from touchbase.do_not_contact.api.schemas import SuppressionStatus, status_of
from touchbase.do_not_contact.models import Addresses
from touchbase.do_not_contact.sql.lookup import find_suppressed
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import encode
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.models import Company, Contact
from touchbase.records.read_records import get_record
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import find_record
from touchbase.sql.store import Store


async def contact(call: Call) -> Response:
    """`GET` of the suppression of one contact."""
    client = await call.client()
    store = call.api.dependencies.store
    record = await get_record(store, CONTACT_TYPE, client.number, call.id("contact"))
    return await _status(call, client.number, await addresses_of_contact(store, record))


async def company(call: Call) -> Response:
    """`GET` of the suppression of one company."""
    client = await call.client()
    record: Company = await get_record(call.api.dependencies.store, COMPANY_TYPE, client.number, call.id("company"))
    return await _status(call, client.number, Addresses(domain=record.domain))


async def addresses_of_contact(store: Store, contact: Contact) -> Addresses:
    """Return the addresses by which a contact may be listed; the domain is its company's."""
    its = None if contact.company_id is None else await store.read(find_record(contact.client, COMPANY_TYPE, contact.company_id))
    domain = None if its is None else its.domain
    return Addresses(contact.email_key, contact.linkedin_key, domain, contact.id, contact.status, contact.linkedin_url)


async def _status(call: Call, client: int, addresses: Addresses) -> Response:
    [match] = await call.api.dependencies.store.read(find_suppressed(client, [addresses], call.api.dependencies.clock()))
    return Response(body=encode(status_of(match)))


_SUCCESS = (Success(200, "The status.", SuppressionStatus),)
ROUTES = [
    Route(
        "GET", "/public/v2/contacts/{id}/suppression", contact, scope=READ, operation_id="get_contact_suppression", tag=CONTACT_TAG,
        summary="Look up whether a contact must not be contacted",
        description="A contact is suppressed by any of its e-mail and LinkedIn addresses (former ones, and those of contacts merged into "
        "it, too), the domain of its e-mail address, or the domain of its company, on the client's list or the installation's; or "
        "by a status that opts out.",
        success=_SUCCESS,
    ),
    Route(
        "GET", "/public/v2/companies/{id}/suppression", company, scope=READ, operation_id="get_company_suppression", tag=COMPANY_TAG,
        summary="Look up whether a company must not be contacted",
        description="A company is suppressed by its domain or a parent domain, on the client's list or the installation's.",
        success=_SUCCESS,
    ),
]  # fmt: skip
