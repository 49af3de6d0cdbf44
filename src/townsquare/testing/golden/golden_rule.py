"""Golden checks of the ``exposure`` rule, through the function that a simulation calls."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np

from townsquare.beliefs.arrays import offsets_of
from townsquare.beliefs.contract import BeliefInputs, BeliefState, Exposed, no_own, per_agent, rows_of
from townsquare.beliefs.exposure import RULE
from townsquare.beliefs.stance.vader import score_text
from townsquare.beliefs.trust import TRUST
from townsquare.core.draws import Stage, StageDraws
from townsquare.core.pairs import PairBlock
from townsquare.testing.golden.golden_formats import ApplyCase, ApplyRound, UpdateCase, UpdateRound, read
from townsquare.testing.golden.golden_report import GoldenReport
from townsquare.testing.golden.golden_seen import SEEN_CAP, SeenStore

DEFAULT_STANCE, DEFAULT_CONFIDENCE = 0.0, 0.5
POSTING = frozenset({"create_post", "post", "comment", "reply"})


@dataclass(slots=True)
class Person:
    """One agent before a call.

    ``row`` is its row in the store of what was seen; ``shown`` holds the rows as (author, stance, likes, first seen);
    ``touched`` is set once the agent was ever updated.
    """

    row: int
    stance: float = DEFAULT_STANCE
    confidence: float = DEFAULT_CONFIDENCE
    trust: dict[str, float] = field(default_factory=dict)
    shown: list[tuple[str, float, int, bool]] = field(default_factory=list)
    own_likes: int = 0
    own_dislikes: int = 0
    touched: bool = False


Posts = Sequence[tuple[str, object, float, int]]
"""As (author, key, stance, likes); novelty is by key."""


def show(seen: SeenStore, people: Sequence[Person], posts: Sequence[Posts]) -> None:
    """Show each person its posts; people come in the order of their rows."""
    first_seen = seen.show([person.row for person in people], [[key for _, key, _, _ in some] for some in posts])
    for person, some, new in zip(people, posts, first_seen, strict=True):
        person.shown = [(author, stance, likes, n) for (author, _, stance, likes), n in zip(some, new, strict=True)]


def step_people(people: Sequence[Person]) -> list[tuple[float, float, dict[str, float]]]:
    """Return stance, confidence and trust of each person after one step with the page's constants, as one block."""
    n = len(people)
    code: dict[str, int] = {}
    for person in people:
        for name in [*person.trust, *(row[0] for row in person.shown)]:
            code.setdefault(name, len(code))
    column = np.array([[person.stance, person.confidence] for person in people], dtype=np.float64).reshape(n, 2)
    stance, confidence = column[:, :1].copy(), column[:, 1:].copy()
    state = BeliefState(stance, confidence, stance.copy(), pairs={TRUST: _trust(people, code)})
    after, _ = RULE.step(state, _inputs(people, code), per_agent(RULE.params(), n), StageDraws(0, Stage.BELIEF, 1))
    block, names = after.pairs[TRUST], list(code)
    return [(float(after.stance[i, 0]), float(after.confidence[i, 0]), _named(block, i, names)) for i in range(n)]


def _trust(people: Sequence[Person], code: dict[str, int]) -> PairBlock:
    rows = [sorted((code[name], value) for name, value in person.trust.items()) for person in people]
    key, value = zip(*(pair for row in rows for pair in row), strict=True) if any(rows) else ((), ())
    return PairBlock(offsets_of([len(row) for row in rows]), np.array(key, np.int32), np.array(value, np.float64))


def _inputs(people: Sequence[Person], code: dict[str, int]) -> BeliefInputs:
    rows = [row for person in people for row in person.shown]
    authors, stance, likes, first_seen = zip(*rows, strict=True) if rows else [()] * 4
    exposures = rows_of(
        Exposed, offsets_of([len(person.shown) for person in people]), post=np.arange(len(rows)),
        author=[code[name] for name in authors], stance=stance, likes=likes, first_seen=first_seen,
    )  # fmt: skip
    own = no_own(len(people), 1)
    own.likes[:, 0] = [person.own_likes for person in people]
    own.dislikes[:, 0] = [person.own_dislikes for person in people]
    return BeliefInputs(first=0, exposures=exposures, own=own)


def _named(block: PairBlock, row: int, names: list[str]) -> dict[str, float]:
    span = slice(int(block.indptr[row]), int(block.indptr[row + 1]))
    return {names[key]: float(value) for key, value in zip(block.key[span], block.value[span], strict=True)}


def check_update(path: Path) -> GoldenReport:
    """Calls of the belief update: stance, confidence, the whole of trust, and what counts as seen."""
    cases = read(path, UpdateCase)
    report = GoldenReport("update", path, len(cases), sum(len(case.rounds) for _, case in cases))
    people = {number: _first(row, case) for row, (number, case) in enumerate(cases)}
    seen = SeenStore([_seen_before(case) for _, case in cases])
    for turn in range(max((len(case.rounds) for _, case in cases), default=0)):
        now = [(number, case.rounds[turn]) for number, case in cases if turn < len(case.rounds)]
        called = [people[number] for number, _ in now]
        show(seen, called, [call.posts for _, call in now])
        for person, (_, call) in zip(called, now, strict=True):
            person.own_likes, person.own_dislikes = call.ol, call.od
        results = step_people(called)
        seen.end_step()
        known = seen.of([person.row for person in called])
        for (number, call), result, keys in zip(now, results, known, strict=True):
            where = f"{path}, line {number}, round {turn + 1}"
            _compare_update(report, where, people[number], call, result)
            _compare_seen(report, where, keys, call)
    return report


def _first(row: int, case: UpdateCase) -> Person:
    start = case.init
    beliefs = start.pos.get(case.topic, DEFAULT_STANCE), start.conf.get(case.topic, DEFAULT_CONFIDENCE)
    return Person(row, *beliefs, trust=dict(start.trust))


def _seen_before(case: UpdateCase) -> list[str]:
    start = case.init
    generated = [f"{start.exp_gen[0]}{i}" for i in range(start.exp_gen[1])] if start.exp_gen else []
    return [*start.exp, *generated]


def _compare_update(
    report: GoldenReport, where: str, person: Person, call: UpdateRound, result: tuple[float, float, dict[str, float]]
) -> None:
    stance, confidence, trust = result
    report.compare("stance", where, stance, call.out.pos)
    report.compare("confidence", where, confidence, call.out.conf)
    report.compare_all("trust", where, trust, call.out.trust)
    # Each call is checked on its own: the next one starts from what was recorded.
    person.stance, person.confidence, person.trust = call.out.pos, call.out.conf, dict(call.out.trust)


def _compare_seen(report: GoldenReport, where: str, keys: set[object], call: UpdateRound) -> None:
    """Compare the number and set of known posts after a call, as recorded or at least all that the call showed.

    Beyond the cap SimSwarm forgets in the order of a set, which no file can record; a simulation forgets the oldest.
    """
    report.compare("seen", where, len(keys), call.out.exp_n)
    if call.out.exp_sha is None:
        newest = {key for _, key, _, _ in call.posts}
        report.compare("seen", f"{where}, of this call", len(newest & keys), min(len(newest), SEEN_CAP))
        return
    text = "\n".join(sorted(str(key) for key in keys))
    same = hashlib.sha256(text.encode()).hexdigest()[:16] == call.out.exp_sha
    report.compare("seen", f"{where}, which ones", 0.0 if same else 1.0, 0.0)


def check_apply(path: Path) -> GoldenReport:
    """Check whole rounds of a small public: who moves whom, with tone as stance and trust by display name."""
    cases = read(path, ApplyCase)
    report = GoldenReport("apply", path, len(cases), sum(len(case.rounds) for _, case in cases))
    row = count()
    public = {number: {agent: Person(next(row)) for agent, _ in case.agents} for number, case in cases}
    seen = SeenStore([()] * next(row))
    topics = {number: case.topic for number, case in cases}
    for turn in range(max((len(case.rounds) for _, case in cases), default=0)):
        now = [(number, case.rounds[turn]) for number, case in cases if turn < len(case.rounds)]
        posts = [_read_log(public[number], call) for number, call in now]
        readers = [person for number, _ in now for person in public[number].values()]
        show(seen, readers, [feed for feeds in posts for feed in feeds])
        moved = [person for person in readers if person.shown or person.own_likes or person.own_dislikes]
        for person, result in zip(moved, step_people(moved), strict=True):
            person.stance, person.confidence, person.trust = result
            person.touched = True
        seen.end_step()
        for number, call in now:
            _compare_apply(report, f"{path}, line {number}, round {turn + 1}", topics[number], public[number], call)
    return report


def _read_log(people: dict[str, Person], call: ApplyRound) -> list[Posts]:
    """Return the posts that each is shown, which are those of all others; and what own posts met, told to each."""
    posts = []
    for record in call.records:
        text = record.args.text or record.args.content
        if record.success and record.action_type.lower() in POSTING and text:
            likes, dislikes = (0, 0) if record.post_id is None else call.likes.get(record.post_id, (0, 0))
            posts.append((record, (call.round, record.agent_id, text), score_text(text), likes, dislikes))
    shown: list[Posts] = []
    for agent, person in people.items():
        shown.append([(r.agent_name, key, tone, likes) for r, key, tone, likes, _ in posts if r.agent_id != agent])
        person.own_likes = sum(likes for r, _, _, likes, _ in posts if r.agent_id == agent)
        person.own_dislikes = sum(dislikes for r, _, _, _, dislikes in posts if r.agent_id == agent)
    return shown


def _compare_apply(report: GoldenReport, where: str, topic: str, people: dict[str, Person], call: ApplyRound) -> None:
    for agent in sorted(people.keys() ^ call.out.keys()):
        report.failures.append(f"{where}: {agent!r} stands only on one side")
    for agent in people.keys() & call.out.keys():
        person, out = people[agent], call.out[agent]
        stance = {topic: person.stance} if person.touched else {}
        confidence = {topic: person.confidence} if person.touched else {}
        report.compare_all("stance", f"{where}, {agent}", stance, out.pos)
        report.compare_all("confidence", f"{where}, {agent}", confidence, out.conf)
        report.compare_all("trust", f"{where}, {agent}", person.trust, out.trust)
        person.stance = out.pos.get(topic, DEFAULT_STANCE)
        person.confidence = out.conf.get(topic, DEFAULT_CONFIDENCE)
        person.trust = dict(out.trust)
