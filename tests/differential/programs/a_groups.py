"""Exception groups and `except*` with awaits in every part."""

import sys

from tests.differential.kit import act, boom


def _show(error):
    """The shape of an error or of a group, as plain values."""
    if isinstance(error, BaseExceptionGroup):
        return error.message, [_show(e) for e in error.exceptions]
    return repr(error)


async def each_clause_takes_its_part():
    """Every `except*` clause gets the matching errors; the rest goes on."""
    log = []
    try:
        try:
            await act(1)
            raise ExceptionGroup("g", [ValueError(1), KeyError(2), ValueError(3), OSError(4)])
        except* ValueError as eg:
            log.append(("value", await act("v"), _show(eg)))
        except* (KeyError, IndexError) as eg:
            log.append(("lookup", await act("k"), _show(eg)))
    except ExceptionGroup as rest:
        log.append(_show(rest))
    return log


async def plain_error_is_wrapped():
    """A single error caught by `except*` arrives in a group of its own."""
    try:
        await boom(ValueError("lone"))
    except* ValueError as eg:
        await act(None)
        kept = eg
    return _show(kept), type(kept).__name__


async def plain_error_not_matched():
    """A single error that no clause matches goes on as it was."""
    log = []
    try:
        try:
            await boom(KeyError("k"))
        except* ValueError:
            log.append("never")
        finally:
            log.append(await act("finally"))
    except KeyError as error:
        log.append((repr(error), repr(error.__context__)))
    return log


async def else_and_finally():
    """`else` and `finally` of a statement with `except*`."""
    log = []
    for fail in (False, True):
        try:
            log.append(await act("try"))
            if fail:
                raise ExceptionGroup("g", [TypeError("t")])
        except* TypeError as eg:
            log.append(_show(eg))
        else:
            log.append(await act("else"))
        finally:
            log.append(await act("finally"))
    return log


async def nested_groups():
    """Splitting keeps the shape of nested groups."""
    log = []
    inner = ExceptionGroup("inner", [KeyError(1), ValueError(2)])
    try:
        try:
            await boom(ExceptionGroup("outer", [inner, ValueError(3), TypeError(4)]))
        except* ValueError as eg:
            log.append(_show(eg))
            await act(None)
    except ExceptionGroup as rest:
        log.append(_show(rest))
    return log


async def error_raised_in_clause():
    """An error raised in a clause is collected with the unhandled rest."""
    out = []
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
        except* ValueError:
            await act(1)
            await boom(OSError("in clause"))
    except BaseException as error:
        out.append(_show(error))
        out.append([repr(e.__context__) for e in error.exceptions])
    return out


async def errors_raised_in_two_clauses():
    """Both clauses run, awaits included, although the first one failed."""
    log = []
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
        except* ValueError:
            log.append(await act("first"))
            raise TypeError("a")
        except* KeyError as eg:
            log.append(await act("second"))
            raise TypeError("b") from eg
    except ExceptionGroup as error:
        return log, _show(error), [_show(e.__cause__) for e in error.exceptions]


async def bare_raise_in_clause():
    """A bare `raise` in a clause puts its part back into the group it came from."""
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2), TypeError(3)])
        except* ValueError:
            await act(None)
            raise
        except* TypeError:
            await act("dropped")
    except ExceptionGroup as error:
        return _show(error), repr(error.__context__)


async def current_exception_in_clause():
    """`sys.exception()` in a clause is the part that the clause handles."""
    log = []
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* KeyError:
        await act(None)
        log.append(_show(sys.exception()))
    except* ValueError:
        try:
            await boom(OSError("o"))
        except OSError as error:
            log.append(_show(error.__context__))
        log.append(_show(sys.exception()))
    log.append(sys.exception())
    return log


async def name_unbound_after_clause():
    """`as eg` of `except*` is unbound after its clause."""
    try:
        raise ExceptionGroup("g", [ValueError(1)])
    except* ValueError as eg:
        eg.add_note(await act("note"))
        notes = eg.__notes__
    try:
        eg
    except UnboundLocalError as error:
        return notes, str(error)


async def split_subgroup_derive():
    """The methods of a group on awaited errors."""

    class Odd(ExceptionGroup):
        def derive(self, excs):
            return Odd(self.message + "'", excs)

    g = Odd("g", [ValueError(await act(1)), ExceptionGroup("h", [KeyError(await act(2))])])
    match, rest = g.split(ValueError)
    await act(None)
    sub = g.subgroup(lambda e: isinstance(e, LookupError))
    return _show(match), type(match).__name__, _show(rest), _show(sub), g.subgroup(OSError)


async def except_group_class_plainly():
    """A group caught by a plain `except` keeps its message and its order."""
    errors = []
    for n in range(3):
        try:
            await boom(ValueError(n), 1.0 + n)
        except ValueError as error:
            errors.append(error)
    try:
        raise ExceptionGroup(f"{len(errors)} failed", errors)
    except ExceptionGroup as eg:
        await act(None)
        return str(eg), _show(eg), eg.exceptions[1] is errors[1]


async def group_of_wrong_things():
    """The errors of building a group."""
    out = []
    for args in (("m", []), ("m", [1]), ("m", 3), (1, [ValueError()]), ("m", [GeneratorExit()])):
        try:
            await act(None)
            raise ExceptionGroup(*args)
        except (TypeError, ValueError) as error:
            out.append((type(error).__name__, str(error)))
    return out


async def base_group():
    """A group with a base exception is a BaseExceptionGroup; `except*` can split it."""

    class Halt(BaseException):
        pass

    log = []
    try:
        try:
            await act(None)
            raise BaseExceptionGroup("b", [Halt("h"), ValueError("v")])
        except* ValueError as eg:
            log.append((type(eg).__name__, await act("v")))
    except BaseExceptionGroup as eg:
        log.append((type(eg).__name__, _show(eg)))
    return log


async def except_star_on_group_type():
    """Catching a group class by `except*` is refused when it is tried."""
    try:
        try:
            await boom(ValueError("v"))
        except* ExceptionGroup:
            pass
    except TypeError as error:
        return str(error), repr(error.__context__)


async def except_star_in_loop():
    """A loop that handles groups turn by turn."""
    log = []
    for n in range(3):
        try:
            if await act(n):
                raise ExceptionGroup("g", [ValueError(n)] * n)
            log.append("fine")
        except* ValueError as eg:
            for e in eg.exceptions:
                log.append((n, await act(e.args[0])))
    return log


async def group_leaves_the_program():
    """A group that nobody handles leaves the program."""
    try:
        raise ExceptionGroup("out", [ValueError(await act(1)), KeyError(2)])
    except* KeyError:
        await act("handled")
