"""Amazon SNS around other tools' webhooks: its own messages about the subscription to this address.

Until a subscription is confirmed, SNS sends nothing else: the webhook of the confirmation says what a person has to do.
Source: https://docs.aws.amazon.com/sns/latest/dg/SendMessageToHttp.prepare.html
"""

from __future__ import annotations

import re

from touchbase.adapters.kit.extract import text
from touchbase.errors import UnrecognisedPayload

_AMAZON = re.compile(r"https://sns\.[a-z0-9-]{1,40}\.amazonaws\.com(?:\.cn)?/[!-~]{0,2000}")
"""A URL of SNS in any region, with printable characters only."""
_VALIDATED = "Successfully validated SNS topic"
_REQUESTS = {
    "SubscriptionConfirmation": "Amazon SNS sends nothing from {topic} until this subscription is confirmed: if it is yours, open {url}",
    "UnsubscribeConfirmation": "Amazon SNS has ended the subscription of {topic}: if that was not meant, open {url}",
}


def is_set_up(data: object) -> bool:
    """Return whether a webhook is a message of SNS about its subscription, which needs no action.

    Raises `UnrecognisedPayload`, which says what to do, for a subscription that is to be confirmed. One with a URL elsewhere is not of SNS.
    """
    if not isinstance(data, dict) or "TopicArn" not in data:
        return False
    request = _REQUESTS.get(text(data.get("Type")) or "")
    if request is None:
        return (text(data.get("Message")) or "").startswith(_VALIDATED)
    url = text(data.get("SubscribeURL")) or ""
    if _AMAZON.fullmatch(url):
        raise UnrecognisedPayload(request.format(topic=(text(data["TopicArn"]) or "a topic")[:256], url=url))
    return True
