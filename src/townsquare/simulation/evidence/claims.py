"""Claims, made once a post and never once a reader: what a new post says for or against a proposition, and how well.

A declared stance gives a claim by its sign, in the post's own words, or in those of the bank's argument that it words
with a hedge or a tail (:mod:`townsquare.scenario.grammar`); a stance of 0 gives none. Where nothing was declared the
extractor reads the text. Claims with one text, proposition, polarity and strength are of one kind: agents
hold the first of them, and near-duplicates are sought among the firsts alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.contract import (
    Embedder,
    Extractor,
    Found,
    StrengthJudge,
    Topics,
    check_found,
    strengths,
)
from townsquare.beliefs.evidence.near import NearPairs, Vectors, near_pairs
from townsquare.core import schema
from townsquare.core.array_types import Array, Float, Int16, Int32, Int64
from townsquare.core.enums import Scorer
from townsquare.core.schema import NONE
from townsquare.models.contract import Asker, bound
from townsquare.scenario.contents import Arguments, Scenario
from townsquare.scenario.grammar import bundled_grammar
from townsquare.settings.resolve import Settings
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.world import World, new_texts

GIVEN = "given"
"""The judge of a strength that came with the data or was declared."""


Finding = tuple[int, int, float, str, str, str]
"""One claim that an extractor found: proposition, polarity, strength, text, snippet, tag."""


@dataclass(frozen=True, slots=True)
class Judges:
    """The members that make claims of posts, with their settings, fixed for a run: extractor, strength judge, embedder.

    ``theta`` and ``theta_self`` are the thresholds in use, those of the settings or the embedder's own; near-duplicates
    are sought down to the second only if ``own_claims`` become records. ``extracted`` (by text) and ``estimated`` (by
    text and proposition) remember what was said before and would be said again.
    """

    extractor: tuple[Extractor, Any]
    strength: tuple[StrengthJudge, Any]
    vectors: Vectors
    topics: Topics
    theta: float
    theta_self: float
    own_claims: bool = True
    extracted: dict[str, list[Finding]] = field(default_factory=dict)
    estimated: dict[tuple[str, int], float] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, scenario: Scenario) -> Judges:
        """Create the judges that the settings choose, for the propositions and the bank of a scenario."""
        members, params, chosen = settings.members, settings.params, settings.config.evidence
        embedder: Embedder = members["embedder"]
        extractor, strength = ((members[family], params[family]) for family in ("extractor", "strength"))
        vectors, thetas = Vectors(embedder, params["embedder"]), embedder.thresholds(chosen.theta, chosen.theta_self)
        return cls(extractor, strength, vectors, topics_of(scenario), *thetas, chosen.own_claims)

    def with_model(self, asker: Asker) -> Judges:
        """Return the same, with a language model to ask for an extractor that asks one."""
        extractor, params = self.extractor
        return replace(self, extractor=(bound(extractor, asker), params))


def topics_of(scenario: Scenario) -> Topics:
    """Return what claims can be about in a scenario."""
    bank = scenario.arguments
    statements = tuple(proposition.text for proposition in scenario.propositions)
    return Topics(statements, bank.text, bank.proposition, bank.stance, bank.strength)


def make(world: World, judges: Judges) -> Change:
    """Return claims of the posts of the step that is being taken, and their near-duplicates among all claims."""
    start = world.step_starts[-1]
    posts = start + np.flatnonzero(world.posts["root"][start:] == np.arange(start, world.posts.n))
    made = together(_declared(world, posts, judges.topics.bank_text), _read(world, posts, judges))
    if not made.post.size:
        return NOTHING
    return Change(claim_rows(world, made, judges, world.text_row, len(world.texts)))


def of_bank(arguments: Arguments) -> Made:
    """Return the bank's arguments as claims that agents can start with; one without a side is none."""
    at = np.flatnonzero(arguments.stance != 0)
    none = np.full(at.size, NONE, np.int64)
    polarity = np.sign(arguments.stance[at]).astype(np.int8)
    return Made(
        arguments.text, post=none, proposition=arguments.proposition[at], polarity=polarity,
        strength=arguments.strength[at], text=at.astype(np.int64), snippet=none, tag=none,
    )  # fmt: skip


def _declared(world: World, posts: Array, bank: Sequence[str]) -> Made:
    stances = world.post_stances
    post, row = _stated(world, posts)
    speaks = stances["stance"][row] != 0
    post, row = post[speaks], row[speaks]
    used, snippet = np.unique(world.posts["text"][post], return_inverse=True)
    words = [world.texts[k] for k in used.tolist()]
    says = _arguments(words, bank)
    text = np.array([says[k] for k in snippet.tolist()], np.int64)
    return Made(
        words, post=post.astype(np.int64), proposition=stances["proposition"][row],
        polarity=np.sign(stances["stance"][row]).astype(np.int8), strength=stances["strength"][row], text=text,
        snippet=snippet.astype(np.int64), tag=np.full(post.size, NONE, np.int64),
    )  # fmt: skip


def _arguments(words: list[str], bank: Sequence[str]) -> list[int]:
    """Return where the argument of each text stands in ``words``, to which it is added: itself, where it words none."""
    grammar, arguments = bundled_grammar(), frozenset(bank)
    position_of = {word: k for k, word in enumerate(words)}
    out = []
    for k, word in enumerate(list(words)):
        argument = grammar.argument(word, arguments)
        if argument is not None and argument not in position_of:
            position_of[argument] = len(words)
            words.append(argument)
        out.append(k if argument is None else position_of[argument])
    return out


def _stated(world: World, posts: Array) -> tuple[Array, Array]:
    """Return posts with their given or declared rows of post_stances; stances by a text scorer do not count.

    A scorer may measure tone, which is no polarity.
    """
    row, at = world.stances_of(posts)
    stated = np.isin(world.post_stances["scorer"][row], (Scorer.GIVEN, Scorer.DECLARED))
    return posts[at[stated]], row[stated]


def _read(world: World, posts: Array, judges: Judges) -> Made:
    """Return what the extractor finds in posts that declare no stance; each text is read once."""
    silent = posts[~np.isin(posts, _stated(world, posts)[0])]
    first, which = kinds_of(world.posts["text"][silent])  # texts in the order in which they are met
    texts = [world.texts[row] for row in world.posts["text"][silent[first]].tolist()]
    _extract(texts, judges)
    findings = Found.of([(k, *finding) for k, text in enumerate(texts) for finding in judges.extracted[text]])
    count = np.bincount(findings.message, minlength=len(texts))
    start, count = (np.cumsum(count) - count)[which], count[which]
    at = np.repeat(start - (np.cumsum(count) - count), count) + np.arange(count.sum())
    words = [*findings.text, *findings.snippet, *findings.tag]
    words_at = np.where(np.array([bool(word) for word in words], np.bool_), np.arange(len(words)), NONE).reshape(3, -1)
    text, snippet, tag = words_at[:, at]
    return Made(
        words, post=np.repeat(silent, count).astype(np.int64), proposition=findings.proposition[at],
        polarity=findings.polarity[at], strength=findings.strength[at], text=text, snippet=snippet, tag=tag,
    )  # fmt: skip


def _extract(texts: list[str], judges: Judges) -> None:
    """Read the texts that were not read before."""
    new = [text for text in dict.fromkeys(texts) if text not in judges.extracted]
    if not new:
        return
    extractor, params = judges.extractor
    findings = extractor.extract(new, judges.topics, params)
    check_found(extractor.name, findings, len(new), len(judges.topics.statements))
    judges.extracted.update((text, []) for text in new)
    numbers = (column.tolist() for column in findings[:4])
    for message, *finding in zip(*numbers, *findings[4:], strict=True):
        judges.extracted[new[message]].append(tuple(finding))


def claim_rows(world: World, made: Made, judges: Judges, text_row: dict[str, int], n_texts: int) -> schema.ByTable:
    """Return rows of claims, of every estimate of their strengths, of near-duplicates, and of texts that are new.

    Parameters
    ----------
    world : World
        What claims there are already.
    made : Made
        The new ones.
    judges : Judges
        Who estimates and compares.
    text_row : mapping of str to int
        Texts that there are already; new ones are numbered from ``n_texts`` on.
    """
    (text, snippet, tag), fresh = text_rows(made, text_row, n_texts)
    estimate = _estimates(made, judges)
    strength = np.where(np.isnan(made.strength), estimate, made.strength)
    first = world.claims.n
    claim = np.arange(first, first + made.post.size)
    same_as = _same_as(world, claim, text, made, strength)
    claims = schema.rows(
        "claims", claim.size, claim=claim, post=made.post, proposition=made.proposition, text=text,
        snippet=snippet, tag=tag, polarity=made.polarity, strength=strength, same_as=same_as,
    )  # fmt: skip
    new = np.flatnonzero(same_as == claim)
    given = _strength_rows(claim[new], made.strength[new], estimate[new], judges.strength[0].name)
    near, texts = _near_rows(world, judges, made, claim, new), new_texts(fresh)
    return {"claims": claims, "claim_strengths": given, "near_duplicates": near, **texts}


def _estimates(made: Made, judges: Judges) -> Float:
    """Return the judge's estimate of every claim, each (text, proposition) judged once."""
    judge, params = judges.strength
    first, which = kinds_of(made.text, made.proposition)
    asked = list(zip(made.texts(first), made.proposition[first].tolist(), strict=True))
    new = [key for key in dict.fromkeys(asked) if key not in judges.estimated]
    statements = judges.topics.statements
    if new:
        given = strengths(judge, [text for text, _ in new], [statements[k] for _, k in new], params)
        judges.estimated.update(zip(new, given.tolist(), strict=True))
    return np.array([judges.estimated[key] for key in asked], np.float64)[which]


def _same_as(world: World, claim: Array, text: Array, made: Made, strength: Float) -> Int32:
    """Return the first claim of the same kind: earlier, or the claim itself."""
    columns = (text, made.proposition, made.polarity, strength + 0.0)  # -0.0 is 0.0
    first, which = kinds_of(*columns)
    kinds = zip(*(column[first].tolist() for column in columns), strict=True)
    known = [world.claim_kinds.get(kind, row) for kind, row in zip(kinds, claim[first].tolist(), strict=True)]
    return np.array(known, np.int32)[which]


def _strength_rows(claim: Array, given: Array, estimate: Array, judge: str) -> schema.Columns:
    """Return what was given, where something was, and the judge's estimate, which is in use where nothing was."""
    known = ~np.isnan(given)
    both = np.r_[claim[known], claim]
    order = np.argsort(both, kind="stable")
    judges = [GIVEN] * int(known.sum()) + [judge] * claim.size
    return schema.rows(
        "claim_strengths", both.size, claim=both[order], judge=[judges[k] for k in order],
        strength=np.r_[given[known], estimate][order], in_use=np.r_[known[known], ~known][order],
    )  # fmt: skip


def _near_rows(world: World, judges: Judges, made: Made, claim: Array, new: Array) -> schema.Columns:
    """Pairs of firsts of their kinds, of one proposition and polarity, at or above the smaller threshold."""
    old = np.flatnonzero(world.claims["same_as"] == world.claims["claim"])
    proposition = np.r_[world.claims["proposition"][old], made.proposition[new]]
    polarity = np.r_[world.claims["polarity"][old], made.polarity[new]]
    rows = np.r_[world.claims["claim"][old], claim[new]]
    threshold = min(judges.theta, judges.theta_self) if judges.own_claims else judges.theta
    pairs: list[NearPairs] = []
    for kind in sorted(set(zip(made.proposition[new].tolist(), made.polarity[new].tolist(), strict=True))):
        at = np.flatnonzero((proposition == kind[0]) & (polarity == kind[1]))
        first = int(np.searchsorted(at, old.size))
        texts = _texts(world, old[at[:first]]) + made.texts(new[at[first:] - old.size])
        later, earlier, similarity = near_pairs(judges.vectors.of(texts), texts, first, threshold)
        pairs.append(NearPairs(rows[at[later]], rows[at[earlier]], similarity))
    if not pairs:
        return schema.empty("near_duplicates")
    claim, other, similarity = (np.concatenate(column) for column in zip(*pairs, strict=True))
    order = np.lexsort((other, claim))
    columns = {"claim": claim[order], "other": other[order], "similarity": similarity[order]}
    return schema.rows("near_duplicates", order.size, **columns)


def _texts(world: World, claims: Array) -> list[str]:
    return [world.texts[row] for row in world.claims["text"][claims]]


# Claims before they have rows, as columns: texts are positions in a list, so that no claim costs a loop.


@dataclass(frozen=True, slots=True)
class Made:
    """Claims before they have rows; (c,) each, those of one post together and in order of posts.

    ``post`` is -1 for arguments of the bank, ``strength`` NaN where nobody said. ``text``, ``snippet`` and ``tag`` are
    positions in ``words``, which holds each text at least once; -1 for none.
    """

    words: Sequence[str]
    post: Int64
    proposition: Int16
    polarity: npt.NDArray[np.int8]
    strength: Float
    text: Int64
    snippet: Int64
    tag: Int64

    def texts(self, at: Array) -> list[str]:
        """Return the texts of the claims at these positions."""
        return [self.words[k] for k in self.text[at].tolist()]


def together(first: Made, second: Made) -> Made:
    """Return the claims of both, by post; within a post, those of ``first`` come first."""
    order = np.argsort(np.r_[first.post, second.post], kind="stable")

    def column(name: str) -> Array:
        later = getattr(second, name)
        if name in ("text", "snippet", "tag"):  # places among the words, of which the second's come last
            later = np.where(later >= 0, later + len(first.words), NONE)
        return np.concatenate([getattr(first, name), later])[order]

    names = ("post", "proposition", "polarity", "strength", "text", "snippet", "tag")
    return Made([*first.words, *second.words], **{name: column(name) for name in names})


def text_rows(made: Made, known: Mapping[str, int], n_texts: int) -> tuple[tuple[Int64, Int64, Int64], dict[str, int]]:
    """Return rows of texts of ``text``, ``snippet`` and ``tag``, and the texts that are new.

    These are numbered from ``n_texts`` on in the order in which the columns, one after the other, meet them.
    """
    used = np.concatenate([made.text, made.snippet, made.tag])
    used = used[used >= 0]
    row = np.full(len(made.words) + 1, NONE, np.int64)  # the last one stands for no text
    fresh: dict[str, int] = {}
    for number in used[kinds_of(used)[0]].tolist():
        word = made.words[number]
        row[number] = known[word] if word in known else fresh.setdefault(word, n_texts + len(fresh))
    return (row[made.text], row[made.snippet], row[made.tag]), fresh


def kinds_of(*columns: Array) -> tuple[Int64, Int64]:
    """Return where each distinct row of columns of one length stands first, ascending, and which of these a row equals.

    Real numbers are compared bit by bit.

    >>> [part.tolist() for part in kinds_of(np.array([3, 1, 3, 1]), np.array([0.5, 0.5, 0.5, 0.25]))]
    [[0, 1, 3], [0, 1, 0, 2]]
    """
    code = np.zeros(columns[0].shape[0], np.int64)
    for column in columns:
        bits = column.view(np.int64) if column.dtype == np.float64 else column
        values, part = np.unique(bits, return_inverse=True)
        _, code = np.unique(code * values.size + part, return_inverse=True)
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[code]
