"""Texts of the OpenAPI document: problems by status."""

from __future__ import annotations

PROBLEMS = {
    "400": "The request is malformed: invalid JSON, invalid UTF-8, or nested too deeply.",
    "401": "No valid key; for a webhook: no valid proof of its sender.",
    "403": "The key is valid and does not allow this, or the client is suspended (`client_suspended`).",
    "404": "Not found for this key or client; if a record was merged into another, `existing_id` is the other's.",
    "408": "The body did not arrive in time.",
    "409": "A record with this identity exists (`existing_id` is its id), its person was erased, the object's state does not allow this, "
    "the delivery has no body any more, or a request with this Idempotency-Key is in progress.",
    "412": "The record has changed since it was read.",
    "413": "The body is longer than the limit.",
    "415": "The body is not JSON, or its Content-Encoding is not supported.",
    "422": "Fields or parameters are invalid, `errors` lists all of them; or the Idempotency-Key was used for another request.",
    "429": "A limit on requests, rows, bytes or failed keys is reached; nothing was executed. Send it again after `Retry-After` seconds.",
    "503": "Temporarily unavailable, and nothing was stored; send it again after `Retry-After` seconds. With the code `outcome_unknown` it "
    "may have been executed: send it again with its `Idempotency-Key`, or check first.",
}
