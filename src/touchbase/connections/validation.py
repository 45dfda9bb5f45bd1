"""Validation of a connection: tool, settings, secrets, access token and API address. Every function returns faults and raises nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from touchbase.common.timestamps import is_zone
from touchbase.common.url_origin import origin_of
from touchbase.connections.models import (
    CAMPAIGN_FIELDS,
    COMPANY,
    CONTACT,
    CUSTOM_PREFIX,
    DECLARED_CRM_EVENTS,
    DECLARED_EVENTS,
    IGNORE,
    MAPPABLE_FIELDS,
    Connection,
    ConnectionSettings,
)
from touchbase.connections.oauth import FORMAT, PREFIX, grant_of
from touchbase.connections.tools import Fetcher, Tools
from touchbase.errors import Fault
from touchbase.history.events import CRM, EMAIL_CAMPAIGN

_EVENT = re.compile(r"\w+\.(create|update|delete|fieldUpdate\.\w+)")
_ONLY_CRM = (
    "status_property", "objects", "deals_set_status", "deal_labels", "api_user", "location_id", "allow_v1_signatures",
    "written_property",
)  # fmt: skip
_ONLY_OF = {"location_id": "gohighlevel", "allow_v1_signatures": "hubspot", "written_property": "hubspot"}
_PEM = "-----BEGIN"
_PROPERTY = re.compile(r"[a-z][a-z0-9_]{0,99}")
"""The form of the internal names of HubSpot's properties."""
_NO_STATUS = ("associatedcompanyid", "company", "createdate", "email", "firstname", "hs_object_id", "lastmodifieddate", "lastname")
"""Properties of HubSpot that a status would destroy, or that cannot be written."""
_IDENTITIES = frozenset({"id", "email", "domain", "linkedin_url"})


def trim_secrets(secrets: Sequence[str]) -> list[str]:
    """Return the secrets, with the surrounding white space of PEM keys removed (files and web pages add a line end)."""
    return [secret.strip() if secret.lstrip().startswith(_PEM) else secret for secret in secrets]


def secret_faults(
    senders: Tools, channel: str, tool: str, secrets: Sequence[str], settings: ConnectionSettings, *, more: int = 0
) -> list[Fault]:
    """Return the faults of new secrets and of the settings that concern them; `more`: secrets to be generated in addition."""
    faults: list[Fault] = []
    for index, secret in enumerate(secrets):
        if secret != secret.strip() or secret in secrets[:index]:
            faults.append(Fault(f"/secrets/{index}", "secret", "must be given once, without white space around it"))
        elif (form := senders.why_not_secret(channel, tool, secret)) is not None:
            detail = f"cannot match a signature of {tool}: give {form}. To put a secret into the webhook URL (`?token=`), generate one here"
            faults.append(Fault(f"/secrets/{index}", "secret", detail))
    most = senders.most_secrets(channel, tool)
    if len(secrets) + more > most:
        where, count = ("/generate_secret", f"{len(secrets)} are given in addition") if more else ("/secrets", f"{len(secrets)} are given")
        faults.append(Fault(where, "too_long", f"a connection of {tool} has at most {most} secrets, and {count}"))
    has_public_key = any(senders.is_public(channel, tool, secret) for secret in secrets)
    if tool == _ONLY_OF["location_id"] and has_public_key and settings.location_id is None:
        detail = "must name the location: all customers share the public key, which proves only that GoHighLevel sent the webhook"
        faults.append(Fault("/settings/location_id", "required", detail))
    if settings.signature_max_age is not None and not senders.has_window(channel, tool):
        faults.append(Fault("/settings/signature_max_age", "tool", f"signatures of {tool} carry no time; leave it out"))
    return faults


def token_fault(connection: Connection, settings: ConnectionSettings, *, has_new_token: bool) -> list[Fault]:
    """Return a fault when the stored access token would be sent to another API address than the address that it was set for."""
    if not connection.access_token or has_new_token or settings.api_base == connection.settings.api_base:
        return []
    detail = "must be given again when api_base changes: the stored token was given for the previous address"
    return [Fault("/access_token", "required", detail)]


def connection_faults(
    channel: str, tool: str, settings: ConnectionSettings, tools: Sequence[str], kinds: Sequence[str] | None = None
) -> list[Fault]:
    """Return the faults of a connection's channel, tool and settings, beyond types; `kinds`: the kinds of records it has, if known."""
    faults: list[Fault] = []
    if tool not in tools:
        faults.append(Fault("/tool", "tool", f"no {channel} tool is called {tool[:100]!r}; there are {', '.join(tools)}"))
    _check_channel(channel, tool, settings, faults)
    if kinds is not None:
        _check_kinds(settings, tool, kinds, faults)
    _check_zone(settings.time_zone, faults)
    _check_labels(settings.status_labels, "status_labels", faults)
    _check_labels(settings.deal_labels, "deal_labels", faults)
    _check_objects(settings.objects, faults)
    _check_fields(settings.fields, channel, tool, faults)
    _check_events(settings, channel, faults)
    _check_written(settings.written_property, faults)
    if settings.deals_set_status and not settings.deal_labels:
        faults.append(Fault("/settings/deal_labels", "required", "deals_set_status needs deal_labels: say which status each stage sets"))
    return faults


COLUMN_MAPPED = frozenset({"airtable", "baserow", "nocodb", "grist", "google_sheets"})
"""Open tables, whose `fields` are names of columns; usual names need none."""


def _check_channel(channel: str, tool: str, settings: ConnectionSettings, faults: list[Fault]) -> None:
    names = [name for name in _ONLY_CRM if channel != CRM and getattr(settings, name)]
    if channel != EMAIL_CAMPAIGN and settings.linkedin_reply_counts is not None:
        names.append("linkedin_reply_counts")
    if channel != EMAIL_CAMPAIGN and settings.unknown_bounces is not None:
        names.append("unknown_bounces")
    faults += [Fault(f"/settings/{name}", "channel", f"is not a setting of the channel {channel}") for name in names]
    for name, owner in _ONLY_OF.items():
        if channel == CRM and tool != owner and getattr(settings, name):
            faults.append(Fault(f"/settings/{name}", "tool", f"is for the tool {owner!r} only"))
    for name in ("fields", "events"):
        if tool != "generic" and not (name == "fields" and tool in COLUMN_MAPPED) and getattr(settings, name):
            faults.append(Fault(f"/settings/{name}", "tool", f"is for the tool 'generic' only; the {name} of {tool} are known"))


def _check_kinds(settings: ConnectionSettings, tool: str, kinds: Sequence[str], faults: list[Fault]) -> None:
    for kind in settings.status_property:
        if kind not in kinds:
            detail = f"{tool} has no kind of record {kind[:100]!r}; there are {', '.join(kinds)}"
            faults.append(Fault(_entry("status_property", kind), "kind", detail))


def _check_zone(name: str | None, faults: list[Fault]) -> None:
    if name is None or is_zone(name):
        return
    if is_zone("Europe/Berlin"):
        detail = f"{name[:100]!r} is not an IANA time zone; send a name such as Europe/Berlin, Asia/Kolkata or UTC"
    else:
        detail = "this system has no time zone data; install its package tzdata, and send this again"
    faults.append(Fault("/settings/time_zone", "time_zone", detail))


def _check_labels(labels: Mapping[str, str | None], name: str, faults: list[Fault]) -> None:
    for label, status in labels.items():
        if not label.strip() or (status is not None and (not status.strip() or status != status.strip())):
            faults.append(
                Fault(_entry(name, label), "blank", "neither the label nor its status may be blank or have white space around it")
            )


def _check_objects(objects: Mapping[str, str], faults: list[Fault]) -> None:
    for number, target in objects.items():
        if target not in (CONTACT, COMPANY, IGNORE) and _EVENT.fullmatch(target) is None:
            detail = f"{target!r} is none of {CONTACT}, {COMPANY}, {IGNORE}, nor an event such as Contact.update"
            faults.append(Fault(_entry("objects", number), "choice", detail))


def _check_fields(fields: Mapping[str, str], channel: str, tool: str, faults: list[Fault]) -> None:
    allowed = MAPPABLE_FIELDS if channel == CRM else CAMPAIGN_FIELDS
    listed = next((path.partition("[]")[0] for path in fields.values() if "[]" in path), None)
    for name, path in fields.items():
        custom = name.removeprefix(CUSTOM_PREFIX) if name.startswith(CUSTOM_PREFIX) else None
        if custom is None and name not in allowed:
            detail = f"{name[:100]!r} is none of {', '.join(allowed)}, nor custom.NAME of a custom field"
            faults.append(Fault(_entry("fields", name), "unknown", detail))
        elif custom is not None and (custom != custom.strip() or not custom or custom in allowed):
            detail = "must be custom.NAME with the name of a custom field, no blanks around it; the fields above go without it"
            faults.append(Fault(_entry("fields", name), "unknown", detail))
        elif any(not part.strip() for part in path.replace("[]", "", 1).split(".")) or "[]" in path.replace("[]", "", 1):
            detail = "must be keys joined by dots, such as data.person.mail, with one [] behind a list at most, such as items[].Email"
            faults.append(Fault(_entry("fields", name), "path", detail))
        elif "[]" in path and path.partition("[]")[0] != listed:
            detail = f"must name the same list as the other paths, {listed}[]: one body is read for each of one list"
            faults.append(Fault(_entry("fields", name), "path", detail))
    if fields and channel == CRM and tool not in COLUMN_MAPPED and _IDENTITIES.isdisjoint(fields):
        faults.append(Fault("/settings/fields", "required", "must say where to find one of id, email, domain and linkedin_url"))


def _check_events(settings: ConnectionSettings, channel: str, faults: list[Fault]) -> None:
    allowed = DECLARED_CRM_EVENTS if channel == CRM else DECLARED_EVENTS
    for name, event in settings.events.items():
        if event not in allowed:
            faults.append(Fault(_entry("events", name), "choice", f"{event[:100]!r} is none of {', '.join(allowed)}"))
    if channel == CRM and settings.events and not settings.fields:
        detail = "must say where the body has the event, and one of id, email, domain and linkedin_url: else events of a CRM are not read"
        faults.append(Fault("/settings/fields", "required", detail))


def _check_written(name: str | None, faults: list[Fault]) -> None:
    if name is not None and _PROPERTY.fullmatch(name) is None:
        detail = "must be the internal name of a property, such as touchbase_status: lower-case letters, digits and underscores"
        faults.append(Fault("/settings/written_property", "text", detail))
    elif name in _NO_STATUS or (name is not None and "linkedin" in name):
        detail = f"{name} is no property for a status; give one for statuses, such as hs_lead_status, or make one, such as touchbase_status"
        faults.append(Fault("/settings/written_property", "choice", detail))


def _entry(setting: str, name: str) -> str:
    """Return the JSON pointer to one entry of a setting that is a mapping."""
    return f"/settings/{setting}/{name.replace('~', '~0').replace('/', '~1')}"


_NEEDED = {"api_user": "the user of the access token, such as an e-mail address or an id", "api_base": "the URL of your account there"}


def fetch_faults(
    tool: str,
    token: str | None,
    settings: ConnectionSettings,
    fetcher: Fetcher | None,
    allowed: Collection[str] = (),
    *,
    has_blocklist: bool | None = None,
) -> list[Fault]:
    """Return the faults of the settings for the tool's API; `token` is the access token that the connection has or gets.

    `has_blocklist`: whether entries of the do-not-contact list can be written to a campaign tool; None: a CRM.
    """
    faults: list[Fault] = []
    if token and fetcher is None and not has_blocklist:
        faults.append(Fault("/access_token", "tool", f"nothing is fetched from {tool} or written there; leave the access token out"))
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        faults.append(Fault("/access_token", "text", "must be printable ASCII without spaces; paste only the token"))
    if token and token.startswith(PREFIX) and fetcher is not None:
        faults += _grant_faults(tool, token, fetcher)
    if settings.api_base is not None and has_blocklist is False:
        faults.append(Fault("/settings/api_base", "tool", f"nothing is fetched from {tool} or written there; leave it out"))
    elif settings.api_base is not None:
        faults += _base_faults(settings.api_base, allowed)
    if token and fetcher is not None:
        for name in fetcher.needs:
            if not getattr(settings, name):
                faults.append(Fault(f"/settings/{name}", "required", f"{tool} needs {_NEEDED[name]}"))
    if settings.api_user is not None and not (settings.api_user.isascii() and settings.api_user.isprintable()):
        faults.append(Fault("/settings/api_user", "text", "must be printable ASCII"))
    return faults


def _grant_faults(tool: str, token: str, fetcher: Fetcher) -> list[Fault]:
    if fetcher.renewal is None:
        return [Fault("/access_token", "tool", f"{tool} takes a long-lived access token, no refresh token")]
    if grant_of(token) is None:
        return [Fault("/access_token", "text", f"a refresh token has the form {FORMAT}, without a colon inside any part")]
    return []


def _base_faults(base: str, allowed: Collection[str]) -> list[Fault]:
    if not base.isprintable() or " " in base:
        return [Fault("/settings/api_base", "address", "must be one line of printable characters, without spaces")]
    if not base.isascii():
        return [Fault("/settings/api_base", "address", "must be ASCII: write the host as xn--..., and the rest percent-encoded")]
    try:
        origin = origin_of(base)
    except ValueError:
        return [Fault("/settings/api_base", "address", "must be a URL such as https://www.zohoapis.eu, without password or query")]
    if origin[0] != "https" and origin not in {origin_of(base) for base in allowed}:
        return [Fault("/settings/api_base", "https", "must be https, unless the operator lists it in TOUCHBASE_FETCH_ALLOWED_ORIGINS")]
    return []
