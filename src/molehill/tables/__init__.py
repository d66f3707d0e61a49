"""Datasets: reading and writing, kinds of variables, patterns, intervals over datasets, simulated populations."""
