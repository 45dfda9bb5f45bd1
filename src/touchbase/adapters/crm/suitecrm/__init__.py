"""SuiteCRM: webhooks of a plug-in or logic hook, whose body an administrator lays out, and fetching records by its V8 API.

SuiteCRM itself sends no webhooks. Reference: docs.suitecrm.com, API V8, from clients of it. Access tokens live for an hour; an OAuth client
of the kind *client credentials* gets new ones.
"""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import urlencode

from touchbase.adapters.kit.crm import COMPANY, CONTACT, RecordShape
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, access_token_in, build_path, parse_json, single_record
from touchbase.adapters.kit.laid_out import LaidOutCrm
from touchbase.connections.oauth import Grant
from touchbase.connections.tools import ApiRequest, ApiResponse, Fetcher, FetchFailed

_PERSON = RecordShape(
    CONTACT, email=("email1", "email"), first_name=("first_name",), last_name=("last_name",), employer=("account_id",),
    employer_type="account", useful=("title", "phone_work", "phone_mobile"),
)  # fmt: skip


def _make(target: FetchTarget) -> ApiRequest:
    return target.get(build_path("Api", "V8", "module", f"{target.word.capitalize()}s", target.ids[0]), target.bearer())


def _listed(data: object) -> list[object]:
    return [{**as_dict(record.get("attributes")), "id": record.get("id")} for record in map(as_dict, single_record(data)) if record]


class _ClientTokens:
    """Requests access tokens for an OAuth client; the place of the refresh token says `client_credentials`."""

    def request(self, base: str, grant: Grant) -> tuple[str, ApiRequest]:
        """Build the token request."""
        body = {"grant_type": grant.refresh_token, "client_id": grant.client_id, "client_secret": grant.client_secret}
        headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        return base, ApiRequest("POST", "/Api/access_token", headers, urlencode(body).encode())

    def token(self, response: ApiResponse) -> str:
        """Return the access token."""
        if (token := access_token_in(as_dict(parse_json(response)))) is not None:
            return token
        raise FetchFailed("suitecrm returned no access token: connect it again with an OAuth client of client credentials", stop=True)


class SuiteCrm(LaidOutCrm):
    """Reads webhooks of SuiteCRM's plug-ins."""

    tool = "suitecrm"
    words = ("lead",)
    detection_keys = frozenset({"suitecrm"})
    status: ClassVar[dict[str, tuple[str, ...]]] = {"lead": ("status",), "contact": (), "company": ()}
    shapes: ClassVar[dict[str, RecordShape]] = {
        "contact": _PERSON, "lead": _PERSON,
        "account": RecordShape(COMPANY, domain=("website",), company=("name",), useful=("phone_office",)),
    }  # fmt: skip
    times = ("date_modified",)
    fetcher: ClassVar[Fetcher | None] = ApiFetcher(
        "https://crm.example.com", 1, 60, _make, _listed, needs=("api_base",), renewal=_ClientTokens()
    )


ADAPTER = SuiteCrm()
