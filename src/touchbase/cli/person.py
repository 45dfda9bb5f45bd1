"""Naming one person on the command line: by an address or by the contact's id, within one client."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touchbase.cli.common import ID
from touchbase.errors import Invalid

if TYPE_CHECKING:
    from touchbase.erasure.commands import Person
    from touchbase.history.identity_links import Ref

F = TypeVar("F", bound=Callable[..., Any])


def person_options(function: F) -> F:
    """The options that name a person."""
    for option in (
        click.option("--id", "contact_id", type=ID, help="The contact's id."),
        click.option("--linkedin", "linkedin_url", help="Their LinkedIn address."),
        click.option("--email", help="Their e-mail address, also a former one."),
        click.option("--client", "client_id", required=True, help="Whose contact it is."),
    ):
        function = option(function)
    return function


def named(email: str | None, linkedin_url: str | None, contact_id: int | None) -> list[Ref]:
    """The identities that the options name; asks for at least one way to know them."""
    from touchbase.erasure.service import identities

    if email is None and linkedin_url is None and contact_id is None:
        raise click.UsageError("say who: --email, --linkedin or --id")
    try:
        return identities(email, linkedin_url)
    except Invalid as error:
        raise click.UsageError("; ".join(f"--{fault.pointer.removesuffix('_url')} {fault.detail}" for fault in error.faults)) from error


def refuse_several(found: Person) -> None:
    """Fail when the options name more than one contact."""
    if len(found.contacts) > 1:
        raise click.ClickException(f"these are several contacts: {', '.join(map(str, found.contacts))}; name one with --id")


def no_contact(contact_id: int) -> str:
    """That a contact is not there, and what to do."""
    return f"there is no contact with id {contact_id} of this client: name them with --email, or look for them with GET /public/v2/contacts"
