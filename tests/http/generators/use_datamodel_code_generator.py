"""Uses the pydantic models of datamodel-code-generator, in `made.py`, for requests and responses of httpx; prints what came back."""

from __future__ import annotations

import json
import sys

import httpx
from made import ContactPage, ContactRequest, ContactResponse, Problem

url, key = sys.argv[1:]
path = "/public/v2/contacts"
with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}) as http:
    ids = []
    for name in ("ann", "ben", "eve"):
        answer = http.post(path, json=ContactRequest(email=f"{name}@example.com").model_dump(exclude_unset=True))
        ids.append(ContactResponse.model_validate_json(answer.raise_for_status().content).id)
    refused = Problem.model_validate_json(
        http.post(path, json=ContactRequest(email="ann@example.com").model_dump(exclude_unset=True)).content
    )
    missing = Problem.model_validate_json(http.get(f"{path}/4711").content)
    page = ContactPage.model_validate_json(http.get(path, params={"limit": 2}).content)
    pages = [[item.email for item in page.data]]
    while page.next_cursor:
        page = ContactPage.model_validate_json(http.get(path, params={"limit": 2, "cursor": page.next_cursor}).content)
        pages.append([item.email for item in page.data])
print(json.dumps({"pages": pages, "refused": [refused.code, refused.existing_id == ids[0]], "missing": [missing.code, missing.status]}))
