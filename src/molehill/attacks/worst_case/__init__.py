"""The worst-case intruder, who knows every other record and the fitted model: membership and single values."""
