"""Forests: any kind of variable from trees that see the weighted records, without chains."""
