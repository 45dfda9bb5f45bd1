"""Zoho CRM: fetching leads, contacts and accounts, many per request.

Reference: zoho.com/crm/developer, get records (read 2026-11-20). A request must list the fields, and may list only
the standard ones; a custom field is added if the connection names it as the status. If none of the records
exists, the response is 204 without a body.
"""

from __future__ import annotations

from touchbase.adapters.crm.zoho.modules import MODULES, normalize_record
from touchbase.adapters.crm.zoho.tokens import ZohoTokens
from touchbase.adapters.kit.crm import UPDATED, CrmItem
from touchbase.adapters.kit.crm_adapter import Body, statuses_of
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.tools import ApiRequest
from touchbase.history.events import Event

_PERSON = ("Email", "First_Name", "Last_Name", "Full_Name", "Phone", "Mobile", "Lead_Source", "Modified_Time")
FIELDS = {
    "Leads": (*_PERSON, "Company", "Website", "Designation", "Industry"),
    "Contacts": (*_PERSON, "Title", "Account_Name"),
    "Accounts": ("Account_Name", "Website", "Phone", "Industry", "Account_Type", "Modified_Time"),
}
_USUAL = {"Leads": ("Lead_Status",)}


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word not in FIELDS:
        return None
    statuses = statuses_of(_USUAL, target.connection.settings, target.kind, target.word)
    fields = ",".join((*FIELDS[target.word], *statuses))
    headers = {"authorization": f"Zoho-oauthtoken {target.connection.access_token}"}
    return target.get(f"/crm/v7/{target.word}?ids={','.join(target.ids)}&fields={fields}", headers)


FETCHER = ApiFetcher("https://www.zohoapis.com", 100, 30, _make, lambda answer: as_list(as_dict(answer).get("data")), renewal=ZohoTokens())


def read_fetched(body: Body, word: str, statuses: tuple[str, ...]) -> list[Event]:
    """Read one record of a response."""
    at = parse_time(body.get("Modified_Time"))
    return CrmItem(
        MODULES[word], UPDATED, word, text(body.get("id")), "fetched", at, record=normalize_record(body), status=statuses
    ).events()
