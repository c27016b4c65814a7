"""The flush pipeline alone, through every fate of a batch: nothing is lost, torn or doubled."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from perdure.node.flush import IDLE, IN_FLIGHT, UNKNOWN, Entry, Pipeline
from perdure.store.port import FactRow, NewRun, ProgramRow, RunChange

RUNS = range(1, 6)


def row(rid: int, seq: int) -> FactRow:
    return FactRow(rid, seq, 0, b"x" * (seq % 7))


class Machine(RuleBasedStateMachine):
    """A driver and a store, as simple as they can be, around the real machine."""

    @initialize(entries_max=st.integers(1, 6), bytes_max=st.sampled_from([300, 1_000, 1 << 20]))
    def begin(self, entries_max: int, bytes_max: int) -> None:
        self.bounds = entries_max, bytes_max
        self.pipeline = Pipeline(*self.bounds)
        self.heads = dict.fromkeys(RUNS, 0)
        """What the driver has gathered."""
        self.durable = dict.fromkeys(RUNS, 0)
        """What the driver knows to be there."""
        self.stored = dict.fromkeys(RUNS, 0)
        """What is there."""
        self.written: list[tuple[int, int]] = []
        self.atoms: dict[int, set[tuple[int, int]]] = {}
        self.poison: set[int] = set()
        self.sealed = b""

    # --- what the driver does

    @rule(rids=st.lists(st.sampled_from(RUNS), min_size=1, max_size=4))
    def gather(self, rids: list[int]) -> None:
        atom = self.pipeline.new_atom()
        for rid in rids:
            self.heads[rid] += 1
            self.pipeline.add(Entry(rid, row(rid, self.heads[rid])), atom)
            self.atoms.setdefault(atom, set()).add((rid, self.heads[rid]))

    @precondition(lambda self: self.pipeline.state == IDLE)
    @rule()
    def send(self) -> None:
        entries = self.pipeline.take()
        if entries:
            self.pipeline.seal(entries)
            self.sealed = self.bytes_in_flight()
            self.demand_whole_atoms(entries)

    @precondition(lambda self: self.pipeline.state == IN_FLIGHT)
    @rule()
    def is_committed(self) -> None:
        self.write()
        self.release(self.pipeline.committed())

    @precondition(lambda self: self.pipeline.state == IN_FLIGHT)
    @rule()
    def is_absent(self) -> None:
        assert self.bytes_in_flight() == self.sealed, "the bytes of a batch have changed"

    @precondition(lambda self: self.pipeline.state == IN_FLIGHT)
    @rule(took_place=st.booleans())
    def is_unclear(self, took_place: bool) -> None:
        if took_place:
            self.write()
        self.pipeline.unclear()

    @precondition(lambda self: self.pipeline.state == UNKNOWN)
    @rule()
    def is_found_out(self) -> None:
        verdict = self.pipeline.recovered(dict(self.stored), dict(self.durable))
        assert not verdict.reload
        assert bool(verdict.release) != verdict.resend
        self.release(verdict.release)

    @precondition(lambda self: self.pipeline.state == UNKNOWN)
    @rule(rid=st.sampled_from(RUNS), by=st.sampled_from([-1, 3]))
    def is_found_to_be_elsewhere(self, rid: int, by: int) -> None:
        """Somebody has written to a run, or the store was put back to an earlier state."""
        found = dict(self.stored) | {rid: max(0, self.stored[rid] + by)}
        self.stored = dict(found)
        flying = {each.fact.rid for each in self.pipeline.flying if each.fact is not None}
        verdict = self.pipeline.recovered(found, dict(self.durable))
        if rid in verdict.reload:
            assert flying <= verdict.reload, "a part of a batch was kept"
            assert not verdict.release
            assert not verdict.resend
            self.drop(verdict.reload)
        else:
            self.release(verdict.release)

    @precondition(lambda self: self.pipeline.state == IN_FLIGHT)
    @rule(data=st.data())
    def is_refused(self, data: st.DataObject) -> None:
        """One atom of the batch is at fault: halving finds it, and it alone."""
        atoms = sorted({each.atom for each in self.pipeline.flying})
        bad = data.draw(st.sampled_from(atoms))
        while True:
            assert self.pipeline.state == IN_FLIGHT
            if bad in {each.atom for each in self.pipeline.flying}:
                found = self.pipeline.refused()
                if found:
                    break
            else:
                self.write()
                self.release(self.pipeline.committed())
            entries = self.pipeline.take()
            self.pipeline.seal(entries)
            self.demand_whole_atoms(entries)
        assert {each.atom for each in found} == {bad}
        self.drop(frozenset(each.owner for each in found))

    @rule(luck=st.integers(0, 9))
    def is_fenced(self, luck: int) -> None:
        """Another owner takes over, with a machine of its own."""
        if luck == 0:
            self.pipeline.fence()
            assert self.pipeline.undurable_bytes == 0
            self.pipeline = Pipeline(*self.bounds)
            self.heads, self.durable = dict(self.stored), dict(self.stored)

    # --- what comes of it

    def write(self) -> None:
        assert self.pipeline.batch is not None
        for fact in self.pipeline.batch.facts:
            assert fact.seq == self.stored[fact.rid] + 1, "a fact twice, or one is missing"
            self.stored[fact.rid] = fact.seq
            self.written.append((fact.rid, fact.seq))

    def release(self, entries: list[Entry]) -> None:
        for entry in entries:
            assert entry.fact is not None
            place = entry.fact.rid, entry.fact.seq
            assert place in self.written, "released and not durable"
            self.durable[entry.fact.rid] = entry.fact.seq

    def drop(self, rids: frozenset[int]) -> None:
        """Load runs again as they are stored, with all that is bound to them."""
        rids = self.pipeline.bound(rids)
        lost = {each.rid for each in self.pipeline.forget(rids)}
        assert lost <= rids
        for rid in rids:
            self.heads[rid] = self.durable[rid] = self.stored[rid]

    def bytes_in_flight(self) -> bytes:
        return repr(self.pipeline.again()).encode()

    def demand_whole_atoms(self, entries: list[Entry]) -> None:
        waiting = {e.atom for e in self.pipeline.gathering}
        waiting |= {e.atom for part in self.pipeline.parts for e in part}
        assert not waiting & {e.atom for e in entries}, "an atom was split"

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "pipeline"):
            self.pipeline.check_invariants()
            if self.pipeline.state == IDLE:
                waiting = [e for part in self.pipeline.parts for e in part]
                waiting += self.pipeline.gathering
                for rid in RUNS:
                    seqs = [e.fact.seq for e in waiting if e.fact and e.fact.rid == rid]
                    assert seqs == list(range(self.durable[rid] + 1, self.heads[rid] + 1))


TestPipeline = Machine.TestCase
TestPipeline.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


# --- what one example says best


def in_flight(*entries: Entry, atoms: bool = False) -> Pipeline:
    pipeline = Pipeline()
    for at, entry in enumerate(entries):
        pipeline.add(entry, 0 if atoms else 1_000 + at)
    pipeline.seal(pipeline.take())
    return pipeline


def started(rid: int) -> Entry:
    entry = Entry(rid, row(rid, 1))
    entry.new_run = NewRun(rid, f"run-{rid}", "w", "p", b"", 0)
    return entry


def test_a_batch_that_landed_but_for_an_id_that_was_taken_is_released():
    pipeline = in_flight(started(1), Entry(2, row(2, 5)))
    pipeline.unclear()
    verdict = pipeline.recovered({1: 0, 2: 5}, {1: 0, 2: 4})
    assert [each.owner for each in verdict.release] == [1, 2]
    assert verdict.refused == {1}
    assert not verdict.reload


def test_runs_that_were_written_together_are_given_up_together():
    pipeline = Pipeline()
    for rids in ((1, 2), (2, 3), (4,)):
        atom = pipeline.new_atom()
        for rid in rids:
            pipeline.add(Entry(rid, row(rid, 1)), atom)
    assert pipeline.bound(frozenset((1,))) == {1, 2, 3}
    assert [each.owner for each in pipeline.forget(frozenset((1, 2, 3)))] == [1, 2, 2, 3]
    assert [each.owner for each in pipeline.gathering] == [4]


def test_what_was_taken_out_of_the_inbox_because_of_a_run_is_given_up_with_it():
    pipeline = Pipeline()
    too_late = Entry(None, None)
    too_late.consumed, too_late.about = 7, 1
    pipeline.add(Entry(1, row(1, 1)))
    pipeline.add(too_late)
    assert pipeline.forget(frozenset((1,)))[-1] is too_late


def test_the_last_change_of_a_run_counts_and_keeps_the_program_that_an_earlier_one_named():
    first, second = Entry(1, row(1, 1)), Entry(1, row(1, 2))
    first.change = RunChange(1, 1, 0, program="hash")
    second.change = RunChange(1, 1, 9)
    batch = in_flight(first, second).again()
    assert batch.changes == [RunChange(1, 1, 9, program="hash")]


def test_a_program_is_written_once_in_a_batch():
    one, two = Entry(1, row(1, 1)), Entry(2, row(2, 1))
    one.program = two.program = ProgramRow("hash", "name")
    assert len(in_flight(one, two).again().programs) == 1


def test_a_fenced_machine_takes_nothing():
    pipeline = in_flight(Entry(1, row(1, 1)))
    assert [each.owner for each in pipeline.fence()] == [1]
    with pytest.raises(AssertionError):
        pipeline.add(Entry(1, row(1, 2)))


def test_bytes_bound_a_batch_and_an_atom_larger_than_that_goes_alone():
    pipeline = Pipeline(batch_entries_max=100, batch_bytes_max=500)
    for rid in (1, 2, 3, 4):
        pipeline.add(Entry(rid, row(rid, 1)))
    big = pipeline.new_atom()
    for seq in range(1, 6):
        pipeline.add(Entry(5, row(5, seq)), big)
    sizes = []
    while entries := pipeline.take():
        sizes.append(len(entries))
        pipeline.seal(entries)
        pipeline.committed()
    assert sizes == [3, 1 + 5]
    assert pipeline.quiet
