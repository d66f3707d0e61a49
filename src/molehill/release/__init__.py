"""The release: from a table and settings to tables that may be published, found by a search, kept on disk."""
