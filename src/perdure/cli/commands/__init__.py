"""One module for each command, of one shape: `arguments` says what it takes, `command` does it.

A command is imported when it is asked for, and so may import what it likes.
"""
