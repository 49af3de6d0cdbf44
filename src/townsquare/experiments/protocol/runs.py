"""What a recorded run or comparison says of itself, for the questions of ODD+D."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from townsquare.analysis.outcomes import describe as described_outcome
from townsquare.analysis.outcomes import outcome_table
from townsquare.core import schema
from townsquare.core.actions import WORDS
from townsquare.core.documents import bundled_labels
from townsquare.core.draws import Stage
from townsquare.core.enums import AgentKind
from townsquare.core.errors import TownsquareError
from townsquare.core.text_table import Table, table
from townsquare.core.words import count, listed, number, percent, significant
from townsquare.experiments.manifest import Experiment
from townsquare.experiments.protocol.document import Block, Code, Study, quoted
from townsquare.experiments.protocol.settings_used import (
    SettingUsed,
    StudyFacts,
    arms_table,
    settings_used,
    shown_value,
)
from townsquare.models.contract import member_asks
from townsquare.record.code_book import code_book
from townsquare.record.run import Run
from townsquare.settings.resolve import Settings, json_schema, resolve
from townsquare.settings.schema import SECTIONS, follow
from townsquare.simulation.model_calls import asks, remembers
from townsquare.simulation.scenario_copy import recorded_scenario
from townsquare.simulation.step import allowed_kinds

ENTITIES = (
    "agents", "traits", "personas", "profiles", "treatments", "propositions", "beliefs", "veracities", "follows",
    "posts", "post_stances", "notes", "note_ratings", "claims", "holdings", "agent_memories",
)  # fmt: skip
"""Tables that hold the state of entities; the others record what happened."""
SCHEDULE: Mapping[str, Mapping[str, str]] = bundled_labels("stages_of_a_step")
"""The stages of :func:`townsquare.simulation.step.step` in their order, by the name of the function."""
DRAWS: Mapping[str, str] = bundled_labels("draws_of_stages")
_EVIDENCE = ("extractor", "embedder", "strength")


class RunFacts(StudyFacts):
    """Values and blocks of a run, or of the first run of a comparison with the hashes of all."""

    placed = ("policy", "feed", "population", "graph")

    def __init__(self, recorded: Run | Experiment) -> None:
        self.recorded = recorded
        if isinstance(recorded, Experiment):
            self.labels = [(f"{run.arm}, seed {run.seed}", run.folder) for run in recorded.finished]
            self.runs = [Run.open(recorded.folder / folder) for _, folder in self.labels]
        else:
            self.labels, self.runs = [("", "")], [recorded]
        self.run = self.runs[0]
        self.plain = self.run.settings
        self.settings: Settings = resolve(self.plain)
        self.config = self.settings.config

    def study(self) -> Study:
        """Return what answers the questions."""
        return Study("run", self.values, self.blocks)

    def n(self, query: str) -> int:
        """Return the number that a query gives."""
        return int(self.run.sql(query).item() or 0)

    def total(self, query: str) -> int:
        """Return the number that a query gives, summed over all runs."""
        return sum(int(run.sql(query).item() or 0) for run in self.runs)

    @cached_property
    def title(self) -> str:
        """The title of the scenario."""
        return quoted(self.scenario.title if self.scenario else str(self.config.scenario).rpartition("/")[2])

    @cached_property
    def scenario(self) -> Any:
        """The scenario; None where it is gone."""
        try:
            return recorded_scenario(self.settings, self.run.folder)
        except TownsquareError:
            return None

    @cached_property
    def members(self) -> dict[str, str]:
        """Name of each chosen member that the run uses, by family."""
        chosen = {family: str(self.plain[section][key]) for family, (section, key) in SECTIONS.items()}
        unused = [] if self.uses_records else list(_EVIDENCE)
        if not getattr(self.settings.members["moderation"], "scores_notes", False) and not self.run.counts["notes"]:
            unused.append("note_scorer")
        used = {family: name for family, name in chosen.items() if family not in unused}
        scorer = self.config.beliefs.stance_scorer
        return used if scorer == "declared" else {**used, "stance": scorer}

    @property
    def uses_records(self) -> bool:
        """Whether the belief rule reads argument records."""
        return "holdings" in self.settings.members["beliefs"].needs

    @cached_property
    def used(self) -> list[SettingUsed]:
        """Every setting in force."""
        whole = json_schema()
        sections = {name: follow(whole, piece) for name, piece in whole["properties"].items()}
        skipped = {"extractor": "evidence", "embedder": "embedder", "strength": "strength"}
        without = {section for family, section in skipped.items() if family not in self.members}
        without |= set() if asks(self.settings) else {"model", "serving", "budget"}
        shown = {name: piece for name, piece in sections.items() if name not in without}
        given = self.scenario.settings if self.scenario else {}
        return list(settings_used(whole, shown, self.plain, set(self.members.values()), given=given))

    @cached_property
    def values(self) -> dict[str, str]:
        """What fills the sentences, and which conditions hold."""
        config, counts, policy = self.config, self.run.counts, self.settings.members["policy"]
        persons = self.n(f"SELECT COUNT(*) AS n FROM agents WHERE kind = {int(AgentKind.PERSON)} AND born = 0")
        sources = self.n(f"SELECT COUNT(*) AS n FROM agents WHERE kind = {int(AgentKind.SOURCE)}")
        changes = "(SELECT DISTINCT step, agent FROM trail WHERE step > 0) AS c"
        shown = self.n("SELECT COUNT(*) AS n FROM exposures")
        others = self.n("SELECT COUNT(*) AS n FROM exposures WHERE slot = 1")
        asked = asks(self.settings)
        return {
            **self._of_comparison(),
            **self._of_time(),
            **self.counted,
            "injected": count(self.n("SELECT COUNT(*) AS n FROM ts_posts WHERE kind = 3"), "injected post"),
            "sources": f"{count(sources, 'source account')} that publish them",
            "source_accounts": count(sources, "source account"),
            "persons": count(persons, "person", "persons"),
            "moderation": config.moderation.strategy,
            "moderated": _flag(config.moderation.strategy != "none"),
            "desk": _flag(config.moderation.strategy in ("desk", "third_party", "hybrid")),
            "contributors": _flag(getattr(self.settings.params["moderation"], "contributors", 0) > 0),
            "records": _flag(self.uses_records),
            "events": _flag(config.events), "treatments": _flag(config.treatments),
            "growth": count(config.growth.max_per_step, "person", "persons") if config.growth.max_per_step else "",
            "graph": config.graph.kind,
            "communities": _flag(config.graph.kind in ("communities", "block")),
            "follows": count(self.n("SELECT COUNT(*) AS n FROM ts_follows WHERE step = 0"), "follow"),
            "follow_changes": count(self.n("SELECT COUNT(*) AS n FROM ts_follows WHERE step > 0"), "change"),
            "survey": quoted(config.population.file) if config.population.file else "",
            "actions": listed([f"`{WORDS[kind]}`" for kind in sorted(allowed_kinds(self.settings, 1))]),
            "policy": config.policy.name, "rule": config.beliefs.rule, "ranker": config.feed.ranker,
            "model": quoted(config.model.name) if member_asks(policy, self.settings.params["policy"]) else "",
            "asks_model": _flag(asked),
            "calls": count(counts["model_calls"], "call"),
            "changes": count(self.n(f"SELECT COUNT(*) AS n FROM {changes}"), "person-step"),
            "movers": count(self.n("SELECT COUNT(DISTINCT agent) AS n FROM trail WHERE step > 0"), "person", "persons"),
            "memory": _flag(remembers(self.settings)),
            "memories": count(counts["agent_memories"], "memory", "memories"),
            "accesses": number(counts["memory_accesses"]),
            "trust": _flag("authors" in self.settings.members["beliefs"].needs or "trust" in json.dumps(
                self.plain["beliefs"])),
            "grouped": _flag("groups" in self.settings.members["beliefs"].needs),
            "exposures": count(shown, "exposure"),
            "from_others": percent(others / shown if shown else None),
            "from_persons": number(self.n(
                "SELECT COUNT(*) AS n FROM exposures JOIN agents ON exposures.author = agents.agent "
                "WHERE agents.kind = 0")),
            "feed_error": shown_value(config.feed.error) if config.feed.error else "",
            "followed": count(config.feed.followed, "row"), "others": number(config.feed.others),
            "depth": f"{config.feed.depth_mean:g}" if config.feed.depth_mean else "",
            "scorer": config.beliefs.stance_scorer,
            "with_traits": number(self.n(
                "SELECT COUNT(DISTINCT traits.agent) AS n FROM traits JOIN agents ON traits.agent = agents.agent "
                "WHERE agents.born = 0")),
            "distinct_activity": number(self.n(
                "SELECT COUNT(DISTINCT activity) AS n FROM agents WHERE kind = 0 AND born = 0")),
            "distinct_stances": number(self.n("SELECT COUNT(DISTINCT stance) AS n FROM beliefs WHERE step = 0")),
            "mix": _flag(config.policy.name == "mix"),
            "profiles": _flag(counts["profiles"]),
            "beliefs": count(self.n("SELECT COUNT(*) AS n FROM beliefs WHERE step = 0"), "belief"),
            "version": self.run.version,
            "scenario_digest": f"`{self.settings.scenario_digest}`",
        }  # fmt: skip

    def _of_comparison(self) -> dict[str, str]:
        if not isinstance(self.recorded, Experiment):
            return {"comparison": "", "primary": "", "seed_list": str(self.config.seed)}
        study = self.recorded
        primary = ""
        if study.primary:
            what = described_outcome(study.primary)
            primary = f"{what.title} (`{study.primary}`): {what.definition}"
        varied = listed([f"`{key}`" for key in study.vary])
        return {
            "comparison": "yes", "arms": count(len(study.arms), "arm"), "seeds": count(len(study.seeds), "seed"),
            "varied": f"Arms differ in {varied}; the first, `{study.baseline}`, is the baseline." if varied else "",
            "primary": primary, "seed_list": ", ".join(map(str, study.seeds)),
        }  # fmt: skip

    def _of_time(self) -> dict[str, str]:
        time, activation = self.config.time, self.config.activation
        met = self.total("SELECT COUNT(*) AS n FROM veracities WHERE repetition > 0")
        return {
            "steps": count(self.run.last_step, "step"),
            "confidence": _flag(self.total("SELECT COUNT(DISTINCT confidence) - 1 AS n FROM beliefs")),
            "claims_met": count(met, "judgment") if met else "",
            "timed": _flag(time.step_minutes), "step_minutes": str(time.step_minutes or ""),
            "days": f"{self.run.last_step * time.step_hours / 24:.3g}", "warm_up": f"{time.warm_up_hours:g}",
            "days_per_step": f"{self.config.memory.days_per_step:g}",
            "batches": "one batch" if activation.batches == 1 else f"{activation.batches} batches in turn",
            "sessions": f"{activation.sessions_per_day:g}", "rate": f"{activation.rate:g}",
        }  # fmt: skip

    def blocks(self, name: str) -> Sequence[Block]:
        """Return the tables and descriptions of a name."""
        kind, _, of = name.partition(":")
        made: Mapping[str, Callable[[], Sequence[Block]]] = {
            "scenario": self._scenario, "entities": self._entities, "schedule": self._schedule, "basis": self.basis,
            "state": lambda: [columns_table("State variables", self._present(ENTITIES))],
            "sensed": lambda: [columns_table("What a row of a feed shows", ("exposures",))],
            "events": lambda: [Code(_as_json(self.plain["events"]))],
            "treatments": lambda: [Code(_as_json(self.plain["treatments"]))],
            "actions": self._actions, "traits": self._traits, "stages": self._stages, "recorded": self._recorded,
            "outcomes": self._outcomes, "hashes": self._hashes, "start": self._start, "files": self._files,
            "members": self._members, "other_settings": self.other_settings,
            "doc": partial(self.doc, of), "settings": partial(self.section, of),
        }  # fmt: skip
        return made[kind]()

    def _scenario(self) -> Sequence[Block]:
        if self.scenario is None:
            return [f"The scenario {self.title} is gone; its name and digest are recorded."]
        texts = [quoted(text) for text in (self.scenario.title, self.scenario.description) if text]
        named = self.run.table("propositions").select("name", "text").rows()
        propositions = [(f"`{quoted(name)}`", quoted(text)) for name, text in named]
        stated = table("Propositions: what beliefs are about", propositions, (str, "name", "statement"))
        return [". ".join(text.rstrip(".") for text in texts) + ".", *([stated] if propositions else [])]

    def _present(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.run.counts[name]]

    def _entities(self) -> Sequence[Block]:
        rows = [(name, self.run.counts[name], schema.TABLES[name].meaning) for name in self._present(ENTITIES)]
        return [table("Entities, and rows of the record", rows, (str, "table"), (number, "rows"), (str, "meaning"))]

    def _schedule(self) -> Sequence[Block]:
        rows = [
            (stage["who"], f"`{name}`", stage["what"], self._deciding(stage.get("decides", "")))
            for name, stage in SCHEDULE.items()
            if "when" not in stage or self.values[stage["when"]]
        ]
        heads = (str, "order", "who", "stage", "what it does", "decided by")
        return [table("Stages of a step", [(str(at), *row) for at, row in enumerate(rows, 1)], heads)]

    def _deciding(self, family: str) -> str:
        """Return the member of a family that decides in a stage, with the first sentence of its description."""
        if family not in self.members:
            return ""
        name = self.members[family]
        first = next((block for block in self.doc(family)[1:] if isinstance(block, str)), "")
        words = first.removeprefix(f"`{name}`: ")
        return f"{family} `{name}`: {words}"

    def other_settings(self) -> Sequence[Block]:
        """Return the settings of the arms of a comparison too."""
        arms = self.recorded.arms if isinstance(self.recorded, Experiment) else ()
        return [*arms_table(arms), *super().other_settings()]

    def _members(self) -> Sequence[Block]:
        shown = {"beliefs", "graph", "ranker", "policy"}
        others = [block for family in self.members if family not in shown for block in self.doc(family)]
        above = [f"{family} `{name}`" for family, name in self.members.items() if family in shown]
        return [f"Described above: {listed(above)}.", *others]

    def _actions(self) -> Sequence[Block]:
        query = "SELECT kind, status, COUNT(*) AS n FROM actions GROUP BY kind, status"
        done: dict[int, list[int]] = {}
        for kind, status, n in self.run.sql(query).rows():
            done.setdefault(kind, [0, 0])[0 if status == 0 else 1] = n
        words = {int(kind): word for kind, word in WORDS.items()}
        rows = [(f"`{words.get(kind, kind)}`", *done[kind]) for kind in sorted(done)]
        return [table("Recorded actions", rows, (str, "action"), (number, "accepted", "refused"))] if rows else []

    def _traits(self) -> Sequence[Block]:
        query = "SELECT label, COUNT(DISTINCT answer) AS n FROM trait_values GROUP BY label ORDER BY MIN(trait)"
        rows = [(quoted(label), n) for label, n in self.run.sql(query).rows()]
        return [table("Traits and their answers", rows, (str, "trait"), (number, "answers"))] if rows else []

    def _stages(self) -> Sequence[Block]:
        rows = [(stage.name.lower(), DRAWS[stage.name]) for stage in Stage if stage is not Stage.DEBATE]
        return [table("What is drawn", rows, (str, "stage", "draws"))]

    def _recorded(self) -> Sequence[Block]:
        rows = [(name, n, schema.TABLES[name].meaning) for name, n in self.run.counts.items() if n]
        return [table("Recorded tables", rows, (str, "table"), (number, "rows"), (str, "meaning"))]

    def _outcomes(self) -> Sequence[Block]:
        caption = "Outcomes of this run"
        if isinstance(self.recorded, Experiment):
            caption = f"Outcomes of the run {self.labels[0][0]}; the report compares arms"
        words = (str, "title=title", "unit", "direction", "definition")
        return [table(caption, outcome_table(self.run), words[:2], (significant, "value"), (str, *words[2:]))]

    def _hashes(self) -> Sequence[Block]:
        rows = [
            (label or "run", f"`{run.content_hash}`", f"`{run.header.settings_hash}`", str(run.header.record_version))
            for (label, _), run in zip(self.labels, self.runs, strict=True)
        ]
        return [table("Hashes (SHA-256)", rows, (str, "run", "content", "settings", "version of the record"))]

    def _start(self) -> Sequence[Block]:
        query = (
            "SELECT proposition, COUNT(*) AS n, AVG(stance) AS mean, MIN(stance) AS low, MAX(stance) AS high, "
            "AVG(confidence) AS confidence FROM beliefs WHERE step = 0 GROUP BY proposition ORDER BY proposition"
        )
        names = [quoted(name) for name in self.run.table("propositions")["name"]]
        rows = [(f"`{names[row[0]]}`", *row[1:]) for row in self.run.sql(query).rows()]
        stances = (significant, "mean stance", "smallest", "largest", "mean confidence")
        caption = "Initial beliefs by proposition"
        return [table(caption, rows, (str, "proposition"), (number, "persons"), stances)] if rows else []

    def _files(self) -> Sequence[Block]:
        rows = [(quoted(path), f"`{digest}`") for path, digest in self.settings.file_contents.items()]
        return [table("Files that settings name", rows, (str, "file", "SHA-256"))] if rows else []


def _flag(holds: object) -> str:
    return "yes" if holds else ""


def _as_json(value: object) -> str:
    return quoted(json.dumps(value, ensure_ascii=False, default=str))


def columns_table(caption: str, tables: Sequence[str]) -> Table:
    """Return the recorded columns of tables: type, unit, codes, meaning."""
    book = code_book(tuple(tables)).select("table", "column", "type", "unit", "codes", "meaning")
    rows = [tuple(cell or "" for cell in row) for row in book.rows()]
    return table(caption, rows, (str, "table", "column", "type", "unit", "codes", "meaning"))
