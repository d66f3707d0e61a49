"""File formats: what can be read and written, one file for each kind; `formats` is the door."""
