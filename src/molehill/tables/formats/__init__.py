"""File formats: each a file or a family of files that tables are read from and written to."""
