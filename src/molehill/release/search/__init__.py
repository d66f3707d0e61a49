"""The search: from a rule to the release that keeps the most under it."""
