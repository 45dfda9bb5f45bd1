"""The text of the description: what each operation does beyond its summary, by its `operationId`, and what each tag holds."""

from __future__ import annotations

TAGS = {
    "Contacts": "People: create, read, change, export and erase them, and read their history.",
    "Companies": "Organisations, each known by its domain.",
    "Webhooks": "The addresses that campaign tools and CRMs call, one for each client and channel.",
    "Inbox": "The webhook calls that were received (deliveries), and how to apply them again.",
    "Clients": "The organisations that records belong to, and their settings.",
    "Connections": "The tools that a client has connected: secrets, settings, and access tokens.",
    "Keys": "API keys: make, read, rotate and revoke them.",
    "Status": "How the server is.",
}

_CREATE = (
    "Answers 201 with the new record. When the record exists already, `on_duplicate` decides: `error` answers 409 with `existing_id`, "
    "`return` answers 200 with the record as it is, `update` merges the body into it and answers 200. Without the parameter the client's "
    "setting decides. "
)
_LIST = "Pages hold `limit` records; send `next_cursor` back as `cursor` until it is null. Filters narrow the list; all must hold. "
_CHANGE = (
    "The body is a JSON merge patch (RFC 7396): a member that is left out stays, null or blank unsets it. With `If-Match` the change is "
    "made only if the record still has that ETag, else the answer is 412. "
)
_TIMELINE = "Events of webhook calls and API writes in the order of time, each with the values that it changed and what stood there before."
_RECEIVE = (
    "Stores the call byte for byte, answers 200, and applies it afterwards. Any body of any content type is stored, also an empty one; its "
    "tool is recognised by its content. Where the client has connected the tool with a secret, a call that does not prove to know it is "
    "answered 401."
)
_CHECK = "Answers 200 with no body and stores nothing: some tools call the address with GET before they accept it."

OPERATIONS = {
    "create_contact": _CREATE + "Equal e-mail addresses, or equal LinkedIn addresses, are the same contact.",
    "list_contacts": _LIST + "The order is that of creation; with `updated_since` it is that of the last change.",
    "get_contact": "Answers the contact, and its ETag. The id of a contact that was merged into another is a 404 with `existing_id`.",
    "update_contact": _CHANGE + "Read-only and unknown members are ignored.",
    "get_contact_timeline": _TIMELINE,
    "erase_contact": "Erases the person for good: the contact, its custom fields, its timeline, and the bodies of the calls that tell of "
    "it. `erase=true` must be sent; without it the answer is 422. Needs the scope `admin`.",
    "export_contact": "Answers what is stored about one person. The first page holds the contact, its identities, sources and timeline; "
    "every page holds deliveries. Needs the scope `admin`.",
    "create_company": _CREATE + "Equal domains are the same company.",
    "list_companies": _LIST + "The order is that of creation; with `updated_since` it is that of the last change.",
    "get_company": "Answers the company, and its ETag. The id of a company that was merged into another is a 404 with `existing_id`.",
    "update_company": _CHANGE + "The domain can be replaced, and cannot be unset.",
    "get_company_timeline": _TIMELINE,
    "emailcampaign_webhook": _RECEIVE,
    "check_emailcampaign_webhook": _CHECK,
    "crm_webhook": _RECEIVE + " Salesforce's Outbound Messages and monday.com's `challenge` get the body that their protocols demand.",
    "check_crm_webhook": _CHECK,
    "list_deliveries": "Pages hold `limit` deliveries without their bodies. Filters narrow the list; all must hold.",
    "group_deliveries": "Deliveries that changed nothing, grouped by client, channel, tool, state, event name and the keys of the body; "
    "the largest groups come first.",
    "replay_deliveries": "Puts up to 1,000 deliveries back to be applied again, those that all given filters fit; at least one filter "
    "must be given. `next_cursor` goes on with the rest. With `dry_run` nothing is stored, and the answer says what would change.",
    "get_delivery": "Answers the delivery with its headers, query, body and the events that it caused.",
    "replay_delivery": "Puts one delivery back to be applied again. What is known already changes nothing. It takes no body and no "
    "options.",
    "list_refusals": "Webhook calls that were refused, and why. Their bodies are not stored, and the last 1,000 of each client are. Calls "
    "to addresses of no client are shown to keys of no client only.",
    "list_clients": "Clients in the order of their ids. A key of one client sees that client only.",
    "create_client": "Makes a client. Without `client_id` the server makes an id that cannot be guessed. Needs a key of no client.",
    "get_client": "Answers the client with its settings, its state, and the former ids that are still honoured.",
    "put_client": "Replaces all settings of the client: a setting that is left out gets its default. A client that does not exist is made.",
    "rename_client": "Sets the client's name for people. Its id and its settings stay.",
    "delete_client": "Closes the client at once and removes all its records, deliveries, connections and keys in the background. "
    "`confirm` must be the client's id.",
    "suspend_client": "Calls about the client's records are 403 from now on; its webhook calls are stored, and applied when it is resumed.",
    "resume_client": "Opens the client's records again, and applies the webhook calls that came in between.",
    "rotate_client_id": "Gives the client a new id. The id before is honoured for `keep_old_seconds`, so that tools can be changed over.",
    "list_connections": "All connections of the client, by channel and tool. Secrets and access tokens are never shown.",
    "connect": "Connects a tool on one channel, with its secrets and settings. A secret that the server generates is shown in this "
    "answer only.",
    "get_connection": "Answers the connection and how fetching from the tool's API goes. Secrets and access tokens are never shown.",
    "change_connection": "The body is a JSON merge patch (RFC 7396): a member that is left out stays. Lists and settings that are named "
    "are replaced whole.",
    "disconnect": "Removes the connection with its secrets and settings. Records and deliveries stay.",
    "list_keys": "API keys without their texts. A key of one client sees that client's keys only.",
    "create_key": "Makes an API key. Its text is shown in this answer only. No key can give a scope that it does not have.",
    "get_key": "Answers the key's scopes, client, state and last use, never its text.",
    "rotate_key": "Makes a successor with the same scopes; the key itself ends after `keep_old_seconds`. The successor's text is shown "
    "in this answer only.",
    "revoke_key": "Ends the key: in this process at once, in others within a second.",
    "get_status": "Whether the store can write, why it cannot, and what an operator should change. Needs a key of no client.",
}
"""Each operation has its text here; a test compares."""
