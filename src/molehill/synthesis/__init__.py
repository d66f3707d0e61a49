"""Synthesis: what a synthesizer is, its design, its weighting, and from a fit to synthetic datasets."""
