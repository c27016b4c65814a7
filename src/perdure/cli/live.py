"""One line on standard error that is written again and again while something takes long."""

from __future__ import annotations

import shutil
import sys

from perdure.cli.terminal import clean, clip


class Live:
    """The line, where there is a terminal to show it; nothing anywhere else."""

    def __init__(self, *, wanted: bool = True) -> None:
        self.is_on = wanted and sys.stderr.isatty()
        self._shown = False

    def show(self, text: str) -> None:
        """Write the line anew."""
        if self.is_on:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{clip(clean(text), width)}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
