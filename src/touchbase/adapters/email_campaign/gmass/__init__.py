"""GMass: webhooks of one platform event each. The event's name may be missing: then it is in the address, `?event=Replies`."""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm_values import query_parameter
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter


class GMass(TableAdapter):
    """Reads GMass's webhooks."""

    def named(self, item: Item, webhook: ParsedWebhook) -> str | None:
        """Return the event's name, else the one in the address."""
        return super().named(item, webhook) or query_parameter(webhook.request.query, "event")


ADAPTER = GMass(
    tool="gmass",
    shapes=(DetectionRule("EmailAddress CampaignID TimeStamp", 92),),
    plain_names="sends opens clicks replies bounces blocks unsubscribes",
    name="eventType platformSource",
    email="EmailAddress",
    time="TimeStamp",
    first_name="FirstName",
    last_name="LastName",
    campaign="CampaignName CampaignID",
    campaign_id="CampaignID",
    link="URL Url ClickedURL",
    bounce="BounceMessage BounceReason Message",
)
