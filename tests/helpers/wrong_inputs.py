"""Wrong inputs, each with a word that its message must hold: `test_bad_inputs.py` gives them to commands."""

from __future__ import annotations

SCENARIO = """\
name: river
propositions: [{name: dam, text: The dam should be built.}]
sources: [{name: Gazette, credibility: 0.8}]
posts: posts.csv
"""
POSTS = "text,veracity,source,stance:dam\nThe dam is safe.,true,Gazette,0.5\nIt leaks.,false,Gazette,-0.5\n"
EDGES = "follower,followed\n0,1\n1,2\n"
SURVEY = "id,age,gender\np1,30,Female\np2,41,Male\n"
MAPPING = "columns:\n  age: {trait: age}\n  gender: {trait: gender}\n"


def folder(scenario: str = SCENARIO, posts: str | bytes = POSTS, **more: str | bytes) -> dict[str, str | bytes]:
    """The files of a scenario in the folder ``s``; names of more files with ``_`` for the dot."""
    others = {f"s/{name.replace('_', '.', 1)}": content for name, content in more.items()}
    return {"s/scenario.yaml": scenario, "s/posts.csv": posts, **others}


def setting(value: str) -> list[str]:
    return ["run", "synthetic:20", "--agents", "10", "--steps", "1", "--set", value]


Case = tuple[list[str], dict[str, str | bytes], str]
RUN = ["run", "synthetic:20", "--agents", "10", "--steps", "1"]

COMMANDS: list[Case] = [
    (["runn"], {}, "Did you mean"),
    (["experiment"], {}, "experiment"),
    (["Run"], {}, "run"),
    (["personas", "smaple"], {}, "sample"),
    (["run", "--step", "3"], {}, "--step"),
    (["run", "--agents"], {}, "--agents"),
    (["run", "--agents", "1e3"], {}, "1e3"),
    (["run", "--agents", "ten"], {}, "ten"),
    (["run", "--agents", "10", "--agents", "20"], {}, "--agents"),
    (["run", "--steps", "2.5"], {}, "2.5"),
    (["run", "--steps", "99999999999999999999"], {}, "steps"),
    (["run", "--seed", "-7"], {}, "seed"),
    (["run", "--seed", "18446744073709551616"], {}, "seed"),
    (["run", "--seed", "nan"], {}, "nan"),
    (["run", "--seed", ""], {}, "seed"),
    (["run", "--quiet=maybe"], {}, "maybe"),
    (["compare", "--seeds", "-3"], {}, "--seeds"),
    (["compare", "--seeds", "1.5"], {}, "--seeds"),
    (["compare", "--seeds", "5-1"], {}, "--seeds"),
    (["compare", "--seeds", "1,1"], {}, "--seeds"),
    (["compare", "--seeds", "9999999999"], {}, "--seeds"),
    (["compare", "--workers", "many"], {}, "many"),
    (["compare", "--vary", ""], {}, "--vary"),
    (["compare", "--vary", "agents="], {}, "agents"),
    (["compare", "--vary", "agents=10,-1"], {}, "agents"),
    (["compare", "--vary", "moderation.strategy=none,nonesuch"], {}, "nonesuch"),
    (["compare", "--vary", "beliefs.pull=0.1,nan"], {}, "beliefs.pull"),
    (["compare", "--vary", "policy=statistical,statistcal"], {}, "did you mean 'statistical'"),
    (["export", "nowhere"], {}, "--to"),
    (["export", "nowhere", "--to", "csv"], {}, "no such folder"),
    (["export-graph", "nowhere"], {}, "no such folder"),
    (["why", "nowhere", "--agent", "1"], {}, "no such folder"),
    (["report", "a.txt"], {"a.txt": "no run"}, "a.txt"),
    (["inspect", "a.txt"], {"a.txt": "no run"}, "a.txt"),
    (["resume", "a.txt"], {"a.txt": "no run"}, "a.txt"),
    (["check", "golden", "g.jsonl"], {"g.jsonl": "{"}, "g.jsonl"),
    (["check", "golden", "g.jsonl"], {"g.jsonl": b"\xff\xfe\x00"}, "g.jsonl"),
    (["check", "golden", "g.jsonl"], {"g.jsonl": ""}, "g.jsonl"),
    (["check", "golden", "g.jsonl"], {"g.jsonl": "[1]\n"}, "g.jsonl"),
    (["check", "golden", "."], {}, "."),
]

SETTINGS: list[Case] = [
    (setting("=3"), {}, "--set"),
    (setting("agents.steps=3"), {}, "agents"),
    (setting("agents=[3]"), {}, "agents"),
    (setting("agents={a: 1}"), {}, "agents"),
    (setting("agents=.inf"), {}, "agents"),
    (setting("agents=true"), {}, "agents"),
    (setting("steps=~"), {}, "steps"),
    (setting("activation.rate=.nan"), {}, "activation.rate"),
    (setting("activation.rate=.inf"), {}, "activation.rate"),
    (setting("activation.rate=-0.1"), {}, "activation.rate"),
    (setting("activation.rate=[0.5]"), {}, "activation.rate"),
    (setting("beliefs.pull=-.inf"), {}, "beliefs.pull"),
    (setting("beliefs.rule=exposure-bouned"), {}, "did you mean 'exposure-bounded'"),
    (setting("beliefs.rule=[exposure]"), {}, "beliefs.rule"),
    (setting("beliefs.label_weight=0.5"), {}, "beliefs.label_weight"),
    (setting("policy=statistcal"), {}, "did you mean 'statistical'"),
    (setting("feed.ranker=newest"), {}, "feed.ranker"),
    (setting("feed.followed=-1"), {}, "feed.followed"),
    (setting("feed.folowed=3"), {}, "did you mean 'feed.followed'"),
    (setting("graph.kind=barabasi"), {}, "graph.kind"),
    (setting("graph.m=0"), {}, "graph.m"),
    (setting("moderation.posts_per_step=2.5"), {}, "moderation.posts_per_step"),
    (setting("actions.enabled=like"), {}, "actions.enabled"),
    (setting("actions.enabled=[like, likee]"), {}, "actions.enabled"),
    (setting("population.stance={nobody: {mean: 0}}"), {}, "nobody"),
    (setting("population.stance={default: {mean: 7}}"), {}, "mean"),
    (setting("injection.false_share=2"), {}, "injection.false_share"),
    (setting("record.parquet_above=-1"), {}, "record.parquet_above"),
    (setting("a=" + "[" * 4000), {}, "--set a"),
    (setting("seed=1_0_x"), {}, "seed"),
    (setting("feed=\x00"), {}, "feed"),
    ([*RUN, "--set", "steps=0", "--set", "seed=-1", "--set", "agents=x"], {}, "3 settings are wrong"),
    (["run", "c.yaml"], {"c.yaml": "steps: {a: 1}\n"}, "c.yaml, line 1"),
    (["run", "c.yaml"], {"c.yaml": "agents: 10\nstpes: 3\n"}, "c.yaml, line 2"),
    (["run", "c.yaml"], {"c.yaml": "steps: 3\n\tagents: 4\n"}, "c.yaml, line 2"),
    (["run", "c.yaml"], {"c.yaml": "just words\n"}, "a mapping of settings"),
    (["run", "c.yaml"], {"c.yaml": b"\x00\x01\x02\x03"}, "c.yaml"),
    (["run", "c.yaml"], {"c.yaml": "steps: 3\n".encode("utf-16")}, "UTF-8"),
    (["run", "c.yaml"], {"c.yaml": "scenario: nowhere.csv\n"}, "nowhere.csv"),
    (["run", "c.yaml"], {"c.yaml": "scenario: [a]\n"}, "scenario"),
    (["run", "c.yaml"], {"c.yaml": "feed: &a {followed: 3}\nx: *a\n"}, "c.yaml, line 2"),
    (["run", "c.yaml"], {"c.yaml": "a: !!python/name:os.system\n"}, "c.yaml"),
    (["run", "c.json"], {"c.json": '{"steps": 3,'}, "c.json"),
    (["run", "c.json"], {"c.json": '{"steps": NaN}'}, "steps"),
    (["run", "c.json"], {"c.json/x": ""}, "c.json"),
]

SCENARIOS: list[Case] = [
    (["run", "compulsory-votng"], {}, "did you mean 'compulsory-voting'"),
    (["run", "mosaic-man"], {}, "did you mean 'mosaic-main'"),
    (["run", "synthetic:-5"], {}, "synthetic"),
    (["run", "s"], {"s/note.txt": ""}, "scenario.yaml"),
    (["run", "s"], folder(scenario=""), "an empty"),
    (["run", "s"], folder(scenario="name: x\n"), "posts"),
    (["run", "s"], folder(scenario=SCENARIO.replace("posts:", "psts:")), "did you mean 'posts'"),
    (["run", "s"], folder(scenario=SCENARIO.replace("posts.csv", "missing.csv")), "missing.csv"),
    (["run", "s"], folder(scenario=SCENARIO.replace("posts.csv", "../../x.csv")), "a file in the folder"),
    (["run", "s"], folder(scenario=SCENARIO.replace("0.8", "1.8")), "credibility"),
    (["run", "s"], folder(scenario=SCENARIO + "settings: {agents: -1}\n"), "agents"),
    (["run", "s"], folder(scenario=SCENARIO + "settings: {agnts: 10}\n"), "did you mean 'agents'"),
    (["run", "s"], folder(scenario=SCENARIO + "settings: [1]\n"), "settings"),
    (["run", "s"], folder(scenario=SCENARIO + "events: [{step: 1, st: {agents: 3}}]\n"), "event 1 (step 1), st"),
    (["run", "s"], folder(posts=""), "posts.csv"),
    (["run", "s"], folder(posts="text,veracity\n"), "got: no posts"),
    (["run", "s"], folder(posts=POSTS.encode("utf-16")), "UTF-8"),
    (["run", "s"], folder(posts=b"\x89PNG\r\n\x1a\n\x00\x00"), "posts.csv"),
    (["run", "s"], folder(posts=POSTS.encode() + b"caf\xe9,true,Gazette,0\n"), "line 4"),
    (["run", "s"], folder(posts=POSTS.replace("veracity", "text")), "the column 'text' twice"),
    (["run", "s"], folder(posts=POSTS + "x" * 300_000 + ",true,Gazette,0\n"), "posts.csv"),
    (["run", "s"], folder(posts=POSTS.replace("true", "ture")), "did you mean 'true'"),
    (["run", "s"], folder(posts=POSTS.replace("-0.5", "nan")), "stance:dam"),
    (["run", "s"], folder(posts=POSTS.replace("-0.5", "inf")), "stance:dam"),
    (["run", "s"], folder(posts=POSTS.replace("Gazette,-0.5", "Gazette")), "row 2"),
    (["run", "s"], folder(posts=POSTS.replace("It leaks.", '"It leaks.')), "posts.csv"),
    (["run", "p.csv"], {}, "p.csv"),
    (["run", "p.csv"], {"p.csv/x": ""}, "p.csv"),
    (["run", "p.xlsx"], {"p.xlsx": b"PK\x03\x04"}, ".xlsx"),
    (["run", "p.csv"], {"p.csv": "words,label\na,1\n"}, "a column `text`"),
    (["run", "p.jsonl"], {"p.jsonl": '{"text": "a"}\n{"text": }\n'}, "p.jsonl, line 2"),
    (["run", "p.jsonl"], {"p.jsonl": '["text"]\n'}, "p.jsonl, line 1"),
    (["run", "p.yaml"], {"p.yaml": "propositions: 3\nposts: [{text: a}]\n"}, "propositions"),
]

OTHER_FILES: list[Case] = [
    ([*RUN, "--set", "graph.kind=file", "--set", "graph.path=e.csv"], {"e.csv": ""}, "e.csv"),
    ([*RUN, "--set", "graph.kind=file", "--set", "graph.path=e.csv"], {"e.csv": EDGES + "1,99\n"}, "e.csv"),
    ([*RUN, "--set", "graph.kind=file", "--set", "graph.path=e.csv"], {"e.csv": EDGES + "1,x\n"}, "e.csv"),
    ([*RUN, "--set", "graph.kind=file", "--set", "graph.path=e.csv"], {"e.csv": EDGES + "-1,2\n"}, "e.csv"),
    ([*RUN, "--set", "graph.kind=file", "--set", "graph.path=e.csv"], {"e.csv": b"\xff\xfe,\n"}, "e.csv"),
    ([*RUN, "--set", "graph.kind=file", "--set", "graph.path=e.gexf"], {"e.gexf": EDGES}, "e.gexf"),
    ([*RUN, "--set", "graph.kind=file", "--set", "graph.path=e.graphml"], {"e.graphml": "<graph"}, "e.graphml"),
    ([*RUN, "--set", "population.file=p.jsonl"], {"p.jsonl": ""}, "p.jsonl"),
    ([*RUN, "--set", "population.file=p.jsonl"], {"p.jsonl": '{"id": "a", "labels": {"age": 30}}\n'}, "p.jsonl"),
    ([*RUN, "--set", "population.file=p.jsonl"], {"p.jsonl": '{"labels": {"age": "old"}}\n'}, "age"),
    ([*RUN, "--set", "population.file=p.jsonl"], {"p.jsonl": '{"lables": {"age": 3}}\n'}, "lables"),
    ([*RUN, "--set", "population.file=p.jsonl"], {"p.jsonl": '{"id": "a"}\n{"id": "a"}\n'}, "p.jsonl"),
    (["personas", "sample", "--out", "p.jsonl"], {}, "--n"),
    (["personas", "sample", "--n", "0", "--out", "p.jsonl"], {}, "--n"),
    (["personas", "sample", "--n", "5", "--out", "p.jsonl"], {"p.jsonl": "mine"}, "p.jsonl"),
    (["personas", "describe"], {}, "--n"),
    (["personas", "describe", "p.jsonl"], {}, "p.jsonl"),
    (["personas", "from-survey", "a.csv", "--mapping", "m.yaml", "--out", "p.jsonl"], {"a.csv": SURVEY}, "m.yaml"),
    (["personas", "from-survey", "a.csv", "--mapping", "m.yaml", "--out", "p.jsonl"], {"m.yaml": MAPPING}, "a.csv"),
    (["personas", "from-survey", "a.csv", "--mapping", "m.yaml", "--out", "p.jsonl"],
     {"a.csv": SURVEY, "m.yaml": "- 1\n"}, "m.yaml"),
    (["init", "d"], {"d/scenario.yaml": "mine"}, "d"),
    (["init", "f"], {"f": "a file"}, "f"),
    ([*RUN, "--out", "f"], {"f": "a file"}, "f\n  got: a file"),
    ([*RUN, "--out", "f/below"], {"f": "a file"}, "f"),
    ([*RUN, "--set", 'population.file="x\\0y"'], {}, "nothing at"),
    ([*RUN, "--out", "n" * 300], {}, "n" * 50),
    (["compare", "synthetic:20", "--seeds", "1", "--out", "f"], {"f": "a file"}, "f"),
]  # fmt: skip

CASES = [*COMMANDS, *SETTINGS, *SCENARIOS, *OTHER_FILES]
