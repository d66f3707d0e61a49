"""The studio: the whole job in a browser, on the custodian's own machine. Whatever is clicked is a settings file."""
