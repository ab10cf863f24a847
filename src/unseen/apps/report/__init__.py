"""Self-contained HTML pages of results."""
