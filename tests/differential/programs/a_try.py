"""`try`, `except`, `else` and `finally` with exits pending through awaits."""

import sys

from tests.differential.kit import act, boom


def _chain(error):
    """Texts of `error` and of every context behind it."""
    out = []
    while error is not None:
        out.append(repr(error))
        error = error.__context__
    return out


class _Refused(Exception):
    """An error with more than one argument."""

    def __init__(self, code, why="unknown"):
        super().__init__(code, why)
        self.code = code

    def __str__(self):
        return f"refused {self.code}: {self.args[1]}"


async def every_part():
    """Which of `else`, `except` and `finally` run, and in what order."""

    async def f(kind):
        log = []
        try:
            log.append(await act("try"))
            if kind:
                await boom(kind)
        except ValueError:
            log.append(await act("except"))
        except (KeyError, IndexError) as error:
            log.append((await act("lookup"), type(error).__name__))
        else:
            log.append(await act("else"))
        finally:
            log.append(await act("finally"))
        return log

    return [await f(k) for k in (None, ValueError(1), KeyError(2), IndexError(3))]


async def return_through_finally():
    """A pending return keeps its value through awaits in nested `finally` blocks."""
    log = []

    async def f():
        x = 1
        try:
            try:
                return x, await act("value")
            finally:
                x = 2
                log.append(await act("inner"))
        finally:
            x = 3
            log.append(await act("outer"))

    return await f(), log


async def return_replaced_in_finally():
    """A return in `finally` replaces the pending one and swallows the pending error."""

    async def f(fail):
        try:
            if fail:
                await boom(ValueError("gone"))
            return "first"
        finally:
            if await act(True):
                return "second"

    return await f(False), await f(True), sys.exception()


async def break_and_continue_through_finally():
    """Pending `break` and `continue` go through awaits in `finally`."""
    log = []
    for i in range(5):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            log.append(await act(i))
        finally:
            log.append((await act("f"), i))
    else:
        log.append("never")
    while True:
        try:
            try:
                break
            finally:
                await act(None)
                log.append("one")
        finally:
            log.append(await act("two"))
    return log, i


async def finally_overrides_exit():
    """`continue` and `break` in `finally` replace pending returns and errors."""
    log = []

    async def f():
        for i in range(4):
            try:
                if i == 0:
                    return "lost"
                if i == 1:
                    await boom(ValueError("lost"))
                log.append(i)
            finally:
                await act(i)
                if i < 2:
                    continue
                if i == 2:
                    break
        return "end", i

    return await f(), log


async def all_exits_of_a_loop():
    """Return, continue, break, error and fall-through of one try statement in one loop."""

    async def f(n):
        log = []
        for i in range(5):
            try:
                log.append(i)
                if i == n:
                    return log, await act("return")
                if i == 1:
                    continue
                if i == 2:
                    raise KeyError(await act(i))
            except KeyError:
                log.append(await act("except"))
            else:
                log.append(await act("else"))
            finally:
                log.append(await act("finally"))
                if i == 3:
                    break
        return log, "end"

    return [await f(n) for n in (0, 1, 2, 3, 9)]


async def error_in_each_part():
    """What an error raised in each part of the statement replaces."""

    async def f(where):
        try:
            await act("try")
            if where != "else":
                raise ValueError("try")
        except ValueError:
            if where == "except":
                await boom(KeyError("except"))
        else:
            raise TypeError(await act("else"))
        finally:
            await act("finally")
            if where == "finally":
                raise IndexError("finally")
        return where

    out = []
    for where in ("none", "except", "else", "finally"):
        try:
            out.append(await f(where))
        except Exception as error:
            out.append(_chain(error))
    return out


async def error_in_finally_over_error():
    """An error in `finally` takes the pending one as its context."""
    out = []
    try:
        try:
            await boom(ValueError("a"))
        finally:
            out.append(await act(1))
            out.append(repr(sys.exception()))
    except ValueError as error:
        out.append(_chain(error))
    try:
        try:
            1 / 0
        finally:
            await act(1)
            raise KeyError("k")
    except KeyError as error:
        out.append(_chain(error))
    return out


async def bare_raise_after_await():
    """`raise` alone raises the handled error again, whatever was awaited since."""
    out = []
    try:
        try:
            await boom(KeyError(1))
        except (KeyError, ValueError) as error:
            await act(1)
            try:
                await boom(ValueError("other"))
            except ValueError:
                out.append(repr(sys.exception()))
            await act(2)
            kept = error
            raise
    except LookupError as again:
        out.append((again is kept, _chain(again)))
    return out


async def bare_raise_in_helper():
    """A helper called from a handler can raise the handled error again."""

    async def again():
        await act(None)
        raise

    out = []
    try:
        try:
            raise KeyError("mine")
        except KeyError:
            await again()
    except KeyError as error:
        out.append(_chain(error))
    try:
        await again()
    except RuntimeError as error:
        out.append(_chain(error))
    return out


async def raise_from():
    """`raise ... from` with a cause, with None and with a class."""
    out = []
    for kind in ("cause", "none", "class", "wrong"):
        try:
            try:
                await boom(KeyError(kind))
            except KeyError as error:
                await act(1)
                if kind == "cause":
                    raise ValueError(2) from error
                if kind == "none":
                    raise ValueError(2) from None
                if kind == "class":
                    raise ValueError(await act(3)) from OSError
                raise ValueError from await act("text")
        except (ValueError, TypeError) as e:
            out.append((_chain(e), repr(e.__cause__), e.__suppress_context__))
    return out


async def raise_forms():
    """Raising classes, instances and things that are neither."""
    out = []
    for thing in (ValueError, ValueError("x"), _Refused(7), _Refused, 3, None, int):
        try:
            await act("before")
            raise thing
        except Exception as error:
            out.append((type(error).__name__, str(error)))
    return out


async def context_of_handled_error():
    """An error raised while another is handled has it as context, after an await too."""
    try:
        raise KeyError(1)
    except KeyError:
        await act(1)
        try:
            raise ValueError(2)
        except ValueError as error:
            return _chain(error), repr(sys.exception())


async def context_across_helpers():
    """The handled error of the caller becomes the context inside of the helper."""

    async def helper():
        try:
            raise KeyError("e1")
        except KeyError:
            await act(1)
            raise ValueError("e2")

    async def middle():
        try:
            await helper()
        except ValueError:
            await act(2)
            await boom(TypeError("e3"))

    try:
        raise ZeroDivisionError("e0")
    except ZeroDivisionError:
        try:
            await middle()
        except TypeError as error:
            return _chain(error)


async def context_is_the_moment_of_raise():
    """An error made earlier takes its context where it is raised."""
    made = ValueError("made early")
    try:
        await boom(KeyError("first"))
    except KeyError:
        await act(None)
    seen = repr(made.__context__)
    try:
        try:
            await boom(IndexError("second"))
        except IndexError:
            await act(None)
            raise made
    except ValueError as error:
        return seen, _chain(error)


async def exception_visible_in_helper():
    """`sys.exception()` and `sys.exc_info()` in helpers show the caller's handled error."""

    async def look():
        before = repr(sys.exception())
        await act(None)
        return before, repr(sys.exc_info()[1]), sys.exc_info()[0] is KeyError

    out = [await look()]
    try:
        await boom(KeyError("shown"))
    except KeyError:
        out.append(await look())
        try:
            out.append(await look())
        finally:
            out.append(sys.exception() is sys.exc_info()[1])
    out.append(await look())
    return out


async def exception_restored_after_inner():
    """After an inner handler the outer error is the current one again."""
    out = []

    def now():
        out.append(repr(sys.exception()))

    try:
        raise KeyError("outer")
    except KeyError:
        now()
        try:
            await boom(ValueError("inner"))
        except ValueError:
            now()
            await act(1)
            now()
        await act(2)
        now()
    await act(3)
    now()
    return out


async def name_unbound_after_except():
    """`as e` is unbound after its handler, even when it was bound before."""
    out = []
    e = "before"
    try:
        await boom(ValueError(1))
    except ValueError as e:
        out.append(repr(e))
        await act(None)
    try:
        out.append(e)
    except UnboundLocalError as error:
        out.append(str(error))
    for k in range(2):
        try:
            raise KeyError(await act(k))
        except KeyError as e:
            if k == 0:
                continue
            del e
            e = await act("rebound")
    try:
        e
    except UnboundLocalError:
        out.append("unbound again")
    return out


async def except_expression_awaited():
    """The class to catch may itself come from an await; it is evaluated only on error."""
    log = []

    async def kinds(name, *classes):
        log.append(name)
        await act(name)
        return classes

    for error in (None, KeyError("k"), ValueError("v")):
        try:
            if error is not None:
                await boom(error)
            log.append("fine")
        except await kinds("first", IndexError, KeyError) as e:
            log.append(("first", e.args))
        except await kinds("second", ValueError):
            log.append(("second", repr(sys.exception())))
    return log


async def except_with_wrong_class():
    """Catching something that is no exception class is a TypeError over the first error."""
    try:
        try:
            await boom(ValueError("v"))
        except await act("not a class"):
            pass
    except TypeError as error:
        return _chain(error)


async def nested_try_in_handlers():
    """Try statements inside of handlers, `else` and `finally`, three levels deep."""
    log = []
    try:
        try:
            await boom(ValueError("1"))
        except ValueError:
            try:
                await boom(KeyError("2"))
            except KeyError:
                log.append(await act("k"))
            finally:
                try:
                    raise IndexError(await act("3"))
                except IndexError as error:
                    log.append(_chain(error))
        else:
            log.append("never")
        finally:
            try:
                log.append(await act("f"))
            finally:
                log.append(repr(sys.exception()))
    finally:
        log.append("end")
    return log


async def user_error_with_attributes():
    """An error class of the user's keeps arguments, text and attributes."""
    try:
        await boom(_Refused(403, "closed"), 0.5)
    except _Refused as error:
        error.seen = await act("yes")
        kept = error
    return kept.code, kept.args, str(kept), kept.seen


async def notes_on_errors():
    """Notes added around awaits stay with the error."""
    try:
        try:
            raise ValueError("v")
        except ValueError as error:
            error.add_note(await act("one"))
            raise
        finally:
            await act(None)
    except ValueError as error:
        error.add_note("two")
        return error.__notes__


async def uncaught_error_deep():
    """An error leaves the program through several helpers and handlers."""

    async def low(n):
        if n == 0:
            return await boom(_Refused(5, "deep"))
        try:
            return await low(n - 1)
        finally:
            await act(n)

    try:
        await low(3)
    except _Refused as error:
        raise LookupError(await act("wrapped")) from error


async def uncaught_error_in_finally():
    """The error of a `finally` leaves the program with the first error behind it."""
    try:
        raise ValueError(await act("first"))
    finally:
        await act("cleaning")
        {}[await act("missing")]


async def stop_iteration_becomes_runtime_error():
    """A StopIteration that leaves a coroutine becomes a RuntimeError."""

    async def f():
        return next(iter(await act([])))

    try:
        await f()
    except RuntimeError as error:
        return str(error), repr(error.__cause__), _chain(error)


async def error_kept_and_raised_later():
    """An error kept in a list is raised again after its handler has ended."""
    kept = []
    for n in range(2):
        try:
            await boom(ValueError(n))
        except ValueError as error:
            kept.append(error)
    out = []
    for error in reversed(kept):
        try:
            await act(None)
            raise error
        except ValueError as same:
            out.append((same is error, _chain(same)))
    return out


async def base_exceptions():
    """`except Exception` lets a BaseException of the user's pass; `finally` still awaits."""

    class Halt(BaseException):
        pass

    log = []
    try:
        try:
            await act(1)
            raise Halt(await act("stop"))
        except Exception:
            log.append("never")
        finally:
            log.append(await act("finally"))
    except BaseException as error:
        log.append((type(error).__name__, error.args))
    return log


async def generator_exit_and_system_errors():
    """Errors of the language raised by hand behave as any other."""
    out = []
    for kind in (GeneratorExit, StopAsyncIteration, MemoryError, RecursionError, EOFError):
        try:
            await act(kind.__name__)
            raise kind("by hand")
        except Exception as error:
            out.append(("error", repr(error)))
        except BaseException as error:
            out.append(("base", repr(error)))
    return out


async def arithmetic_and_lookup_errors():
    """Texts of the everyday errors on awaited values."""
    out = []

    async def attempt(f):
        x = await act(0)
        try:
            f(x)
        except Exception as error:
            out.append((type(error).__name__, str(error)))
        finally:
            await act(None)

    await attempt(lambda x: 1 // x)
    await attempt(lambda x: [][x])
    await attempt(lambda x: {}[x])
    await attempt(lambda x: x.missing)
    await attempt(lambda x: x + "1")
    await attempt(lambda x: x())
    await attempt(lambda x: int("x1"))
    await attempt(lambda x: 2.0 ** 10000)
    await attempt(lambda x: x[1])
    await attempt(lambda x: "a".join([x]))
    return out


async def assertions():
    """`assert` with awaited conditions and messages; the message only when it fails."""
    log = []

    async def message(text):
        log.append(text)
        return await act(text)

    assert await act(True), await message("unused")
    try:
        assert await act(0), await message("zero")
    except AssertionError as error:
        log.append(repr(error))
    try:
        assert (await act([])) == [1]
    except AssertionError as error:
        log.append((error.args, str(error)))
    return log
