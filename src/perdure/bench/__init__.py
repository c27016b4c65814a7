"""`perdure bench`: the engine on a file, measured against a loop that does the same without it."""
