"""Attacks that regulators name and checks that boards know, each with its control or its baseline."""
