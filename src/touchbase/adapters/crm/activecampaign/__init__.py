"""ActiveCampaign."""
