"""The report: a dossier to one self-contained page, in an internal and a public edition."""
