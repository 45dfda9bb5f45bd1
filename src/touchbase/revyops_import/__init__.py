"""Import from RevyOps: contacts and companies of all clients, e-mails of one workspace; resumable, and compared at the end."""
