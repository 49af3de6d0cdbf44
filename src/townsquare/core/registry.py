"""Names of everything that comes in several kinds.

A member of a family is one file and one word here: the name that settings use, and where its object stands. Members
are imported when they are first asked for. Order matters only for ``stance``, whose numbers are recorded
(:class:`townsquare.core.schema.Scorer`): append there, never insert.

Members of your own come in by :func:`register`, or from an installed package whose entry points of the group
``townsquare.members`` are named ``family.name`` (``ranker.mine = "my_package.rankers:MINE"``): those are known to the
command line and to every process of a comparison. No code of theirs runs before a setting or a command names them; but
measures and sections run whenever a run is summed up or reported.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from townsquare.core.errors import TownsquareError, UnknownName
from townsquare.core.former_names import FORMER_NAMES, current_name


def _members(package: str, attribute: str, words: str) -> dict[str, str]:
    """Return where the members of a family stand, by name.

    A word is a name whose module in ``package`` is called so too, or ``name=module``, or ``name=module:ATTRIBUTE``.

    >>> _members("a.b", "RULE", "one two=other three=other:THREE")
    {'one': 'a.b.one:RULE', 'two': 'a.b.other:RULE', 'three': 'a.b.other:THREE'}
    """
    found = {}
    for word in words.split():
        name, _, target = word.partition("=")
        module, _, own = (target or name).partition(":")
        found[name] = f"{package}.{module}:{own or attribute}"
    return found


def _functions(package: str, **modules: str) -> dict[str, str]:
    """Return where members stand whose attribute is called as they are, by module.

    >>> _functions("a.b", c="one two")
    {'one': 'a.b.c:one', 'two': 'a.b.c:two'}
    """
    return {word: f"{package}.{module}:{word}" for module, words in modules.items() for word in words.split()}


def _in_table(target: str, words: str) -> dict[str, str]:
    """Return where members stand that are in one dict by name."""
    return dict.fromkeys(words.split(), target)


_FAMILIES: dict[str, dict[str, str]] = {
    "beliefs": _members(
        "townsquare.beliefs",
        "RULE",
        "exposure exposure-bounded=exposure_bounded bounded_confidence averaging no_change log_odds social_log_odds",
    ),
    "ranker": _members("townsquare.simulation.feed.rankers", "RANKER", "recent engagement random hot oldest"),
    "policy": _members(
        "townsquare.simulation.policies", "POLICY", "statistical blind scripted silent llm mix coordinated"
    ),
    "moderation": _members("townsquare.simulation.moderation", "MODERATOR", "none community third_party hybrid"),
    "note_scorer": _members("townsquare.simulation.moderation.note_scorers", "SCORER", "threshold"),
    "graph": _members(
        "townsquare.scenario.graphs",
        "GRAPH",
        "scale_free=scale_free:SCALE_FREE random=random:RANDOM small_world=small_world:SMALL_WORLD block=block:BLOCK "
        "file=file:FILE given=given:GIVEN",
    ),
    "extractor": _members("townsquare.beliefs.evidence", "EXTRACTOR", "given embedded=extract model=model_extractor"),
    "embedder": _members("townsquare.beliefs.evidence", "EMBEDDER", "hashing given=given_vectors"),
    "strength": _members("townsquare.beliefs.evidence", "JUDGE", "constant embedded=strength transformer"),
    "speaker": _members(
        "townsquare.debate.members", "SPEAKER", "bank=bank_speaker scripted=scripted_speaker llm=model_speaker"
    ),
    "debater": _members(
        "townsquare.debate.members",
        "DEBATER",
        "belief_engine prompt_self_update=self_update:PROMPT rag_self_update=self_update:RAG",
    ),
    "stance_judge": _members(
        "townsquare.debate.members", "JUDGE", "bank=bank_judge embedded=polarity_judge model=model_judge"
    ),
    "model": _members(
        "townsquare.models",
        "MODEL",
        "fake faulty recorded openai=providers:OPENAI ollama=providers:OLLAMA vllm=providers:VLLM "
        "sglang=providers:SGLANG server=providers:SERVER",
    ),
    "stance": _members("townsquare.beliefs.stance", "SCORER", "vader"),
    "importer": _members("townsquare.scenario.importers", "IMPORTER", "tables"),
    "measure": {
        **_in_table(
            "townsquare.analysis.outcomes:MEASURES",
            "engagement_true_per_post engagement_false_per_post engagement_gap_per_post engagement_ratio "
            "reach_true_mean reach_false_mean exposures_true exposures_false exposures_false_labeled precision recall "
            "f1 true_labeled true_removed false_removed steps_to_verdict steps_to_label steps_to_takedown "
            "notes_informative shift absolute_shift accuracy accuracy_shift spread_kept polarization "
            "actions_per_agent_step exposures_per_agent_step silent_share refused_share",
        ),
        **_functions(
            "townsquare.analysis",
            diffusion="cascades diffusion_by_veracity diffusion_tests cascade_growth spread_metrics",
            reach="reach_over_time",
            engagement="engagement engagement_by_post",
            engagement_time="engagement_levels engagement_gaps engagement_rates",
            moderation="labels moderation moderation_events",
            moderation_effects="time_to_moderation moderation_by_group",
            influence="influence popularity_ranks popularity_sizes inequality",
            traits="trait_engagement trait_levels",
            topics="topics topic_engagement topic_tests time_of_posting",
            network="network_over_time centralities",
            homophily="homophily communities echo_chambers",
            reasoning="reasoning_tone reasoning_motives reasoning_agreement",
            vocabulary="reasoning_words reasoning_terms",
            people="acted",
            beliefs="belief_course belief_change stance_bins",
            health="belief_movement participation refusals diagnostics rule_health",
            belief_spread="polarization_course convergence accuracy_course",
            belief_paths="distance_to_start crossings crossing_counts persistence",
            catalog="treatment_effects",
        ),
        **_members("townsquare.analysis", "outcome_table", "outcomes"),
        **_in_table(
            "townsquare.analysis.catalog:MEASURES",
            "persistence_false belief_change_by_trait belief_change_by_start belief_change_by_exposure "
            "belief_change_by_community attribution_by_post attribution_by_author attribution_by_writer "
            "attribution_by_veracity attribution_by_label attribution_by_cause attribution_by_step "
            "moderation_effects moderation_effects_by_group implied_truth",
        ),
    },
    "section": _members(
        "townsquare.pages.report",
        "",
        "engagement=engagement:engagement_section stances=stances:stance_section "
        "moderation=moderation:moderation_section health=health:health_section diffusion=diffusion:diffusion_section "
        "polarization=polarization:polarization_section attribution=attribution:attribution_section "
        "treatments=treatments:treatment_section influence=diffusion:influence_section",
    ),
}
_BUNDLED = {family: tuple(members) for family, members in _FAMILIES.items()}
ENTRY_POINTS = "townsquare.members"


def families() -> tuple[str, ...]:
    """The families that have members."""
    return tuple(_FAMILIES)


def names(family: str) -> tuple[str, ...]:
    """The members of a family, in order of registration."""
    add_installed()
    return tuple(_FAMILIES[family])


def bundled(family: str) -> tuple[str, ...]:
    """The members that come with Townsquare."""
    return _BUNDLED[family]


def get(family: str, name: str) -> Any:
    """The member ``name`` of ``family``. Where its target is a dict, the member stands there by its name.

    Raises
    ------
    UnknownName
        With the nearest name there is.

    >>> try:
    ...     get("ranker", "recnt")
    ... except UnknownName as error:
    ...     print(error.do)
    did you mean 'recent'?
    """
    add_installed()
    name = current_name(family, name) if family in FORMER_NAMES else name
    members = _FAMILIES[family]
    check_known(family, name, members)
    module, _, attribute = members[name].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    return found[name] if isinstance(found, dict) else found


def register(family: str, name: str, target: str) -> None:
    """Add a member of your own: ``register("ranker", "mine", "my_module:RANKER")``.

    Raises
    ------
    UnknownName
        If there is no such family, or the name is taken by another target.
    """
    if family not in _FAMILIES:
        raise UnknownName("family", got=repr(family), allowed=", ".join(_FAMILIES))
    if _FAMILIES[family].get(name, target) != target:
        raise UnknownName(family, got=repr(name), do=f"the name is taken by {_FAMILIES[family][name]}")
    _FAMILIES[family][name] = target


@cache
def add_installed() -> None:
    """Register the entry points of installed packages, once; imports none of them.

    Raises
    ------
    UnknownName
        An entry point is not named ``family.name``, or takes a name that is taken; says of which package.
    """
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: (point.name, point.value)):
        package = point.dist.name if point.dist else "an installed package"
        where = f"entry point {point.name!r} of {package}"
        family, _, name = point.name.partition(".")
        if not name or family not in _FAMILIES:
            allowed = "family.name, with a family of " + ", ".join(_FAMILIES)
            raise UnknownName(where, allowed=allowed, do="correct or uninstall that package")
        if _FAMILIES[family].get(name, point.value) != point.value:
            raise UnknownName(where, got=f"a name taken by {_FAMILIES[family][name]}", do="rename or uninstall it")
        _FAMILIES[family][name] = point.value


def check_known(
    where: str, name: str, known: Collection[str], kind: type[TownsquareError] = UnknownName, nothing: str = "none"
) -> None:
    """Refuse a name that is not known; ``nothing`` is what is allowed where no name is.

    Raises
    ------
    TownsquareError
        Of ``kind``, with the names that there are and the nearest of them.
    """
    if name not in known:
        raise kind(where, got=repr(name), allowed=", ".join(known) or nothing, do=did_you_mean(name, known))


def did_you_mean(got: str, allowed: object) -> str:
    """A hint with the nearest of the allowed words, or nothing."""
    near = difflib.get_close_matches(str(got), [str(word) for word in allowed], n=1)  # type: ignore[attr-defined]
    return f"did you mean {near[0]!r}?" if near else ""
