"""What ``benchmarks/peers.md`` says in words."""

from __future__ import annotations

HEAD = """# Townsquare compared with OASIS, Mesa and NDlib

Written by `make bench-peers`, which first installs these tools (the peers) into `.venv-peers` (`make peers`).
Everything runs on one machine. Each figure comes from a separate process, one process at a time: rely on ratios, not
on single times.
"""

HOW = """## How it was measured

- **Same model, checked.** Both opinion models run on one graph (preferential attachment, 10 follows an agent, made
  symmetric, so an agent reads about 20 others), from the same initial stances, and all agents change at once. After
  the last measured step the stances of each form are compared, at the size that was measured, with an independent
  loop over the same graph. The column *difference* is the largest difference between the stances, and the run fails
  above 1e-12. `tests/system/program/test_peers.py` makes the same comparison on a small graph.
- **Warm.** Imports, compilation and two steps of a circle of 60 agents come first and are not part of any time. Set-up
  (building the objects of a form from the graph, accounts) is timed separately. A cell takes 10 steps (4 on the
  platform), or fewer once {seconds} s have passed; the median step counts.
- **Threads.** Mesa, NDlib, NumPy, the loops and camel-oasis use one thread, mesa-frames uses all. Townsquare is
  shown with one thread and with all threads, so that each tool has a counterpart with as many threads. Below 5,000
  agents, Townsquare always uses one thread.
- **Limit.** Set-up and steps of a cell get {limit} s and 12 GiB. If a smaller size shows that a
  larger one would exceed this, the larger one is not run. Memory is the peak of the whole process, with its libraries.
"""

ABOUT = {
    "exposure": """\
The rule of SimSwarm's page with trust for every pair of agent and author, novelty for every pair of agent and root, and
25 exposures per agent and step from 4,000 posts. *As published* copies an agent's state at every update; *in place* is
the same loop without copies. Townsquare also writes a row of the trail (the table of causes) for every exposure. The
column *difference* compares with the loop, over the first 1,000 agents.
""",
    "bounded_confidence": """\
All agents at once move to the mean stance of the accounts that they read, counting only stances within 0.4 of their
own. Townsquare treats each of these stances as an exposure and records its contribution in the trail; no other form
here records causes.

NDlib's `HKModel` is a different model. In version 6.0.1, an iteration visits n nodes drawn with replacement and stores
the new opinion of the last node only (the assignment is after the loop), so at most one agent moves. Its row in the
table counts the n visited nodes. Written as a rule of NDlib's `ContinuousModel`, the model equals Townsquare's.
""",
    "averaging": """\
All agents at once move to one tenth of their initial stance plus nine tenths of the mean stance of the accounts that
they read. This is NDlib's `FJModel` with its default stubbornness, and Townsquare's `averaging` with
`weight_on_others` 1 and `stubbornness` 0.1.
""",
    "platform": """\
Every agent reads its feed (up to 15 posts of followed accounts and 10 others) and likes a post each step, posts every
fifth step and follows someone every twentieth; beliefs do not change, and no language model is called. Two
steps come first and are not measured, so that feeds are not empty.

In camel-oasis a like goes to a post of the step before, recommendations are random (its other recommenders need an
embedding model, or show everybody the same list), and its log is off. `env.step` with `ManualAction` is its
documented way, here with camel's stub model; *called directly* is the same `Platform` without agents and without the
channel between them, an upper limit for the speed of camel-oasis. It commits every statement to SQLite, without
syncing; Townsquare commits, syncs and hashes a step at a time, and writes bulky tables as Parquet in runs of over a
million rows: below, at 100 and 1,000 agents, the two forms of Townsquare are the same run.
""",
}

FEW = "A step of Townsquare has a fixed cost of some tenths of a millisecond, even with few agents."
NO_TRAIL = (
    "The other form keeps the stances but not the causes of changes; Townsquare writes a row of the trail for each "
    "exposure"
)
WHY = {
    "numpy": NO_TRAIL + "{trail}. The other form also has almost no fixed cost, which matters with few agents.",
    "frames": NO_TRAIL + "{trail}.",
    "mesa": FEW,
    "ndlib": FEW,
    "ndlib_hk": "It moves one agent per iteration.",
    "in_place": FEW,
    "page": FEW,
    "direct": "A step of Townsquare takes some milliseconds to commit, sync and hash, even with few agents.",
    "sqlite": "With few rows, both are the same run: the difference is noise.",
}

LEFT_OUT = """## What is not compared

- **Deffuant's model.** NDlib's `AlgorithmicBias` with gamma 0, and Mesa with a suitable script, let pairs of agents
  meet one after the other, and both change. In Townsquare, agents read feeds and change at once. The models differ, so
  their times are not comparable.
- **A million agents on the platform** are in [the benchmarks of whole runs](README.md), for Townsquare only:
  camel-oasis does not reach this size within the limit.
- **Language models.** A call costs what its server takes: see [the client](README.md#the-client-of-language-models).
- **Other versions.** The package index has mesa-frames 0.1.0a0 alone; the versions of all are pinned in
  `pyproject.toml` (group `peers`) and in `peers/*.txt` next to this page, each with the reason for a separate file.
"""
