"""Forests: any kind of column from trees that see the weighted records, without chains."""
