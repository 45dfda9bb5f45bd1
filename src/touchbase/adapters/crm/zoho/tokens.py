"""Zoho CRM: access tokens, which live for an hour, for a refresh token, which does not end.

Reference: zoho.com/crm/developer, generate access tokens, with the accounts server of each data centre (read 2026-11-22). Ten
tokens in ten minutes are given. That a wrong refresh token is told with status 200 is seen in integrators' code.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode

from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.fetch import parsed
from touchbase.connections.oauth import Grant
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed

_API = re.compile(r"https://\w+\.zohoapis\.((?:com\.)?[a-z]{2,3})/?", re.ASCII)
_ELSEWHERE = {"ca": "https://accounts.zohocloud.ca"}
_NEVER = frozenset({"invalid_code", "invalid_client", "invalid_client_secret", "invalid_grant", "unauthorized_client"})
_LATER = 600.0
"""Seconds after which tokens that were asked for too often are given again."""


class ZohoTokens:
    """Asks Zoho's accounts server for access tokens."""

    def call(self, base: str, grant: Grant) -> tuple[str, ApiRequest]:
        """The secrets go into the body, as addresses are written down in many places."""
        fields = {
            "grant_type": "refresh_token",
            "client_id": grant.client_id,
            "client_secret": grant.client_secret,
            "refresh_token": grant.refresh_token,
        }
        headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        return _accounts(base), ApiRequest("POST", "/oauth/v2/token", headers, urlencode(fields).encode())

    def token(self, answer: ApiResponse) -> str:
        """The access token, or why there is none, in words of ours."""
        told = as_dict(parsed(answer))
        token = text(told.get("access_token")) or ""
        if token and token.isascii() and token.isprintable() and " " not in token:
            return token
        if (text(told.get("error")) or "").replace(" ", "_") in _NEVER:
            raise FetchFailed(
                "zoho does not take the refresh token: connect it again with a new one, and see that api_base fits", stop=True
            )
        raise FetchFailed("zoho gave no access token for the refresh token", retry_after=_LATER)


def _accounts(base: str) -> str:
    """The accounts server of the data centre that the API is in; a proxy in front of the API stands in front of both."""
    zone = _API.fullmatch(base)
    return base if zone is None else _ELSEWHERE.get(zone[1], f"https://accounts.zoho.{zone[1]}")
