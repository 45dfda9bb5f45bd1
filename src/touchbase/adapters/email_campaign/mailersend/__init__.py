"""MailerSend."""
