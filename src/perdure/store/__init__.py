"""Durability: one narrow port, and the stores behind it."""
