"""The state of a simulated public, and the only code that changes it.

Stages read a :class:`World` and return rows; :meth:`World.append` adds them and brings every current value up to date:
counts, statuses, the follow graph, what each agent has seen and done. All of it follows from the rows, so a world can
be rebuilt from its record. Columns come out read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from townsquare.beliefs.arrays import frozen_state, join_states, take_state
from townsquare.beliefs.contract import BeliefState
from townsquare.beliefs.evidence.holding_kernels import apply_changes
from townsquare.core import schema
from townsquare.core.actions import COUNTED, REACTION_BITS, kinds_where, per_kind
from townsquare.core.array_types import Array, Bool, Float, Int32, Int64, read_only
from townsquare.core.coded_rows import column_at
from townsquare.core.draws import StageDraws
from townsquare.core.enums import (
    RATING_VALUES,
    ActionStatus,
    AgentKind,
    LogKind,
    NoteStatus,
    PostKind,
    PostStatus,
    Rating,
)
from townsquare.core.pairs import BLOCK, PairBlock, Pairs, keep_newest, lookup, rows_between, spans, upsert
from townsquare.core.table import GrowingTable
from townsquare.core.threads import each
from townsquare.scenario.population.question_bank import bundled_bank
from townsquare.simulation.change import Change
from townsquare.simulation.world_kernels import count_actions, offsets, set_bits

_COUNTS = {kind: column for column, kinds in enumerate(COUNTED.values()) for kind in kinds}
_COUNT_OF = per_kind(np.int8, _COUNTS, schema.NONE)
"""By kind of action: which column of ``COUNTED`` counts it."""
_HIDES = per_kind(np.bool_, dict.fromkeys(kinds_where(lambda spec: spec.hides), True))


class World:
    """Tables, follow graph, pair stores and beliefs of one run.

    Attributes
    ----------
    step : int
        Last step that was completed; 0 is the initial state.
    agents, posts, post_stances, notes, note_ratings, claims, near_duplicates, personas, agent_memories : GrowingTable
        As `treatments`, rows that stay in memory; see :mod:`townsquare.core.schema`.
    traits : GrowingTable or None
        Answers of persons, kept only for a belief rule that needs groups; their meaning is in ``bank``.
    texts : list of str
        ``texts[i]`` is row i of the table.
    follows : Pairs
        (follower, followed) -> step since when, int32.
    seen, reactions, ratings : Pairs
        (agent, root) -> step of first sight; (agent, root) -> bits of :data:`townsquare.core.actions.REACTIONS`;
        (agent, note) -> 1.
    hidden : Pairs
        (agent, author that it is not shown any more) -> 1.
    claim_kinds : dict
        (text, proposition, polarity, strength) -> the first claim of that kind.
    holdings : Pairs
        (agent, claim) -> flags of the argument record, see :mod:`townsquare.beliefs.evidence.holding_kernels`; the
        claim is the first of its kind.
    comment_rows, injected_rows, message_rows : (k,) int32
        Rows of posts of these kinds.
    belief : list of BeliefState
        One for each block of agents.
    own : dict of str to (n_agents,) float64
        Settings of the belief rule that agents have of their own; NaN for those who have none.
    excluded_claims : (k,) int32
        Claims that reach nobody, ascending; none in a run, some in a counterfactual.
    """

    def __init__(self, n_propositions: int, ring: int) -> None:
        self.step, self.n_propositions = 0, n_propositions
        self.agents = GrowingTable("agents")
        self.posts = GrowingTable("posts", {"note": schema.NONE})
        self.post_stances = GrowingTable("post_stances")
        self.claims = GrowingTable("claims")
        self.claim_kinds: dict[tuple[int, int, int, float], int] = {}
        self.near_duplicates = GrowingTable("near_duplicates")
        undecided = {"decided": schema.NONE, "settled": schema.NONE, "intercept": np.nan, "factor": np.nan}
        self.notes = GrowingTable("notes", undecided)
        self.note_ratings = GrowingTable("note_ratings")
        self.personas = GrowingTable("personas")
        self.treatments = GrowingTable("treatments")
        self.traits: GrowingTable | None = None
        self.bank = bundled_bank()
        self.agent_memories = GrowingTable("agent_memories", {"decay": 1.0})
        self.texts: list[str] = []
        self.text_row: dict[str, int] = {}
        self.follows = Pairs(np.int32)
        self.seen = Pairs(np.int16)
        self.reactions = Pairs(REACTION_BITS.dtype)
        self.ratings = Pairs(np.uint8)
        self.hidden = Pairs(np.uint8)
        self.holdings = Pairs(np.uint8)
        self._newest, none = np.empty((0, ring), np.int32), np.empty(0, np.int32)
        self._in_degree, self._n_rows, self.excluded_claims = none, none, none
        self.comment_rows, self.injected_rows, self.message_rows = none, none, none
        self.step_starts: list[int] = [0]
        self.belief: list[BeliefState] = []
        self.own: dict[str, Float] = {}

    def append(self, change: Change) -> Mapping[str, schema.Columns]:
        """Apply the rows of one stage, in the order of the schema, and give them on to be recorded."""
        for name in schema.TABLES:
            if name in change.rows:
                table = getattr(self, name, None)
                apply = getattr(self, f"_apply_{name}", table.append if isinstance(table, GrowingTable) else None)
                if apply is not None:
                    apply(change.rows[name])
        if change.newborn is not None:
            self._add_beliefs(change.newborn)
        if change.belief:
            self.belief = [frozen_state(block) for block in change.belief]
        return change.rows

    def finish(self, step: int, seen_cap: int, draw: StageDraws) -> None:
        """Close a step: forget the oldest seen roots beyond the cap, and set the clock."""
        base = draw.base("forget")
        keys: Any = self.posts["key"]
        for number, first, _ in spans(self.n_agents):
            self.seen.blocks[number] = keep_newest(self.seen.blocks[number], seen_cap, base, first, keys)
        self.step_starts.append(self.posts.n)
        self.step = step

    # -- what stages ask -------------------------------------------------------------------------------------------

    @property
    def n_agents(self) -> int:
        """Persons and sources."""
        return self.agents.n

    @property
    def in_degree(self) -> Int32:
        """Followers of each agent, (n_agents,)."""
        return read_only(self._in_degree)

    @property
    def newest(self) -> Int32:
        """The newest rows of each author in a ring, (n_agents, c): slot ``n_rows % c`` is overwritten next."""
        return read_only(self._newest)

    @property
    def n_rows(self) -> Int32:
        """How many rows each author has had in the ring, (n_agents,)."""
        return read_only(self._n_rows)

    def stances_of(self, posts: Array) -> tuple[Int64, Int64]:
        """Return the rows of post_stances of some posts, in their order, and for each row the position of its post."""
        count = self.posts["n_stances"][posts].astype(np.int64)
        which = np.repeat(np.arange(posts.size), count)
        first = self.posts["stances"][posts] - (np.cumsum(count) - count)
        return first[which] + np.arange(which.size), which

    def text_rows(self, texts: Iterable[str]) -> tuple[list[int], schema.ByTable]:
        """Find the row of each text, and rows of the table texts for those that are new, each once."""
        fresh: dict[str, int] = {}
        row = []
        for text in texts:
            known = self.text_row.get(text)
            row.append(fresh.setdefault(text, len(self.texts) + len(fresh)) if known is None else known)
        return row, new_texts(fresh)

    def stance(self) -> Float:
        """Return stances of all agents, (n_agents, P); rows of sources are 0."""
        return self._belief_column("stance")

    def confidence(self) -> Float:
        """Return confidences of all agents, (n_agents, P)."""
        return self._belief_column("confidence")

    def _belief_column(self, name: str) -> Float:
        parts = [getattr(block, name) for block in self.belief]
        return np.concatenate([*parts, np.empty((0, self.n_propositions))])

    def own_settings(self, first: int, stop: int) -> dict[str, Float]:
        """Return the individual settings of agents ``first`` to ``stop``; empty if none exist."""
        return {name: column[first:stop] for name, column in self.own.items()}

    def persons(self) -> Bool:
        """Return which rows of agents are persons, (n_agents,) bool."""
        return np.asarray(self.agents["kind"] == AgentKind.PERSON)

    def has(self, pairs: Pairs, agents: Array, keys: Array) -> Bool:
        """Return whether (agent, key) pairs are in a store, whatever their value; ``agents`` ascend."""
        out = np.zeros(agents.shape[0], np.bool_)
        for number, lo, hi, indptr in _by_block(agents, pairs.n_agents):
            out[lo:hi] = lookup(pairs.blocks[number], indptr, np.ascontiguousarray(keys[lo:hi], dtype=np.int32)) >= 0
        return out

    # -- how rows change the state -----------------------------------------------------------------------------------

    def _apply_texts(self, rows: schema.Columns) -> None:
        for text in rows["content"]:
            self.text_row.setdefault(str(text), len(self.texts))
            self.texts.append(str(text))

    def _apply_agents(self, rows: schema.Columns) -> None:
        self.agents.append(rows)
        n = self.agents.n
        for pairs in (self.follows, self.seen, self.reactions, self.ratings, self.hidden, self.holdings):
            pairs.grow(n)
        more = n - self._in_degree.shape[0]
        self._in_degree = np.append(self._in_degree, np.zeros(more, np.int32))
        self._n_rows = np.append(self._n_rows, np.zeros(more, np.int32))
        self._newest = np.concatenate([self._newest, np.full((more, self._newest.shape[1]), -1, np.int32)])

    def _apply_profiles(self, rows: schema.Columns) -> None:
        for name in ("uptake", "anchoring"):
            before = self.own.get(name, np.empty(0))
            self.own[name] = np.append(before, np.full(self.n_agents - before.size, np.nan))
            self.own[name][np.asarray(rows["agent"])] = rows[name]

    def _apply_follows(self, rows: schema.Columns) -> None:
        follower, followed, change = (np.asarray(rows[name]) for name in ("follower", "followed", "change"))
        order = np.argsort(follower, kind="stable")
        follower, followed, change = follower[order], followed[order], change[order]
        gained = change > 0
        steps = np.asarray(rows["step"])[order]
        self._merge(self.follows, follower[gained], followed[gained], steps[gained].astype(np.int32))
        self._remove(self.follows, follower[~gained], followed[~gained])
        counts = np.bincount(followed, weights=change, minlength=self.n_agents)
        self._in_degree += counts.astype(np.int32)

    def _apply_posts(self, rows: schema.Columns) -> None:
        first = self.posts.n
        self.posts.append(rows)
        kind = np.asarray(rows["kind"])
        ids = np.arange(first, self.posts.n, dtype=np.int32)
        self.comment_rows = read_only(np.append(self.comment_rows, ids[kind == PostKind.COMMENT]))
        self.injected_rows = read_only(np.append(self.injected_rows, ids[kind == PostKind.INJECTED]))
        self.message_rows = read_only(np.append(self.message_rows, ids[kind == PostKind.MESSAGE]))
        shown = (kind != PostKind.COMMENT) & (kind != PostKind.MESSAGE)
        self._push(np.asarray(rows["author"])[shown], ids[shown])

    def _push(self, authors: Int32, ids: Int32) -> None:
        """Put rows into their authors' rings, oldest first, without a loop over rows."""
        order = np.argsort(authors, kind="stable")
        who, what = authors[order], ids[order]
        if not who.size:
            return
        starts = np.flatnonzero(np.r_[True, who[1:] != who[:-1]])
        counts = np.diff(np.r_[starts, who.size])
        nth = np.arange(who.size) - np.repeat(starts, counts)
        ring = self._newest.shape[1]
        last = nth >= np.repeat(counts, counts) - ring  # earlier ones would be overwritten at once
        self._newest[who[last], (self._n_rows[who] + nth)[last] % ring] = what[last]
        self._n_rows[who[starts]] += counts.astype(np.int32)

    def _apply_post_stances(self, rows: schema.Columns) -> None:
        first = self.post_stances.n
        self.post_stances.append(rows)
        self._point_at(np.asarray(rows["post"]), first, "stances", "n_stances")

    def _apply_claims(self, rows: schema.Columns) -> None:
        first = self.claims.n
        self.claims.append(rows)
        firsts = np.flatnonzero(np.asarray(rows["same_as"]) == np.asarray(rows["claim"]))
        columns = (np.asarray(rows[name])[firsts] for name in ("text", "proposition", "polarity", "strength", "claim"))
        for *kind, row in zip(*(column.tolist() for column in columns), strict=True):
            self.claim_kinds[tuple(kind)] = row
        of_posts = np.asarray(rows["post"]) >= 0
        begin = int(np.argmax(of_posts)) if of_posts.any() else of_posts.size  # the bank's come first
        self._point_at(np.asarray(rows["post"])[begin:], first + begin, "claims", "n_claims")

    def _point_at(self, posts: Int32, first: int, where: str, how_many: str) -> None:
        """Tell posts which rows of another table are theirs; rows of one post stand together, from ``first`` on."""
        if posts.size:
            starts = np.flatnonzero(np.r_[True, posts[1:] != posts[:-1]])
            self.posts.write(where)[posts[starts]] = first + starts
            self.posts.write(how_many)[posts[starts]] = np.diff(np.r_[starts, posts.size])

    def _apply_agent_memories(self, rows: schema.Columns) -> None:
        first = self.agent_memories.n
        self.agent_memories.append(rows)
        self.agent_memories.write("accessed")[first:] = np.asarray(rows["step"])

    def _apply_memory_accesses(self, rows: schema.Columns) -> None:
        memory = np.asarray(rows["memory"])
        self.agent_memories.write("decay")[memory] = np.asarray(rows["decay"])
        self.agent_memories.write("accessed")[memory] = np.asarray(rows["step"])

    def _apply_holdings(self, rows: schema.Columns) -> None:
        change, origin, agreed = (np.ascontiguousarray(rows[name]) for name in ("change", "origin", "agreed"))
        agent, claim = np.asarray(rows["agent"]), np.asarray(rows["claim"])
        self._merge(
            self.holdings, agent, claim, np.zeros(agent.size, np.uint8),
            lambda flags, slot, at: apply_changes(flags, slot, change[at], origin[at], agreed[at]),
        )  # fmt: skip

    def _apply_exposures(self, rows: schema.Columns) -> None:
        agent, first_seen, step = (np.asarray(rows[name]) for name in ("agent", "first_seen", "step"))
        if step.max(initial=0) > np.iinfo(self.seen.dtype).max:
            self.seen = self.seen.astype(np.int32)

        def see(block: tuple[int, int, int]) -> None:
            number, first, stop = block
            lo, hi = rows_between(agent, first, stop)
            new = lo + np.flatnonzero(first_seen[lo:hi])
            if new.size:
                indptr = offsets(agent[new], first, stop - first)
                key = np.ascontiguousarray(column_at(rows, "root", new), dtype=np.int32)
                since = step[new].astype(self.seen.dtype)
                self.seen.blocks[number], *_ = upsert(self.seen.blocks[number], indptr, key, since)

        each(see, list(spans(self.n_agents)))

    def _apply_actions(self, rows: schema.Columns) -> None:
        accepted = np.asarray(rows["status"]) == ActionStatus.ACCEPTED
        kind, agent = np.asarray(rows["kind"])[accepted], np.asarray(rows["agent"])[accepted]
        target = np.asarray(rows["target"])[accepted]
        count_actions(kind, target, _COUNT_OF, tuple(self.posts.write(column) for column in COUNTED))
        hides = np.flatnonzero(_HIDES[kind])
        self._merge(self.hidden, agent[hides], target[hides], np.ones(hides.size, np.uint8))
        done = REACTION_BITS[kind]
        once = done > 0
        agent, target, done = agent[once], target[once], done[once]
        none = np.zeros_like(done)
        self._merge(self.reactions, agent, target, none, lambda value, slot, at: set_bits(value, slot, done[at]))

    def _apply_notes(self, rows: schema.Columns) -> None:
        self.notes.append(rows)
        post, author = np.asarray(rows["post"]), np.asarray(rows["author"])
        np.add.at(self.posts.write("notes"), post[author == schema.NONE], 1)  # those of agents are counted as actions

    def _apply_note_ratings(self, rows: schema.Columns) -> None:
        note, given = np.asarray(rows["note"]), np.asarray(rows["rating"])
        rating = np.where(np.isnan(given), rows["helpful"], given)  # older records say whether it was helpful
        self.note_ratings.append({**rows, "rating": rating})
        for kind, value in zip(Rating, RATING_VALUES, strict=True):
            counts = np.bincount(note[rating == value], minlength=self.notes.n)
            self.notes.write(kind.name.lower())[:] += counts.astype(np.int32)
        agent, order = np.asarray(rows["agent"]), np.argsort(rows["agent"], kind="stable")
        self._merge(self.ratings, agent[order], note[order].astype(np.int32), np.ones(note.size, np.uint8))

    def _apply_verdicts(self, rows: schema.Columns) -> None:
        for name in ("verdict", "confidence"):
            self.posts.write(name)[np.asarray(rows["post"])] = np.asarray(rows[name])

    def _apply_moderation_log(self, rows: schema.Columns) -> None:
        kind, post, value = (np.asarray(rows[name]) for name in ("kind", "post", "value"))
        down = post[kind == LogKind.TAKEDOWN]
        if down.size:  # the log names the root; a takedown covers all its shares
            gone = np.isin(self.posts["root"], down)
            self.posts.write("status")[gone] = PostStatus.TAKEN_DOWN
        lower = kind == LogKind.DOWNRANKED
        self.posts.write("downrank")[post[lower]] = value[lower]
        for what, status in ((LogKind.NOTE_WITHDRAWN, NoteStatus.PENDING), (LogKind.NOTE_SHOWN, NoteStatus.SHOWN)):
            self._decide(np.asarray(rows["step"])[kind == what], value[kind == what].astype(np.int64), status)
        self._label(np.unique(post[(kind == LogKind.NOTE_SHOWN) | (kind == LogKind.NOTE_WITHDRAWN)]))

    def _apply_note_scores(self, rows: schema.Columns) -> None:
        note = np.asarray(rows["note"])
        self._decide(np.asarray(rows["step"]), note, np.asarray(rows["status"]))
        for name in ("intercept", "factor"):
            self.notes.write(name)[note] = rows[name]

    def _decide(self, step: Array, note: Array, status: Array | NoteStatus) -> None:
        """Give notes a status, and those for which it is another one the step."""
        other = self.notes["status"][note] != status
        self.notes.write("decided")[note[other]] = step[other]
        first = (self.notes["settled"][note] < 0) & (status != NoteStatus.PENDING)
        self.notes.write("settled")[note[first]] = step[first]
        self.notes.write("status")[note] = status

    def _label(self, posts: Array) -> None:
        """Set the label of posts to their first shown note."""
        if posts.size:
            label = self.posts.write("note")
            label[posts] = schema.NONE
            shown = np.flatnonzero((self.notes["status"] == NoteStatus.SHOWN) & np.isin(self.notes["post"], posts))
            label[self.notes["post"][shown[::-1]]] = shown[::-1]  # of several notes, the last that is written stays

    # -- pair stores, block by block ---------------------------------------------------------------------------------

    def _merge(
        self, pairs: Pairs, agents: Array, keys: Array, start: Array,
        then: Callable[[Any, Int64, slice], None] | None = None,
    ) -> None:  # fmt: skip
        """Add pairs that are not there with a value of ``start``; ``agents`` ascend.

        ``then(values, slot, rows)`` changes the values at ``slot``, which belong to some of the rows given.
        """

        def merge(part: _Part) -> None:
            number, lo, hi, indptr = part
            key = np.ascontiguousarray(keys[lo:hi], dtype=np.int32)
            value = np.ascontiguousarray(start[lo:hi]).astype(pairs.dtype)
            block, slot, _ = upsert(pairs.blocks[number], indptr, key, value)
            if then is not None:
                then(block.value, slot, slice(lo, hi))
            pairs.blocks[number] = block

        each(merge, _by_block(agents, pairs.n_agents))

    def _remove(self, pairs: Pairs, agents: Array, keys: Array) -> None:
        for number, lo, hi, indptr in _by_block(agents, pairs.n_agents):
            block = pairs.blocks[number]
            slot = lookup(block, indptr, np.ascontiguousarray(keys[lo:hi], dtype=np.int32))
            keep = np.ones(block.key.shape[0], np.bool_)
            keep[slot[slot >= 0]] = False
            before = np.r_[0, np.cumsum(keep)].astype(np.int64)
            pairs.blocks[number] = PairBlock(before[block.indptr], block.key[keep], block.value[keep])

    def _add_beliefs(self, born: BeliefState) -> None:
        """Append newborn agents' beliefs, filling the last block before a new one is begun."""
        n, done = born.stance.shape[0], 0
        while done < n:
            room = BLOCK - self.belief[-1].stance.shape[0] if self.belief else 0
            take = min(n - done, room or BLOCK)
            part = take_state(born, np.arange(done, done + take))
            if room:
                self.belief[-1] = frozen_state(join_states(self.belief[-1], part))
            else:
                self.belief.append(frozen_state(part))
            done += take


def new_texts(fresh: Mapping[str, int]) -> schema.ByTable:
    """Return rows of the table texts for new texts and their rows; no table for none."""
    rows = schema.rows("texts", len(fresh), text=list(fresh.values()), content=list(fresh))
    return {"texts": rows} if fresh else {}


_Part = tuple[int, int, int, Int64]


def _by_block(agents: Array, n_agents: int) -> list[_Part]:
    """Cut rows with ascending agents into blocks: (block, first row, row after last, CSR over the block's agents)."""
    out = []
    if agents.size:
        for number, first, stop in spans(n_agents):
            lo, hi = rows_between(agents, first, stop)
            if hi > lo:
                out.append((number, lo, hi, offsets(agents[lo:hi], first, stop - first)))
    return out
