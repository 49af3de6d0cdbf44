"""Replay people by a rule's own ``step``, one message per step, as a run would show it.

Each message is new, of label weight 1, without likes or labels, no injected post, and from an author whom the person
met in this data alone; own posts are left out. What an author holds is not known: the stance of the message represents
it. A record that came in an earlier stretch and ceases to count in this one is a record of the opposite polarity, from
an author never met: what it was worth is not known here. Draws are by the person's place.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.arrays import frozen_inputs, frozen_state, take_state
from townsquare.beliefs.checks import FAMILY, check_result
from townsquare.beliefs.contract import (
    UNASKED,
    AgentParams,
    Authors,
    BeliefInputs,
    BeliefRule,
    Changes,
    ClaimExposures,
    Exposed,
    Holdings,
    Records,
    Replayed,
    no_contents,
    no_exposures,
    no_holdings,
    no_own,
    rows_of,
)
from townsquare.core.array_types import Bool, Float, Int64
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.member_errors import call_member, in_step


class Steps(NamedTuple):
    """n people with the inputs of each step: those who received most first, since who has ended takes no step.

    Attributes
    ----------
    order : (n,) int64
        Places of the people.
    initial : (n,) float64
        Their stances, in that order.
    inputs : list of BeliefInputs
        Of the first m people in that order who received so many messages.
    n_events : int
        Numbers of posts lie below it.
    """

    order: Int64
    initial: Float
    inputs: list[BeliefInputs]
    n_events: int

    @classmethod
    def of(cls, rows: Replayed, needs: frozenset[str]) -> Steps:
        """Return the inputs that a rule with these needs takes."""
        began = np.flatnonzero(rows.sign > 0)
        owner = np.repeat(np.arange(rows.initial.size), np.diff(rows.indptr))
        counts = np.bincount(owner[began], minlength=rows.initial.size)
        order = np.argsort(-counts, kind="stable")
        first = (np.cumsum(counts) - counts)[order]
        received = _Received.of(rows, owner)
        before = rows.indptr[:-1][order] - 1
        inputs = []
        for k in range(int(counts.max(initial=0))):
            m = int((counts > k).sum())
            event = began[first[:m] + k]
            inputs.append(received.inputs(order[:m], before[:m], event, needs))
            before = event
        return cls(order, rows.initial[order], inputs, rows.sign.size)


def ends_of(rule: BeliefRule, steps: Steps, params: AgentParams) -> Float:
    """Return where each person ends, (n,), with ``params`` of n agents that all share.

    Raises
    ------
    ContractError
        What ``step`` returned breaks its contract; names the rule and the message.
    """
    n = steps.initial.size
    ends = np.empty(n)
    start = (steps.initial[:, None], np.full((n, 1), UNASKED))
    state = call_member(FAMILY, rule.name, "init", lambda: rule.init(*start, params))
    for k, inputs in enumerate(steps.inputs):
        m = inputs.exposures.indptr.size - 1
        if m < state.stance.shape[0]:
            ends[steps.order[m : state.stance.shape[0]]] = state.stance[m:, 0]
            state = take_state(state, np.arange(m))
        own = {name: value[:m] if isinstance(value, np.ndarray) else value for name, value in params.items()}
        with in_step(k + 1, "message"):
            before, draws = frozen_state(state), Draws(0, k + 1)(Stage.BELIEF)
            result = call_member(FAMILY, rule.name, "step", partial(rule.step, before, inputs, own, draws))
            state, _ = check_result(rule, before, result, n_posts=steps.n_events)
    ends[steps.order[: state.stance.shape[0]]] = state.stance[:, 0]
    return ends


class _Received(NamedTuple):
    """The events of everyone, and the records that they make; e events.

    ``makes`` (e,) is whether an event makes a record: one that began to count, or one of an earlier stretch that
    ceased to. ``number`` (e,) counts the records before each event, ``gone`` (e,) is the event at which one ceases to
    count, and ``record`` (e,) the event that made the record in question.
    """

    rows: Replayed
    makes: Bool
    number: Int64
    gone: Int64
    record: Int64

    @classmethod
    def of(cls, rows: Replayed, owner: Int64) -> _Received:
        """Find the record of each event; ``owner`` (e,) is whose event it is."""
        at = np.arange(rows.sign.size)
        ceased = rows.sign < 0
        own = ceased & (at - rows.back >= rows.indptr[:-1][owner])
        record = np.where(own, at - rows.back, at)
        gone = np.full(at.size, at.size)
        gone[record[own]] = at[own]
        makes = ~own
        return cls(rows, makes, np.cumsum(makes) - makes, gone, record)

    def inputs(self, who: Int64, before: Int64, event: Int64, needs: frozenset[str]) -> BeliefInputs:
        """Return the step of people ``who`` (m,) that takes the events after ``before`` (m,) up to ``event`` (m,)."""
        rows, m = self.rows, who.size
        exposures, holdings, authors = no_exposures(m), no_holdings(m), Authors()
        if "exposures" in needs:
            exposures = rows_of(
                Exposed, np.arange(m + 1), post=event, author=rows.author[event], stance=rows.shown[event]
            )
            authors = _authors(event, rows, needs)
        if "holdings" in needs:
            holdings = self._holdings(rows.indptr[who], before, event)
            if "claim_exposures" not in needs:
                holdings = replace(holdings, claim_exposures=no_holdings(m).claim_exposures)
        contents = no_contents(exposures.post.size if "contents" in needs else 0)
        return frozen_inputs(BeliefInputs(0, exposures, no_own(m, 1), holdings, authors, contents))

    def _holdings(self, first: Int64, before: Int64, event: Int64) -> Holdings:
        rows = self.rows
        indptr, at = _within(first, event + 1)
        made = self.makes[at]
        indptr, at, until = _kept(indptr, made), at[made], np.repeat(event, np.diff(indptr))[made]
        start = np.repeat(first, np.diff(indptr))
        records = rows_of(
            Records, indptr, claim=at - start, polarity=(rows.polarity * rows.sign)[at], strength=rows.strength[at],
            origin=Origin.PEER, active=self.gone[at] > until,
        )  # fmt: skip
        indptr, at = _within(before + 1, event + 1)
        base = np.repeat(self.number[first], np.diff(indptr))
        number, made = self.number[self.record[at]] - base, self.makes[at]
        post = np.where(made, at, np.repeat(event, np.diff(indptr)))
        kind = np.where(made, HoldingChange.ACCEPTED, HoldingChange.ARCHIVED)
        changes = rows_of(Changes, indptr, record=number, kind=kind, post=post)
        nobody = int(rows.author.max(initial=0)) + 1  # who passed on a record of an earlier stretch
        indptr, at = _kept(indptr, made), at[made]
        author = np.where(rows.sign[at] > 0, rows.author[at], nobody)
        claim_exposures = rows_of(ClaimExposures, indptr, record=number[made], post=at, author=author)
        return Holdings(records, changes, claim_exposures)


def _authors(event: Int64, rows: Replayed, needs: frozenset[str]) -> Authors:
    """Return what is known of the authors of events; the stance of the message represents that of its author."""
    columns: dict[str, npt.NDArray[np.generic]] = {}
    if "authors" in needs:
        columns["stance"] = rows.shown[event]
    if "ties" in needs:
        columns["tie"] = rows.tie[event]
    if "groups" in needs:
        columns |= {name: getattr(rows, name)[event].astype(np.int16) for name in ("group", "reader_group")}
    return Authors(columns)


def _within(first: Int64, end: Int64) -> tuple[Int64, Int64]:
    """Return a CSR whose rows are the numbers from ``first`` (m,) to before ``end`` (m,)."""
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - first)])
    return indptr, np.arange(indptr[-1]) + np.repeat(first - indptr[:-1], np.diff(indptr))


def _kept(indptr: Int64, keep: Bool) -> Int64:
    """Return the row pointers of a CSR of which some entries are kept."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(keep, dtype=np.int64)])[indptr]
