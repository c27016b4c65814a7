"""The process that runs live in."""
