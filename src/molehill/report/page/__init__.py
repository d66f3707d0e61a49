"""The page: what a report shows, part by part, and the frame that it is set in."""
