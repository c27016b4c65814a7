"""Every error that Perdure raises: what happened, where, what to do, under a stable code.

Knows no other module of Perdure. The docstring of a class is its entry in the reference;
`docs/reference/errors.md` lists every code, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class PerdureError(Exception):
    """The base of every error that Perdure itself raises."""

    code: ClassVar[str] = "E000"

    def __init__(self, what: str, *, remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(f"{self.code} {what}" + (f"; {remedy}" if remedy else ""))


def brief(error: BaseException) -> str:
    """Give what a log may say of an error: its class and code, not its text, which holds values."""
    name = type(error).__name__
    return f"{error.code} {name}" if isinstance(error, PerdureError) else name


# --- E1: the program, before it runs -------------------------------------------------


class Refused(PerdureError):
    """A workflow holds something that cannot be made durable; every place is listed at once."""

    code = "E100"

    def __init__(self, what: str, *, remedy: str = "", diagnostics: Sequence[Any] = ()) -> None:
        self.diagnostics = list(diagnostics)
        super().__init__(what, remedy=remedy)


class SourceUnproved(PerdureError):
    """The text of a module is not the text of the code that was imported from it."""

    code = "E101"


class NotHere(PerdureError):
    """Inline code of a workflow asked for something that lies outside of the run."""

    code = "E102"


class ForeignAwaitable(PerdureError):
    """A workflow awaited something that belongs to another event loop."""

    code = "E103"


class NoRun(PerdureError):
    """A function that only means something inside of a run was called outside of one."""

    code = "E104"


class NotAWorkflow(PerdureError):
    """A name that should lead to a workflow leads nowhere, or to something else."""

    code = "E105"


class NotStorable(PerdureError):
    """A program refers to something that can be neither written down nor found by a name."""

    code = "E106"


class BadProgram(PerdureError):
    """The text of a program is damaged, or what it names is not in this process."""

    code = "E107"


# --- E2: values -----------------------------------------------------------------------


class NotEncodable(PerdureError):
    """A value cannot be written down; the message names its path and its type."""

    code = "E201"


class ValueTooLarge(NotEncodable):
    """A value is larger, or nested deeper, than a payload may be."""

    code = "E202"


class NotDecodable(PerdureError):
    """Stored text is no value, or names a type that this process does not have."""

    code = "E203"


class WrongType(PerdureError):
    """A value is not of the type that was asked for."""

    code = "E204"


# --- E3: the run ----------------------------------------------------------------------


class Stale(PerdureError):
    """An outcome came for an attempt that is no longer awaited; nothing has changed."""

    code = "E301"


class Diverged(PerdureError):
    """The same facts caused other effects than before; both sides are shown."""

    code = "E302"


class ReadinessOverflow(PerdureError):
    """More arrived at a gate than it requires; the run stops."""

    code = "E303"


class Broken(PerdureError):
    """The run failed inside of the engine and takes no further fact."""

    code = "E304"


class Endless(PerdureError):
    """One fact kept a run busy without end."""

    code = "E305"


class WrongFact(PerdureError):
    """A fact does not fit the state of the run that it was given to."""

    code = "E306"


class Deadlocked(PerdureError):
    """A run waits for something that nothing can bring about any more."""

    code = "E307"


class NotNow(PerdureError):
    """A run cannot be put into an image at this moment; its facts will recover it."""

    code = "E308"

    def __init__(self, what: str, *, at: str = "") -> None:
        self.at = at
        super().__init__(what + (f", at {at}" if at else ""))


class BadImage(PerdureError):
    """An image is damaged, forged, or of another program or Python; the run refolds instead."""

    code = "E309"


class ClassChanged(PerdureError):
    """A class that a run refers to was changed, and facts of before cannot be folded with it."""

    code = "E311"


class Stuck(PerdureError):
    """Inline code of a workflow did not come back; the run is stopped where it was."""

    code = "E312"


class DamagedLog(PerdureError):
    """A row of a run's log is not what was written there."""

    code = "E313"


class NotUpgraded(PerdureError):
    """A run cannot be moved to other code; it goes on with the code that it has."""

    code = "E314"

    def __init__(self, what: str, *, remedy: str = "", asked: str = "") -> None:
        self.asked = asked
        """Which of several requests this answers."""
        super().__init__(what, remedy=remedy)


class CrashDiffers(PerdureError):
    """A run that crashed and came back did not do what it does when it is left alone."""

    code = "E310"


# --- E4: actions ----------------------------------------------------------------------


class BadPolicy(PerdureError):
    """A retry or time-out policy that means nothing."""

    code = "E401"


class ActionTimeout(PerdureError, TimeoutError):
    """An action took longer than it was allowed."""

    code = "E402"


class Interrupted(PerdureError):
    """The holder of an `at_most_once` action died; whether it took effect is not known."""

    code = "E403"


class HolderLost(PerdureError):
    """The holders of one call died more often than a call may be lost."""

    code = "E404"


class RetryAfter(PerdureError):
    """Raised by an action: try again, but not before so many seconds have passed."""

    code = "E405"

    def __init__(self, seconds: float, reason: str = "") -> None:
        self.seconds = seconds
        self.reason = reason
        super().__init__(f"try again in {seconds} s" + (f": {reason}" if reason else ""))
        self.args = (seconds, reason)

    def __str__(self) -> str:
        return f"{self.code} {self.what}"


class NotApart(PerdureError):
    """An action that is to run in a process of its own is not to be found there."""

    code = "E406"


class Unserved(PerdureError):
    """No process here serves the queue that a call asks for, or knows its action: the run waits."""

    code = "E407"


# --- E5: stores and engines ------------------------------------------------------------


class StoreError(PerdureError):
    """A store cannot be opened or used as it is."""

    code = "E500"


class StoreUnreachable(StoreError):
    """The file of a store cannot be opened, made or written to."""

    code = "E501"


class NotAStore(StoreError):
    """A file is there, but it is no store of Perdure."""

    code = "E502"


class StoreTooNew(StoreError):
    """A store was written by a newer Perdure, and this one does not know its tables."""

    code = "E503"


class WrongEnvironment(StoreError):
    """A store belongs to another environment than the one that was asked for."""

    code = "E504"


class NetworkStore(StoreError):
    """A store lies on a network file system, where locks and memory maps cannot be relied on."""

    code = "E505"


class StoreDamaged(StoreError):
    """The file of a store is damaged."""

    code = "E506"


class SecondLibrary(StoreError):
    """A file that the engine has open was about to be opened by another SQLite in this process."""

    code = "E507"


class StoreInUse(StoreError):
    """Something needs a store to itself, and another process has it."""

    code = "E508"


class BadKey(StoreError):
    """The key of a store is missing its length, or others can read it."""

    code = "E509"


class UnsafeSettings(StoreError):
    """SQLite did not take a setting without which nothing can be promised."""

    code = "E510"


class StoreDown(StoreError):
    """The store is out of reach, or full; nothing was written. It may come back."""

    code = "E511"

    def __init__(self, what: str = "the store is out of reach", *, remedy: str = "") -> None:
        super().__init__(what, remedy=remedy)


class FateUnclear(StoreError):
    """Whether something was written is not known; what is there tells."""

    code = "E512"

    def __init__(self, what: str = "a commit has failed", *, remedy: str = "") -> None:
        super().__init__(what, remedy=remedy)


class Fenced(StoreError):
    """This owner of the runs was replaced: it wrote nothing, and can write nothing more."""

    code = "E513"

    def __init__(self, what: str = "this writer was replaced", *, remedy: str = "") -> None:
        super().__init__(what, remedy=remedy)


class DataRefused(StoreError):
    """The store will not take these data, however often they are sent; nothing was written."""

    code = "E514"

    def __init__(self, what: str = "the data do not fit", *, remedy: str = "") -> None:
        super().__init__(what, remedy=remedy)


# --- E6: asking about runs -------------------------------------------------------------


class NoSuchRun(PerdureError):
    """No run of that id is in the store."""

    code = "E601"


class RunExists(PerdureError):
    """A run of that id is there already, and was started with another workflow or input."""

    code = "E602"


class RunOver(PerdureError):
    """The run has ended, or stands otherwise than what was asked of it needs."""

    code = "E603"


class RunStopped(PerdureError):
    """The engine has stopped the run, because it could not go on without doing something wrong."""

    code = "E604"


class WaitedTooLong(PerdureError, TimeoutError):
    """What was waited for has not come within the given time; it may still come."""

    code = "E605"


class Overloaded(PerdureError):
    """Too much waits to be written; nothing more is started until the store has caught up."""

    code = "E606"


class Closed(PerdureError):
    """The engine was asked for something while it was not open."""

    code = "E607"


class NoSuchProgram(PerdureError):
    """No program of that hash is stored with the runs, or more than one begins like it."""

    code = "E608"


# --- E7: the command line ---------------------------------------------------------------


class BadUsage(PerdureError):
    """A command, an option or what it was given is not what the command line understands."""

    code = "E701"
