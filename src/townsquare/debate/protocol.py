"""What recorded debates say of themselves, for the questions of ODD+D and for the PIMMUR checklist."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import polars as pl

from townsquare.core import registry
from townsquare.core.documents import bundled_labels
from townsquare.core.frames import collected
from townsquare.core.text_table import Table, table
from townsquare.core.words import count, listed, number, signed_three, significant
from townsquare.debate import trial
from townsquare.debate.contract import ActiveRecord, Claim, Side, Turn
from townsquare.debate.resolve import FAMILIES, MEMBERS, at_path
from townsquare.debate.results import DebateArm, DebateResults
from townsquare.debate.settings import DECLARED, Debates
from townsquare.experiments.protocol.document import Block, Study, prose, quoted
from townsquare.experiments.protocol.settings_used import SettingUsed, StudyFacts, arms_table, settings_used
from townsquare.models.contract import Call
from townsquare.models.store import recorded_calls

_ATTRIBUTE = re.compile(r"^(\w[\w, ]*) : (.+)\n((?:    .+\n?)+)", re.MULTILINE)


class DebateFacts(StudyFacts):
    """Values and blocks of debates; settings are those of the first arm."""

    placed = ("speaker", "start")
    families = FAMILIES

    def __init__(self, results: DebateResults) -> None:
        self.results = results
        self.arm: DebateArm = results.arms[0]
        self.plain: Mapping[str, Any] = self.arm.settings
        self.records = [(arm, record) for arm in results.arms for record in results.records(arm)]

    def study(self) -> Study:
        """Return what answers the questions."""
        return Study("debate", self.values, self.blocks)

    @property
    def title(self) -> str:
        """The propositions that are debated."""
        return quoted("; ".join(dict.fromkeys(arm.statement for arm in self.results.arms)))

    @cached_property
    def members(self) -> dict[str, str]:
        """Name of the member of each role that the debates use."""
        roles = {role: str(at_path(self.plain, path)["name"]) for role, path in MEMBERS.items()}
        if self.plain["opponent"] == "agent":
            del roles["scripted"]
        extractor = self.plain["evidence"]["extractor"]
        return roles if extractor == DECLARED else {**roles, "extractor": extractor}

    @cached_property
    def used(self) -> list[SettingUsed]:
        """Every setting in force."""
        whole = Debates.model_json_schema()
        without = {"scripted"} - self.members.keys() | (set() if self._model else {"model", "serving"})
        shown = {name: piece for name, piece in whole["properties"].items() if name not in without}
        rows = [entry for entry in settings_used(whole, shown, self.plain, ()) if not entry.path.endswith(".params")]
        for role, path in MEMBERS.items():
            if role in self.members:
                schema = registry.get(FAMILIES.get(role, role), self.members[role]).params.model_json_schema()
                values = at_path(self.plain, path)["params"]
                rows += settings_used(schema, schema.get("properties", {}), values, (), (*path, "params"))
        return rows

    @property
    def _model(self) -> str:
        name = str(self.plain["model"]["name"])
        return "" if name == "none" else quoted(name)

    @cached_property
    def _tables(self) -> pl.SQLContext[pl.LazyFrame]:
        """The record as tables for queries: ``turns``, ``moves`` with their speaker, and ``agents``."""
        agents = [
            (arm.name, record["trial"], side, *(agent[name] for name in ("uptake", "anchoring", "attained", "persona")))
            for arm, record in self.records
            for side, agent in record["agents"].items()
        ]
        names = ["arm", "trial", "agent", "uptake", "anchoring", "attained", "persona"]
        frame = pl.DataFrame(agents, schema=names, orient="row", infer_schema_length=None)
        turns = self.results.turns()
        retrieved = [len(turn["retrieved"]) for _, record in self.records for turn in record["turns"]]
        speakers = turns.select("arm", "trial", "turn", "speaker")
        moves = self.results.moves().join(speakers, on=["arm", "trial", "turn"], maintain_order="left")
        with_retrieved = turns.with_columns(pl.Series("retrieved", retrieved, pl.Int64))
        return pl.SQLContext(turns=with_retrieved, moves=moves, agents=frame)

    def n(self, query: str) -> int:
        """Return the number that a query over ``turns``, ``moves`` and ``agents`` gives."""
        return int(self._query(query).item() or 0)

    def _query(self, query: str) -> pl.DataFrame:
        return collected(self._tables.execute(query))

    @cached_property
    def calls(self) -> list[Call]:
        """The recorded calls of language models."""
        return recorded_calls(self.results.folder)

    @cached_property
    def values(self) -> dict[str, str]:
        """What fills the sentences, and which conditions hold."""
        arms, plain = self.results.arms, self.plain
        accepted = "SELECT COUNT(*) AS n FROM moves WHERE kind = 'accepted' AND agent <> speaker"
        is_pair, extractor = plain["opponent"] == "agent", self.members.get("extractor")
        return {
            **self.counted,
            "statement": listed([f"“{quoted(text)}”" for text in dict.fromkeys(arm.statement for arm in arms)]),
            "sweep": "yes" if len(arms) > 1 else "",
            "arms": count(len(arms), "arm"),
            "varied": listed([f"`{key}`" for key in dict.fromkeys(key for arm in arms for key in arm.changes)]),
            "sides": "two agents, pro and con" if is_pair else "one agent, pro, and a scripted opponent, con",
            "scripted": "" if is_pair else "yes",
            "trials": count(len(self.records), "debate"),
            "turns": count(self.n("SELECT COUNT(*) AS n FROM turns"), "message"),
            "claims": count(sum(len(turn["claims"]) for _, of in self.records for turn in of["turns"]), "claim"),
            "moves": count(self.n("SELECT COUNT(*) AS n FROM moves"), "change"),
            "accepted": count(self.n(accepted), "claim"),
            "rounds": count(int(plain["rounds"]), "round"),
            "first": str(plain["first"]),
            "dialogue": count(int(plain["dialogue"]), "message"),
            "retrieved": count(int(plain["evidence"]["retrieved"]), "record"),
            "extractor": f"found by `{extractor}`" if extractor else "declared by the speaker",
            "speaker": self.members["speaker"], "debater": self.members["debater"], "judge": self.members["judge"],
            "model": self._model,
            "calls": count(len(self.calls), "call"),
            "topic": quoted(str(plain["topic"]).replace("\\", "/").rpartition("/")[2]),
            "seed_list": listed(list(dict.fromkeys(str(arm.settings["seed"]) for arm in arms))),
            "version": str(self.records[0][1]["version"]) if self.records else "",
        }  # fmt: skip

    def blocks(self, name: str) -> Sequence[Block]:
        """Return the tables and descriptions of a name."""
        kind, _, of = name.partition(":")
        made: Mapping[str, Callable[[], Sequence[Block]]] = {
            "state": self._state, "profiles": self._profiles, "loop": lambda: prose(trial.__doc__ or ""),
            "basis": self.basis, "outcomes": self._outcomes, "hashes": self._hashes, "members": self._members,
            "other_settings": self.other_settings, "doc": partial(self.doc, of),
            "settings": partial(self.section, of),
        }  # fmt: skip
        return made[kind]()

    def _state(self) -> Sequence[Block]:
        described = [block for thing in (Claim, ActiveRecord) for block in prose(inspect.getdoc(thing) or "")]
        return [_attributes(Side), _attributes(Turn), *described]

    def _profiles(self) -> Sequence[Block]:
        query = (
            "SELECT arm, agent, COUNT(*) AS trials, AVG(uptake) AS uptake, AVG(anchoring) AS anchoring, "
            "AVG(attained) AS attained, MIN(attained) AS low, MAX(attained) AS high FROM agents "
            "GROUP BY arm, agent ORDER BY arm, agent DESC"
        )
        rows = [(quoted(arm), *rest) for arm, *rest in self._query(query).rows()]
        stances = (signed_three, "mean initial stance", "smallest", "largest")
        heads = ((str, "arm", "agent"), (number, "debates"), (significant, "uptake", "anchoring"), stances)
        return [table("Agents at the start", rows, *heads)]

    def other_settings(self) -> Sequence[Block]:
        """Return the settings of the arms too."""
        return [*arms_table(self.results.arms), *super().other_settings()]

    def _members(self) -> Sequence[Block]:
        return [block for role in self.members if role not in ("debater", "speaker") for block in self.doc(role)]

    def _outcomes(self) -> Sequence[Block]:
        titles = bundled_labels("debate_measures")
        measured = self.results.measures_frame().rows()
        rows = [(quoted(arm), stance, titles.get(name, name), *rest) for arm, stance, name, *rest in measured]
        heads = ((str, "arm", "stance", "measure"), (signed_three, "mean", "95% low", "95% high"), (number, "debates"))
        return [table("Measures over trials", rows, *heads)]

    def _hashes(self) -> Sequence[Block]:
        rows = [(quoted(arm.name), str(record["trial"]), f"`{record['hash']}`", f"`{record['digest']}`")
                for arm, record in self.records]  # fmt: skip
        return [table("Hashes (SHA-256)", rows, (str, "arm", "trial", "content", "settings and arguments"))]


def _attributes(kind: type) -> Table:
    """Return the attributes that a docstring describes."""
    doc = inspect.getdoc(kind) or ""
    rows = [(f"`{name}`", of, " ".join(words.split())) for name, of, words in _ATTRIBUTE.findall(doc)]
    return table(doc.partition("\n")[0].replace("``", "`"), rows, (str, "variable", "type", "meaning"))
