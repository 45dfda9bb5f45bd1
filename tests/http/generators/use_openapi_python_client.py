"""Uses the package `made` of openapi-python-client: creates contacts, reads an error, lists by pages; prints what came back."""

from __future__ import annotations

import json
import sys

from made.api.contacts import create_contact, get_contact, list_contacts
from made.client import AuthenticatedClient
from made.models import ContactPage, ContactRequest, ContactResponse, Problem

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key, raise_on_unexpected_status=True)
ids = []
for name in ("ann", "ben", "eve"):
    made = create_contact.sync(client=client, body=ContactRequest(email=f"{name}@example.com"))
    assert isinstance(made, ContactResponse)
    ids.append(made.id)
refused = create_contact.sync(client=client, body=ContactRequest(email="ann@example.com"))
assert isinstance(refused, Problem)
missing = get_contact.sync(4711, client=client)
assert isinstance(missing, Problem)
page = list_contacts.sync(client=client, limit=2)
pages = []
while isinstance(page, ContactPage):
    pages.append([item.email for item in page.data])
    page = list_contacts.sync(client=client, limit=2, cursor=page.next_cursor) if page.next_cursor else None
usual = list_contacts.sync(client=client)
assert isinstance(usual, ContactPage), "no parameter is sent that was not given"
print(json.dumps({"pages": pages, "refused": [refused.code, refused.existing_id == ids[0]], "missing": [missing.code, missing.status]}))
