"""What ``benchmarks/peers.md`` says in words."""

from __future__ import annotations

HEAD = """# Townsquare beside its peers

Written by `make bench-peers`, which first installs the peers into `.venv-peers` (`make peers`). Everything runs on one
machine, each figure in a process of its own, one after the other in one run: read ratios, not single times.
"""

HOW = """## How it was measured

- **Same model, checked.** Both opinion models run on one graph (preferential attachment, 10 follows an agent, made
  symmetric, so about 20 read per agent), from the same starts, everyone at once. After the last measured step the
  stances of each form are compared, at the size that was measured, with an independent loop over the same graph. The
  column *difference* is the largest, and the run fails above 1e-12. `tests/system/program/test_peers.py` does it on a
  small graph.
- **Warm.** Imports, compilation and two steps of a circle of 60 agents come first and are in no time given. Set-up
  (the graph into the form's own objects, accounts) is timed apart. A cell takes 10 steps (4 on the platform), or fewer
  once {seconds} s have passed; the median step counts.
- **Threads.** Mesa, NDlib, NumPy, the loops and camel-oasis use one, mesa-frames all that there are. Townsquare is
  given with one thread and with all, so that each has its like. Below 5,000 agents it uses one thread by itself.
- **Limit.** Set-up and steps of a cell get {limit} s and 12 GiB; where a smaller size foretells more,
  the larger is not run. Memory is the peak of the whole process, the libraries that it imports included.
"""

ABOUT = {
    "exposure": """\
The rule of SimSwarm's page with trust and novelty of any pair, 25 exposures an agent and step from 4,000 posts. *As
published* copies an agent's state at every update; *in place* is the same loop without copies. Ours also writes a row
of trail for every exposure. Differences are to the loop, over the first 1,000 agents.
""",
    "bounded_confidence": """\
An agent moves to the mean of those it reads who stand within 0.4 of it, all at once. Ours takes each of them as an
exposure and writes a row of trail for it, which says what moved whom; no other form here leaves a record.

NDlib's `HKModel` says something else: in version 6.0.1 an iteration looks at n nodes drawn with repeats and writes the
new opinion of the last of them alone (the assignment stands after the loop), so that at most one agent moves. Its row
counts the n that it looks at. Said as a rule of NDlib's `ContinuousModel`, the model is the same as ours.
""",
    "averaging": """\
An agent moves to a tenth of its start and nine tenths of the mean of those it reads, all at once: NDlib's `FJModel`
with its default stubbornness, our `averaging` with `weight_on_others` 1 and `stubbornness` 0.1.
""",
    "platform": """\
Every agent reads its feed (up to 15 posts of followed accounts and 10 others) and likes a post each step, posts every
fifth step and follows someone every twentieth; nobody's belief moves and no language model is asked. Two steps come
first that are not measured, so that there is something to read.

In camel-oasis a like goes to a post of the step before, recommendations are random (its other ways need an embedding
model, or give everybody one list), and its log is off. `env.step` with `ManualAction` is its documented way, here with
camel's stub model; *called directly* is the same `Platform` without agents and without the channel between them, the
most that it can do. It commits every statement to SQLite, without syncing; Townsquare commits, syncs and hashes a step
at a time, and writes bulky tables as Parquet in runs of over a million rows: below, at 100 and 1,000 agents, the two
forms of Townsquare are the same run.
""",
}

FEW = "A step costs us some tenths of a millisecond of set-up, however few agents there are."
NO_TRAIL = "It keeps the stances and nothing of why they moved; ours writes a row of trail for each exposure"
WHY = {
    "numpy": NO_TRAIL + "{trail}. It also has no set-up to speak of, which decides at few agents.",
    "frames": NO_TRAIL + "{trail}.",
    "mesa": FEW,
    "ndlib": FEW,
    "ndlib_hk": "It moves one agent an iteration.",
    "in_place": FEW,
    "page": FEW,
    "direct": "A step costs us some milliseconds of committing, syncing and hashing, however few agents there are.",
    "sqlite": "While there are few rows, both are the same run: the difference is chance.",
}

LEFT_OUT = """## What is not compared

- **Deffuant's model.** NDlib's `AlgorithmicBias` with gamma 0, and Mesa if written so, let pairs meet one after
  the other, and both move; in Townsquare agents read feeds and move at once. No figure would be of the same thing.
- **A million agents on the platform** are in [the benchmarks of whole runs](README.md), without a peer: camel-oasis
  does not get there within the limit.
- **Language models.** A call costs what its server takes: see [the client](README.md#the-client-of-language-models).
- **Other versions.** The package index has mesa-frames 0.1.0a0 alone; the versions of all are pinned in
  `pyproject.toml` (group `peers`) and beside this page in `peers/*.txt`, each with why it stands apart.
"""
