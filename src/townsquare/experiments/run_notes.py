"""What a user may expect of a run's settings and does not get: one sentence each, for the screen and for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from townsquare.analysis.contract import Reads
from townsquare.core import registry
from townsquare.core.documents import bundled_labels
from townsquare.core.errors import SettingError
from townsquare.core.files import clean
from townsquare.core.frames import collected
from townsquare.models import fake, faulty
from townsquare.settings.resolve import Settings
from townsquare.simulation.model_calls import asks
from townsquare.simulation.policies import mix

LONGEST = 80  # characters of a name that a file or a user chose


class Facts(NamedTuple):
    """What the notes depend on.

    Attributes
    ----------
    model : str
        ``model.name``.
    asks : bool or None
        Whether a language model is asked; None while that cannot be known.
    policy : str
        ``policy.name``.
    personas : str
        ``population.file``; "" for none.
    reads_personas : bool or None
        Whether a policy reads who people are in words; None while that cannot be known.
    stance_scorer : str
        ``beliefs.stance_scorer``.
    """

    model: str
    asks: bool | None
    policy: str
    personas: str
    reads_personas: bool | None
    stance_scorer: str


def facts_of_settings(settings: Settings) -> Facts:
    """Return the facts of a run that is about to begin."""
    ever = (settings, *(later for _, later in settings.changes))
    reads = any("persona" in mix.reads(at.members["policy"], at.params["policy"]) for at in ever)
    return _facts(settings.plain(), asks=asks(settings), reads_personas=reads)


def facts_of_run(run: Reads) -> Facts:
    """Return the facts of a recorded run, from its settings and rows alone; files and members may be missing."""
    asks = _has_rows(run, "model_calls") if run.last_step > 0 else None
    return _facts(run.settings, asks=asks, reads_personas=_has_rows(run, "personas") if run.last_step >= 0 else None)


def _facts(settings: Mapping[str, Any], *, asks: bool | None, reads_personas: bool | None) -> Facts:
    keys = {"model": "name", "policy": "name", "population": "file", "beliefs": "stance_scorer"}
    words = {section: str(settings.get(section, {}).get(key) or "") for section, key in keys.items()}
    scorer = words["beliefs"] or "declared"
    return Facts(words["model"] or "none", asks, words["policy"], words["population"], reads_personas, scorer)


def _has_rows(run: Reads, table: str) -> bool:
    return not run.lazy(table).head(1).pipe(collected).is_empty()


def setting_notes(facts: Facts) -> list[str]:
    """Return notes on settings without effect, and on tone that is taken for stance."""
    holds = {
        "model": facts.model != "none" and facts.asks is False,
        "personas": facts.personas != "" and facts.reads_personas is False,
        "stance_scorer": measures_tone(facts.stance_scorer),
    }
    return _notes("run_notes", facts, [about for about, it_holds in holds.items() if it_holds])


def unused_settings(arms: Iterable[Settings], given: Iterable[str]) -> list[str]:
    """Return a note on each given setting, a dotted path, that no chosen member of any arm has."""
    text = bundled_labels("run_notes")["unused"]
    return [text.format(setting=".".join(path), section=path[0]) for path in _unused(arms, given)]


def check_varied(arms: Iterable[Settings], varied: Iterable[str]) -> None:
    """Refuse a varied setting that no chosen member of any arm has: its arms would be equal.

    Raises
    ------
    SettingError
        With the setting.
    """
    for section, key in _unused(arms, varied):
        raise SettingError(
            f"--vary {section}.{key}",
            got=f"a setting without effect: no chosen member of `{section}` has it, so its arms would be equal",
            do='choose a member that has it; the page "Settings" of the documentation lists which have it',
        )


def _unused(arms: Iterable[Settings], given: Iterable[str]) -> list[tuple[str, str]]:
    unused = {(section, rest.partition(".")[0]) for section, _, rest in (path.partition(".") for path in given) if rest}
    for arm in arms:
        for settings in (arm, *(later for _, later in arm.changes)):
            unused = {path for path in unused if path[1] in settings.others.get(path[0], ())}
        if not unused:
            return []
    return sorted(unused)


def answer_notes(facts: Facts) -> list[str]:
    """Return notes on the answers that agents and judges got."""
    if not facts.asks or facts.model.partition("/")[0] not in (fake.NAME, faulty.NAME):
        return []
    return _notes("answer_notes", facts, ["model"])


def _notes(section: str, facts: Facts, about: Sequence[str]) -> list[str]:
    names = {name: _short(str(value)) for name, value in facts._asdict().items()}
    return [bundled_labels(section)[name].format(**names) for name in about]


def measures_tone(scorer: str) -> bool:
    """Return whether an installed stance scorer declares that it measures tone."""
    return scorer in registry.names("stance") and registry.get("stance", scorer).measures == "tone"


def _short(name: str) -> str:
    """Return a name on one line without control characters; of a long name, the end."""
    plain = " ".join(clean(name).split())
    return plain if len(plain) <= LONGEST else f"…{plain[1 - LONGEST :]}"
