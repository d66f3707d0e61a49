"""Sampling: chains in compiled chunks, NUTS for any model, checkpoints, and whether draws can be trusted."""
