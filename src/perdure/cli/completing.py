"""Scripts that complete the command line, written from its parser: nothing is said twice."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

FILES = frozenset({"FILE", "MODULE"})
"""What is completed by the names of files."""


@dataclass(frozen=True)
class Option:
    """One option of a command: its name, what it is for, and what may follow it."""

    flag: str
    about: str
    takes: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """One command: what it is for, its options, and words that may stand on their own."""

    name: str
    about: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def known(top: argparse.ArgumentParser) -> list[Command]:
    """Give the commands of a parser."""
    [commands] = [each for each in top._actions if isinstance(each.choices, dict)]
    return [
        Command(name, sub.description or "", tuple(_options(sub)), tuple(_words(sub)))
        for name, sub in dict(commands.choices or {}).items()
    ]


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for each in parser._actions:
        takes = "" if each.nargs == 0 else str(each.metavar or each.dest.upper())
        choices = tuple(map(str, each.choices or ()))
        for flag in each.option_strings:
            if flag.startswith("--"):
                yield Option(flag, each.help or "", takes, choices)


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for each in parser._actions:
        if not each.option_strings and each.choices:
            yield from (str(choice) for choice in each.choices if choice)


# --- bash


def bash(commands: list[Command]) -> str:
    """Give the script for bash; where it knows nothing, file names are completed."""
    names = " ".join(each.name for each in commands)
    values = [line for each in commands for line in _bash_values(each)]
    words = [
        f"    {each.name}) words={shlex.quote(' '.join([*_flags(each), *each.words]))};;"
        for each in commands
    ]
    return "\n".join([
        "_perdure() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""',
        f'  if [ "$COMP_CWORD" -eq 1 ]; then words="{names} --help --version"; fi',
        '  case "${COMP_WORDS[1]} $before" in',
        *values,
        "  esac",
        '  if [ "$COMP_CWORD" -gt 1 ]; then case "${COMP_WORDS[1]}" in',
        *words,
        "  esac; fi",
        '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")',
        "}",
        "complete -o default -F _perdure perdure",
    ])  # fmt: skip


def _bash_values(command: Command) -> Iterator[str]:
    for each in command.options:
        if each.takes:
            inner = " ".join(each.choices)
            done = (
                f'mapfile -t COMPREPLY < <(compgen -W "{inner}" -- "$word"); return'
                if inner
                else "return"
            )
            yield f'    "{command.name} {each.flag}") {done};;'


def _flags(command: Command) -> list[str]:
    return [each.flag for each in command.options]


# --- zsh


def zsh(commands: list[Command]) -> str:
    """Give the script for zsh."""
    described = [f"    {shlex.quote(f'{each.name}:{each.about}')}" for each in commands]
    cases = [line for each in commands for line in _zsh_case(each)]
    return "\n".join([
        "#compdef perdure",
        "_perdure() {",
        "  local -a commands=(",
        *described,
        "  )",
        "  if (( CURRENT == 2 )); then _describe command commands; return; fi",
        "  shift words; (( CURRENT-- ))",
        "  case $words[1] in",
        *cases,
        "  esac",
        "}",
        "compdef _perdure perdure",
    ])  # fmt: skip


def _zsh_case(command: Command) -> list[str]:
    rest = f"({' '.join(command.words)})" if command.words else "_files"
    specs = [shlex.quote(_zsh_option(each)) for each in command.options]
    return [f"    {command.name}) _arguments {' '.join([*specs, shlex.quote(f'*:word:{rest}')])};;"]


def _zsh_option(option: Option) -> str:
    about = re.sub(r"([\[\]:\\])", r"\\\1", option.about)
    if not option.takes:
        return f"{option.flag}[{about}]"
    what = f"({' '.join(option.choices)})" if option.choices else ""
    what = what or ("_files" if option.takes in FILES else " ")
    return f"*{option.flag}[{about}]:{option.takes.replace(':', ' ')}:{what}"


# --- fish


def fish(commands: list[Command]) -> str:
    """Give the script for fish."""
    lines = [
        f"complete -c perdure -n __fish_use_subcommand -f -a {each.name} -d {_fished(each.about)}"
        for each in commands
    ]
    return "\n".join([*lines, *(line for each in commands for line in _fish_options(each))])


def _fish_options(command: Command) -> Iterator[str]:
    begin = f"complete -c perdure -n '__fish_seen_subcommand_from {command.name}'"
    for each in command.options:
        value = "" if not each.takes else " -r -F" if each.takes in FILES else " -x"
        value += f" -a {_fished(' '.join(each.choices))}" if each.choices else ""
        yield f"{begin} -l {each.flag[2:]}{value} -d {_fished(each.about)}"
    if command.words:
        yield f"{begin} -f -a {_fished(' '.join(command.words))}"


def _fished(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[list[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
