"""Any other campaign tool."""
