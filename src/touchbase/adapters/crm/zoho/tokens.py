"""Zoho CRM: access tokens, valid for an hour, from a refresh token that does not expire.

Reference: zoho.com/crm/developer, generate access tokens, with the accounts server of each data centre (read
2026-11-22). The limit is ten tokens in ten minutes. Integrators' code shows that an invalid refresh token gives an
error with status 200.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.fetch import access_token_in, parse_json
from touchbase.connections.oauth import Grant
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed

_API = re.compile(r"https://\w+\.zohoapis\.((?:com\.)?[a-z]{2,3})/?", re.ASCII)
_ELSEWHERE = {"ca": "https://accounts.zohocloud.ca"}
_NEVER = frozenset({"invalid_code", "invalid_client", "invalid_client_secret", "invalid_grant", "unauthorized_client"})
_LATER = 600.0
"""Seconds until tokens are issued again after the limit was exceeded."""


class ZohoTokens:
    """Requests access tokens from Zoho's accounts server."""

    def request(self, base: str, grant: Grant) -> tuple[str, ApiRequest]:
        """Build the token request. Secrets go into the body, because URLs are logged in many places."""
        fields = {
            "grant_type": "refresh_token",
            "client_id": grant.client_id,
            "client_secret": grant.client_secret,
            "refresh_token": grant.refresh_token,
        }
        headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        return _accounts(base), ApiRequest("POST", "/oauth/v2/token", headers, urlencode(fields).encode())

    def token(self, response: ApiResponse) -> str:
        """Return the access token; raises an error with our own message if there is none."""
        content = as_dict(parse_json(response))
        if (token := access_token_in(content)) is not None:
            return token
        if (text(content.get("error")) or "").replace(" ", "_") in _NEVER:
            raise FetchFailed("zoho rejected the refresh token: connect it again with a new one, and check api_base", stop=True)
        raise FetchFailed("zoho returned no access token for the refresh token", retry_after=_LATER)


def _accounts(base: str) -> str:
    """Return the accounts server of the API's data centre; a proxy in front of the API also serves the accounts server."""
    zone = _API.fullmatch(base)
    return base if zone is None else _ELSEWHERE.get(zone[1], f"https://accounts.zoho.{zone[1]}")
