"""Evaluation: every measure of risk and utility of any release, in tidy frames."""
