"""Reports: records by status over time; mails, replies, bounces and unsubscriptions by campaign, tool and time."""
