"""Generic campaign adapter: any other campaign tool."""
