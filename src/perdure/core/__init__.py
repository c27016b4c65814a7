"""The fold: tasks, gates and timers as data, and `apply(fact) -> effects`.

Pure: no clock, no randomness, no input or output, no event loop but its own.
"""
