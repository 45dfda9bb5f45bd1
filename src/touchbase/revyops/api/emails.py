"""E-mails: the messages of the channel e-mail, in the form of the RevyOps API."""

from __future__ import annotations

from functools import partial

from touchbase.auth.authentication import READ, WRITE
from touchbase.clients.models import Client
from touchbase.common.field_limits import why_not_storable
from touchbase.common.normalize import find_email_key
from touchbase.errors import Fault, Invalid, NotFound
from touchbase.history.events import CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import record_id
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import encode, fitting
from touchbase.messages.api.resource import contact_of
from touchbase.messages.api.schemas import NewMessage, new_message, with_text
from touchbase.messages.models import EMAIL, Message
from touchbase.messages.sql import plans as sql_plans
from touchbase.messages.sql.plans import add_custom_field, create_message, delete_message, get_messages, list_messages, remove_custom_field
from touchbase.records.api.schemas import CustomFieldInput, CustomFieldOut
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import new_write_key
from touchbase.revyops.api.lists import too_many_bytes
from touchbase.revyops.api.parameters import PAGE_SIZE
from touchbase.revyops.api.schemas import (
    DISPOSITION,
    EmailOut,
    InterestedIn,
    NewEmail,
    as_sent,
    email_out,
    field_id,
    field_out,
    new_message_of,
)
from touchbase.sql.page_budget import page_of

PATH = "/public/emails"
LAST_EMAIL_PAGE = 1_000
"""Pages before it are skipped by reading them; more e-mails are in the list of messages, with a cursor."""
EMAIL_PAGE = query.integer_or("page", 1, LAST_EMAIL_PAGE, "The number of the page, from 1.")
CONTACT_EMAIL = query.text("contact_email", "E-mails of the contact with this address.")
FILTERS = (
    query.text("campaign_id", "E-mails of this campaign, by the tool's id.", member="campaign_id"),
    CONTACT_EMAIL,
    query.text("origin", "E-mails from this tool.", member="tool"),
    query.text("subject", "E-mails with exactly this subject.", member="subject"),
)


async def list_emails(call: Call) -> Response:
    """`GET` of a page of e-mails."""
    client, parameters = await call.client(), call.parameters()
    address = parameters[CONTACT_EMAIL]
    key = address and find_email_key(address)
    if address is not None and key is None:
        parameters.fault(CONTACT_EMAIL.name, "email", "must be an e-mail address")
    parameters.done()
    size = parameters[PAGE_SIZE]
    skip, page_bytes = (parameters[EMAIL_PAGE] - 1) * size, await call.page_bytes(is_full_page=True)
    wanted = list_messages(client.number, size, contact_key=key, channel=EMAIL, skip=skip, page_bytes=page_bytes, **parameters.filters)
    page, is_cut = page_of(await call.api.dependencies.store.read(wanted), size)
    data = fitting(map(email_out, page), page_bytes)
    if is_cut or len(data) < len(page):
        raise too_many_bytes(page_bytes, size, len(data))
    return Response(body=encode(data))


async def get_email(call: Call) -> Response:
    """`GET` of one e-mail."""
    return Response(body=encode(email_out(await _email(call, await call.client()))))


async def create_email(call: Call) -> Response:
    """`POST` of one e-mail."""
    client, parts = await call.client(), call.api.dependencies
    call.parameters().done()
    email = new_message_of(await call.body(NewEmail))
    now = parts.clock()
    contact_id = await _contact(call, client, email)
    try:
        message = new_message(email, contact_id, new_write_key(), now, with_body=client.settings.store_message_bodies)
    except Invalid as invalid:
        raise as_sent(invalid) from None
    call.api.storing(client, 1, now)
    message = await with_text(message, parts.sandbox)

    def respond(message: Message) -> Response:
        response = Response(201, encode(email_out(message)), record=(CONTACT, message.contact_id))
        response.headers.append((b"location", call.reached_at(f"{PATH}/{message.id}")))
        return response

    command = create_message(client.number, message, author_of(call.scope))
    return await call.write_and_respond(lambda writes: writes.write(command), respond)


async def _contact(call: Call, client: Client, email: NewMessage) -> int:
    """Return the id of the contact; both names are accepted if they are of one contact."""
    if email.contact_id is None or email.contact_email is None:
        return await contact_of(call, client, email)
    key = find_email_key(email.contact_email)
    contacts = (
        await call.api.dependencies.store.read(list_records(Listing(CONTACT_TYPE, client.number, 1, email_key=key)))
        if key is not None
        else []
    )
    if not contacts or contacts[0].id != email.contact_id:
        raise Invalid([Fault("/contact_email", "differs", "is not the address of the contact with this contact_id; send one of the two")])
    return email.contact_id


async def delete_email(call: Call) -> Response:
    """`DELETE` of one e-mail; the response has it as it was."""
    client = await call.client()
    call.parameters().done()
    message = await _email(call, client)
    return Response(body=encode(email_out(await call.api.dependencies.store.write(delete_message(client.number, message.id)))))


async def add_field(call: Call) -> Response:
    """`POST` of a custom field that the e-mail does not have."""
    client, parts = await call.client(), call.api.dependencies
    call.parameters().done()
    field_input = await call.body(CustomFieldInput)
    name, value = field_input.field_name.strip(), field_input.field_value.strip()
    _check({"field_name": name, "field_value": value})
    message = await _email(call, client)
    call.api.storing(client, 1, parts.clock())
    command = add_custom_field(client.number, message.id, name, value, parts.clock())

    def respond(message: Message) -> Response:
        return Response(201, encode(field_out(message, name)), record=(CONTACT, message.contact_id))

    return await call.write_and_respond(lambda writes: writes.write(command), respond)


async def remove_field(call: Call) -> Response:
    """`DELETE` of a custom field of an e-mail; the response has it as it was."""
    client, parts, text = await call.client(), call.api.dependencies, call.path("field_id")
    call.parameters().done()
    message = await _email(call, client)
    name = next((field for field in message.custom if field_id(message.id, field) == record_id(text)), None)
    if name is None:
        raise NotFound(f"e-mail {message.id} has no custom field with id {text[:40]!r}")
    await parts.store.write(remove_custom_field(client.number, message.id, name, parts.clock()))
    return Response(body=encode(field_out(message, name)))


async def set_interested(call: Call) -> Response:
    """`POST` of the contact and the subject whose newest e-mail shows that the contact is interested."""
    client, parts = await call.client(), call.api.dependencies
    call.parameters().done()
    interest = await call.body(InterestedIn)
    key, subject, disposition = find_email_key(interest.email), interest.subject.strip(), (interest.disposition or "").strip()
    _check({"subject": subject} | ({"disposition": disposition} if disposition else {}))
    if key is None:
        raise Invalid([Fault("/email", "email", "must be an e-mail address")])
    messages = await parts.store.read(list_messages(client.number, 1, contact_key=key, channel=EMAIL, subject=subject))
    if not messages:
        raise NotFound("there is no e-mail of a contact with this address that has this subject; GET /public/emails shows what there is")
    custom = {DISPOSITION: disposition} if disposition else {}
    command = sql_plans.set_interested(client.number, messages[0].id, True, parts.clock(), custom)

    def respond(message: Message) -> Response:
        return Response(body=encode(email_out(message)), record=(CONTACT, message.contact_id))

    return await call.write_and_respond(lambda writes: writes.write(command), respond)


def _check(texts: dict[str, str]) -> None:
    """Raise `Invalid` for members that are blank or cannot be stored."""
    faults = [Fault(f"/{name}", "blank", "must not be blank") for name, text in texts.items() if not text]
    for name, text in texts.items():
        if (why := why_not_storable(text)) is not None:
            faults.append(Fault(f"/{name}", "unusable_text", why))
    if faults:
        raise Invalid(faults)


async def _email(call: Call, client: Client) -> Message:
    """Return the e-mail of the path; raise `NotFound`, also for a message of LinkedIn."""
    number = call.id("e-mail")
    message = (await call.api.dependencies.store.read(get_messages(client.number, [number]))).get(number)
    if message is None or message.channel != EMAIL:
        raise NotFound(f"there is no e-mail with id {number}: it was deleted, or its contact was")
    return message


def email_routes(route: partial[Route]) -> list[Route]:
    """Return the routes of e-mails; `route` has the parts common to all calls of this API."""
    success, field = partial(Success, body=EmailOut), partial(Success, body=CustomFieldOut)
    by_id, fields = f"{PATH}/{{id}}", f"{PATH}/{{id}}/custom-fields"
    return [
        route(
            "GET", PATH, list_emails, scope=READ, operation_id="v1_list_emails", summary="List e-mails as an array",
            description="The messages of the channel e-mail that match all filters, newest first, `page_size` at a time. "
            "`GET /public/v2/messages` does the same with a cursor, and has LinkedIn messages too.",
            query=(EMAIL_PAGE, PAGE_SIZE, *FILTERS), success=(success(200, "The e-mails.", is_list=True),),
        ),
        route(
            "POST", PATH, create_email, scope=WRITE, operation_id="v1_create_email", summary="Store one e-mail of a contact",
            description="As `POST /public/v2/messages`: it appears in the contact's timeline and changes neither its status nor its dates.",
            body=NewEmail, success=(success(201, "The e-mail.", headers=("Location",)),), problems=(404,),
        ),
        route(
            "POST", f"{PATH}/set-interested", set_interested, scope=WRITE, operation_id="v1_set_email_interested",
            summary="Mark the newest e-mail of a contact with a subject as interested",
            description="Sets `interested` whatever the disposition is, and changes nothing of the contact.",
            body=InterestedIn, success=(success(200, "The e-mail."),), problems=(404,),
        ),
        route(
            "GET", by_id, get_email, scope=READ, operation_id="v1_get_email", summary="Get one e-mail",
            description="As `GET /public/v2/messages/{id}`.", success=(success(200, "The e-mail."),),
        ),
        route(
            "DELETE", by_id, delete_email, scope=WRITE, operation_id="v1_delete_email", summary="Delete one e-mail",
            description="Removes the message permanently, as `DELETE /public/v2/messages/{id}`, and responds with it as it was.",
            success=(success(200, "The e-mail as it was."),),
        ),
        route(
            "POST", fields, add_field, scope=WRITE, operation_id="v1_add_email_custom_field", summary="Add a custom field to one e-mail",
            description="409 if the e-mail has a field of this name: remove it first.",
            body=CustomFieldInput, success=(field(201, "The new field."),),
        ),
        route(
            "DELETE", f"{fields}/{{field_id}}", remove_field, scope=WRITE, operation_id="v1_remove_email_custom_field",
            summary="Remove a custom field from one e-mail", description="Responds with the field as it was.",
            success=(field(200, "The field as it was."),),
        ),
    ]  # fmt: skip
