"""Campaign tool adapters: one folder per tool."""
