"""The polarity judge gives the same in every process."""

from __future__ import annotations

import subprocess
import sys


def test_salted_hashes_play_no_part() -> None:
    code = (
        "from townsquare.beliefs.evidence.polarity import judge_polarity;"
        "print(judge_polarity(['It ruins sleep.', 'It saves lives.'], 'We should ban night flights').score.tolist())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": salt, "PATH": ""}, capture_output=True, check=True
        ).stdout
        for salt in ("1", "2")
    }
    assert len(said) == 1
