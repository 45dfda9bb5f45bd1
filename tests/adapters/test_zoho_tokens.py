"""Zoho's access tokens: which server is asked for one, and what of its answer is a token."""

from __future__ import annotations

import json

import pytest

from touchbase.adapters.crm.zoho.tokens import ZohoTokens
from touchbase.connections.oauth import Grant
from touchbase.connections.tools import ApiResponse, FetchFailed

GRANT = Grant("client", "secret & more", "1000.token")


@pytest.mark.parametrize(
    ("api", "accounts"),
    [
        ("https://www.zohoapis.com", "https://accounts.zoho.com"),
        ("https://www.zohoapis.eu/", "https://accounts.zoho.eu"),
        ("https://www.zohoapis.com.au", "https://accounts.zoho.com.au"),
        ("https://www.zohoapis.ca", "https://accounts.zohocloud.ca"),
        ("https://sandbox.zohoapis.in", "https://accounts.zoho.in"),
        ("https://crm-proxy.internal:8443", "https://crm-proxy.internal:8443"),
        ("https://www.zohoapis.com.example.org", "https://www.zohoapis.com.example.org"),
        ("https://www.zohoapis.example", "https://www.zohoapis.example"),
    ],
)
def test_zoho_token_request__goes_to_the_data_centre_of_the_api(api: str, accounts: str) -> None:
    address, call = ZohoTokens().request(api, GRANT)

    assert (address, call.method, call.path) == (accounts, "POST", "/oauth/v2/token")
    assert call.body == b"grant_type=refresh_token&client_id=client&client_secret=secret+%26+more&refresh_token=1000.token"
    assert "secret" not in repr(call.headers)


def test_zoho_token__is_read_from_the_response() -> None:
    assert ZohoTokens().token(ApiResponse(200, {}, b'{"access_token": "1000.a.b", "expires_in": 3600}')) == "1000.a.b"


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"access_token": null}', '{"access_token": "a b"}', '{"error": "invalid code: secret"}'])
def test_zoho_token_response__without_a_token_fails_without_quoting_it(body: str) -> None:
    with pytest.raises(FetchFailed) as told:
        ZohoTokens().token(ApiResponse(200, {}, body.encode()))

    assert not told.value.stop
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("error", ["invalid_code", "invalid client", "invalid_client_secret"])
def test_zoho_refresh_token__that_is_rejected_stops_fetching(error: str) -> None:
    with pytest.raises(FetchFailed) as told:
        ZohoTokens().token(ApiResponse(200, {}, json.dumps({"error": error}).encode()))

    assert told.value.stop
