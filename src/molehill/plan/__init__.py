"""The plan: settings of a release, rules that it shall keep, and settings to begin with."""
