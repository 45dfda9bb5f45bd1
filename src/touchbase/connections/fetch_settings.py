"""Whether a connection's access token, and what goes with it, can be used."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from touchbase.common.url_origin import origin_of
from touchbase.connections.fetch_state import FetchState
from touchbase.connections.models import ConnectionSettings
from touchbase.connections.oauth import BEGINS, FORM, grant_of
from touchbase.connections.tools import Fetcher
from touchbase.errors import Fault

State = Literal["idle", "working", "waiting", "stopped"]
_ABOUT = {"api_user": "the e-mail address of the user whose token it is"}


def fetch_faults(
    tool: str, token: str | None, settings: ConnectionSettings, fetcher: Fetcher | None, allowed: Collection[str] = ()
) -> list[Fault]:
    """Everything that is wrong with how a connection wants its tool's API to be asked; `token` is the one it has or gets."""
    faults: list[Fault] = []
    if token and fetcher is None:
        faults.append(Fault("/access_token", "tool", f"{tool} is never asked for records; leave the access token out"))
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        faults.append(Fault("/access_token", "text", "must be printable ASCII without spaces; was more than the token pasted?"))
    if token and token.startswith(BEGINS) and fetcher is not None:
        faults += _grant_faults(tool, token, fetcher)
    if settings.api_base is not None:
        faults += _base_faults(settings.api_base, allowed)
    if token and fetcher is not None:
        for name in fetcher.needs:
            if not getattr(settings, name):
                faults.append(Fault(f"/settings/{name}", "required", f"{tool} wants to know {_ABOUT[name]}"))
    if settings.api_user is not None and not (settings.api_user.isascii() and settings.api_user.isprintable()):
        faults.append(Fault("/settings/api_user", "text", "must be printable ASCII"))
    return faults


def fetching_state(found: FetchState) -> State:
    """How asking goes, in a word: stopped, waiting (after failures), working, or idle."""
    if found.stopped:
        return "stopped"
    if found.failures:
        return "waiting"
    return "working" if found.wanted else "idle"


def _grant_faults(tool: str, token: str, fetcher: Fetcher) -> list[Fault]:
    if fetcher.renewal is None:
        return [Fault("/access_token", "tool", f"{tool} takes an access token that lasts, and no refresh token")]
    return (
        [] if grant_of(token) is not None else [Fault("/access_token", "text", f"a refresh token reads {FORM}, none of them with a colon")]
    )


def _base_faults(base: str, allowed: Collection[str]) -> list[Fault]:
    if not base.isprintable() or " " in base:
        return [Fault("/settings/api_base", "address", "must be one line of printable characters, without spaces")]
    if not base.isascii():
        return [Fault("/settings/api_base", "address", "must be ASCII: write the host as xn--..., and the rest percent-encoded")]
    try:
        origin = origin_of(base)
    except ValueError:
        return [Fault("/settings/api_base", "address", "must be an address such as https://www.zohoapis.eu, without password or query")]
    if origin[0] != "https" and origin not in {origin_of(one) for one in allowed}:
        return [Fault("/settings/api_base", "https", "must be https, unless the operator has named it in TOUCHBASE_FETCH_ALLOWED_ORIGINS")]
    return []
