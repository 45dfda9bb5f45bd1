"""Messages: sent and received mails and LinkedIn messages, with their text."""
