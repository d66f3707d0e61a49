"""Tables: frames and files to tables and back, what every column is, patterns, intervals, simulated populations."""
