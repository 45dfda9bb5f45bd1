"""Company links: contacts without a company get the company with the domain of their e-mail address, in the background."""
