"""Texts of the OpenAPI document: tags, problems by status, and operations by `operationId`."""

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

TAGS = {
    "Contacts": "People: create, read, change, export and erase them, and read their history.",
    "Companies": "Organisations, each known by its domain.",
    "Webhooks": "The addresses to which campaign tools and CRMs send webhooks, one for each client and channel.",
    "Inbox": "The received webhooks (deliveries), and how to apply them again.",
    "Clients": "The organisations that records belong to, and their settings.",
    "Connections": "The tools that a client has connected: secrets, settings, and access tokens.",
    "Keys": "API keys: create, read, rotate and revoke them.",
    "Status": "The server's status.",
}

_CREATE = (
    "Responds 201 with the new record. If the record exists already, `on_duplicate` decides: `error` responds 409 with `existing_id`, "
    "`return` responds 200 with the record as it is, `update` merges the body into it and responds 200. Without the parameter the client's "
    "setting applies. "
)
_LIST = "A page has `limit` records; send `next_cursor` back as `cursor` until it is null. A record must match all filters. "
_CHANGE = (
    "The body is a JSON merge patch (RFC 7396): a member that is left out stays, null or blank unsets it. With `If-Match` the change is "
    "made only if the record still has that ETag, else the response is 412. "
)
_TIMELINE = "Events of webhooks and API writes in the order of time, each with the values that it changed and their previous values."
_RECEIVE = (
    "Stores the webhook byte for byte, responds 200, and applies it afterwards. Any body of any content type is stored, also an empty one; "
    "its tool is recognised by its content. If the client has connected the tool with a secret, a webhook without a valid proof of the "
    "secret gets a 401."
)
_CHECK = "Responds 200 with no body and stores nothing: some tools send a GET to the address before they accept it."

OPERATIONS = {
    "create_contact": _CREATE + "Equal e-mail addresses, or equal LinkedIn addresses, are the same contact.",
    "list_contacts": _LIST + "The order is that of creation; with `updated_since` it is that of the last change.",
    "get_contact": "Returns the contact and its ETag. The id of a contact that was merged into another is a 404 with `existing_id`.",
    "update_contact": _CHANGE + "Read-only and unknown members are ignored.",
    "get_contact_timeline": _TIMELINE,
    "erase_contact": "Erases the person permanently: the contact, its custom fields, its timeline, and the bodies of the webhooks that "
    "mention it. `erase=true` is required; without it the response is 422. Needs the scope `admin`.",
    "export_contact": "Returns everything that is stored about one person. The first page has the contact, its identities, sources and "
    "timeline; every page has deliveries. Needs the scope `admin`.",
    "create_company": _CREATE + "Equal domains are the same company.",
    "list_companies": _LIST + "The order is that of creation; with `updated_since` it is that of the last change.",
    "get_company": "Returns the company and its ETag. The id of a company that was merged into another is a 404 with `existing_id`.",
    "update_company": _CHANGE + "The domain can be replaced, and cannot be unset.",
    "get_company_timeline": _TIMELINE,
    "emailcampaign_webhook": _RECEIVE,
    "check_emailcampaign_webhook": _CHECK,
    "crm_webhook": _RECEIVE + " Salesforce's Outbound Messages and monday.com's `challenge` get the body that their protocols require.",
    "check_crm_webhook": _CHECK,
    "list_deliveries": "A page has `limit` deliveries without their bodies. A delivery must match all filters.",
    "group_deliveries": "Deliveries that changed nothing, grouped by client, channel, tool, state, event name and the keys of the body; "
    "the largest groups come first.",
    "replay_deliveries": "Queues up to 1,000 deliveries that match all given filters to be applied again; at least one filter is "
    "required. `next_cursor` continues with the others. With `dry_run` nothing is stored, and the response shows what would change.",
    "get_delivery": "Returns the delivery with its headers, query, body and the events that it caused.",
    "replay_delivery": "Queues one delivery to be applied again. Known events change nothing. It has no body and no options.",
    "list_refusals": "Refused webhooks, each with its cause. Their bodies are not stored; the last 1,000 of each client are listed. "
    "Webhooks to addresses of no client are shown only to keys without a client.",
    "list_clients": "Clients in the order of their ids. A key of one client sees that client only.",
    "create_client": "Creates a client. Without `client_id` the server generates an unguessable id. Needs a key without a client.",
    "get_client": "Returns the client with its settings, its state, and its former ids that are still valid.",
    "put_client": "Replaces all settings of the client: a setting that is left out gets its default. Creates a client that does not exist.",
    "rename_client": "Sets the client's name for people. Its id and its settings stay.",
    "delete_client": "Closes the client at once and removes all its records, deliveries, connections and keys in the background. "
    "`confirm` must be the client's id.",
    "suspend_client": "Requests for the client's records get a 403 from now on; its webhooks are stored, and applied after `resume`.",
    "resume_client": "Opens the client's records again, and applies the webhooks received in between.",
    "rotate_client_id": "Gives the client a new id. The old id stays valid for `keep_old_seconds`, so that tools can be reconfigured.",
    "list_connections": "All connections of the client, by channel and tool. Secrets and access tokens are never shown.",
    "connect": "Connects a tool on one channel, with its secrets and settings. A secret that the server generates is shown only in this "
    "response.",
    "get_connection": "Returns the connection and the state of fetching from the tool's API. Secrets and access tokens are never shown.",
    "change_connection": "The body is a JSON merge patch (RFC 7396): a member that is left out stays. Lists and settings in the body "
    "replace the old ones as a whole.",
    "disconnect": "Removes the connection with its secrets and settings. Records and deliveries stay.",
    "list_keys": "API keys without their texts. A key of one client sees that client's keys only.",
    "create_key": "Creates an API key. Its text is shown only in this response. A key can only grant scopes that it has itself.",
    "get_key": "Returns the key's scopes, client, state and last use, never its text.",
    "rotate_key": "Creates a successor with the same scopes; the old key expires after `keep_old_seconds`. The successor's text is shown "
    "only in this response.",
    "revoke_key": "Revokes the key: in this process at once, in others within a second.",
    "get_status": "Whether the store can write, why it cannot, and what an operator should change. Needs a key without a client.",
}
"""What each operation does beyond its summary; a test checks that none is missing."""
