"""Datasets: frames and files to datasets and back, what every variable is, patterns, intervals, simulated
populations."""
