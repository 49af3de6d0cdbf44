"""What a planned run will need: rows, disk and memory, estimated before it is run.

The figures are upper ends: every feed full and every post with its comments, from the first step on. Runs start with
few posts, so short ones need less: measured ones needed 40 to 75% of the disk and of the memory that is said here.
The report, which is written after the last step, needs memory in addition: measured were 0.5 GB for `health-rumor`
(2,000 people) and at most 1.13 GB, with 0.02 to 21 million exposures.

Bytes were measured on runs of ``health-rumor@1`` with the statistical policy, two propositions and hybrid moderation:
packed, of 300 agents over 20 and 100 steps; in Parquet and in memory, of 3,000 agents over 10 steps, 30,000 over 6 and
12, 100,000 over 4, and 300,000 over 4 (x86-64, Python 3.11). Other policies, and rules that keep argument records,
differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from townsquare.scenario.contents import Scenario
from townsquare.settings.config import Config

PACKED_ROW = {"exposures": 4.4, "trail": 13.3, "beliefs": 12.0}
PARQUET_ROW = {"exposures": 9.4, "trail": 20.2, "beliefs": 16.1}
PACKED_REST = 150.0  # an agent and step: actions, posts, notes and ratings
PARQUET_REST = 125.0  # the same in Parquet: 120 were measured over 12 steps of 30,000 agents
PROCESS_MEMORY = 250e6  # the interpreter, packages and compiled kernels
STEP_ROW_MEMORY = 180.0  # a row of a step that is being worked on, with all that is made of it
REPORT_MEMORY, REPORT_ROW_MEMORY, REPORT_ROWS = 100e6, 500.0, 2_400_000  # whatever its size; a row, up to so many
PAST_MEMORY = 22.0  # a row of the past: what has been seen, posts, texts; `feed.seen_cap` limits only the first


@dataclass(frozen=True, slots=True)
class PlannedSize:
    """Upper estimates of what a run will need.

    Attributes
    ----------
    exposures, trail, beliefs : int
        Rows of these tables.
    in_parquet : bool
        Whether they go to Parquet.
    disk, memory : int
        Bytes of the run's folder at its end, and of the process at its largest, report included.
    """

    exposures: int
    trail: int
    beliefs: int
    in_parquet: bool
    disk: int
    memory: int


def planned_size(config: Config, scenario: Scenario) -> PlannedSize:
    """Estimate what a run with these settings needs; see the heading of this file for how good that is."""
    agents = config.agents + config.growth.max_per_step * config.steps / 2
    comments = config.feed.comments_per_post(config.agents)
    rate = config.activation.rate if config.time.step_minutes is None else 1.0
    step_rows = agents / config.agents * config.feed_rows * rate * (1 + comments)
    exposures = step_rows * config.steps
    p = len(scenario.propositions)
    # A post speaks to about one proposition; the anchor moves each of them.
    trail = (exposures + agents * config.steps * p) if p and config.record.trail else 0.0
    beliefs = agents * p * (config.steps + 1)
    in_parquet = config.feed_rows * config.steps > config.record.parquet_above
    rows = {"exposures": exposures, "trail": trail, "beliefs": beliefs}
    rest, row = (PARQUET_REST, PARQUET_ROW) if in_parquet else (PACKED_REST, PACKED_ROW)
    bulky = sum(rows[name] * row[name] for name in rows)
    report = REPORT_MEMORY + min(exposures, REPORT_ROWS) * REPORT_ROW_MEMORY
    disk = round(bulky + agents * config.steps * rest)
    memory = round(PROCESS_MEMORY + step_rows * STEP_ROW_MEMORY + exposures * PAST_MEMORY + report)
    return PlannedSize(round(exposures), round(trail), round(beliefs), in_parquet, disk, memory)
