"""What tests of bad inputs share: what a folder holds, and what a command that must fail said."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from townsquare.cli import WRONG, main


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file and folder below a folder, with the hash of what it holds."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


def complaint_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one message of a command that was given something wrong: but for notes, all that is printed; no traceback."""
    code = main(words)
    out, err = capsys.readouterr()
    err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("note: "))
    assert code == WRONG, err
    assert err.startswith("error: "), err
    assert err.count("\nerror: ") == 0, err
    assert "\n  got: " in err or ": got " in err or "--help" in err, "it must say what came"
    assert "Traceback" not in err
    assert out == ""
    return err
