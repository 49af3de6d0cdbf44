"""Settings of three runs, and their content hashes: `tests/runs/program/test_reference_runs.py` records them again."""

from __future__ import annotations

RUNS = {
    "statistical policy, hybrid moderation": (
        ["agents=80", "steps=8", "moderation.strategy=hybrid", "growth.max_per_step=1"],
        "230596935f2ac19d59dc8649f95275d7705954357541fadd00297f5fed049a1b",
    ),
    "fake model with memory": (
        ["agents=15", "steps=5", "policy=llm", "model=fake", "memory.reflect_every=2", "moderation.strategy=community"],
        "c44ae6169ec9e203c568fb93539b62316a3bbc30a02be7ce99c814355db236c7",
    ),
    "evidence rule": (
        [
            "agents=60",
            "steps=8",
            "beliefs.rule=social_log_odds",
            "beliefs.start=records",
            "moderation.strategy=third_party",
        ],
        "d4b704d52d8d8766fa36ac790fd424acbd43ee487bc363a1c3f47b1ada6da54c",
    ),
}
