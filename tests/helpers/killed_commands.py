"""Commands, each a process in a session of its own, killed at random instants and gone on with until they end.

A third of the instants is uniform over the life of the command, a third over its life since the lock of the run
appeared, a third lies between the last step and the end. What goes on is killed too, up to four times in a row.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from forked_commands import ForkedCommand
from townsquare.experiments.comparison import Experiment
from townsquare.record.lock import is_locked
from townsquare.record.run import Run

STEPS = 6
SIZE = ["synthetic:20", "--agents", "12", "--steps", str(STEPS)]
RUN = ["run", *SIZE, "--set", "moderation.strategy=hybrid"]
LAST = f"step {STEPS} of {STEPS}"
UNHEALTHY = 3
IN_A_ROW = (2, 4)
GONE_WITHIN = 5.0  # seconds after a kill of the command
LONGEST = 600.0  # seconds
SHARE = 0.8  # of the time that the unbroken command took, so that few end before they are killed


@dataclass(frozen=True)
class Kind:
    """A way of recording: what a user types for it, without ``--out``."""

    words: list[str]
    codes: tuple[int, ...] = (0,)

    @property
    def is_comparison(self) -> bool:
        """Whether it is gone on with by the same command, not by ``resume``."""
        return self.words[0] == "compare"


KINDS = {
    "sqlite": Kind(RUN),
    "parquet": Kind([*RUN, "--set", "record.parquet_above=0"]),
    "faulty": Kind([*RUN, "--set", "policy=llm", "--set", "model=faulty/0.3"], (0, UNHEALTHY)),
    "postgresql": Kind(RUN),  # with --record, of the server that a test starts
    "compare": Kind(["compare", *SIZE, "--vary", "moderation.strategy=none,hybrid", "--seeds", "1", "--workers", "2"]),
}


class Command:
    """A command that was started, with all that it prints in ``<out>.txt``."""

    def __init__(self, words: list[str], out: Path) -> None:
        self.words = words
        self.began = time.monotonic()
        self._process = ForkedCommand(words, out.with_suffix(".txt"))

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self._process.said

    def until(self, is_so: Callable[[], bool]) -> bool:
        """Wait until something is so; False if the command ended before."""
        while not is_so():
            if self._process.poll() is not None:
                return False
            assert time.monotonic() - self.began < LONGEST, f"{self.words} takes too long: {self.said}"
            time.sleep(0.005)
        return True

    def ended(self) -> int:
        """Wait for its end; the exit code."""
        self.until(lambda: False)
        return int(self._process.wait() or 0)

    def killed(self, after: float) -> bool:
        """Kill the process of the command, and no other, some seconds from now; False if it ended before."""
        at = time.monotonic() + after
        if not self.until(lambda: time.monotonic() >= at):
            return False
        self._process.send(signal.SIGKILL)
        return self._process.wait() == -signal.SIGKILL

    def left(self) -> list[str]:
        """The processes of its session that are there when they should be gone, in words."""
        until = time.monotonic() + GONE_WITHIN
        while found := in_session(self._process.pid):
            if time.monotonic() > until:
                return found
            time.sleep(0.05)
        return []


def in_session(session: int) -> list[str]:
    """Process number and command line of every process of a session that has not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its_session = (folder / "stat").read_text().rpartition(") ")[2].split()[:4]
            if int(its_session) == session and state not in "ZX":
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{folder.name} {line}")
        except OSError:
            continue  # it has just ended
    return found


@dataclass
class Kills:
    """Kills of commands of one kind, and what was wrong after them.

    Attributes
    ----------
    kills : int
        Commands that were killed.
    runs : int
        Runs, or comparisons, that ended after kills and were checked.
    wrong : list of str
        In words; empty if every one was whole.
    """

    kind: Kind
    folder: Path
    draw: random.Random
    kills: int = 0
    runs: int = 0
    wrong: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)
    _whole: float = 0.0  # seconds that the command takes
    _begun: float = 0.0  # of these, since the lock appeared
    _tail: float = 0.0  # of these, since the last step

    def run(self, kills: int) -> Kills:
        """Kill that many commands, and go on with each run until it ends."""
        self._measure()
        number = 0
        while self.kills < kills:
            number += 1
            self._chain(
                self.folder / f"{self.folder.name}-{number}", min(kills - self.kills, self.draw.randint(*IN_A_ROW))
            )
        return self

    def _measure(self) -> None:
        out = self.folder / f"{self.folder.name}-unbroken"  # also names the schema on a server
        command = Command([*self.kind.words, "--out", str(out)], out)
        command.until(lambda: _is_begun(out))
        begun = time.monotonic()
        command.until(lambda: LAST in command.said)
        last = time.monotonic()
        assert command.ended() in self.kind.codes, command.said
        end = time.monotonic()
        self._whole, self._begun, self._tail = end - command.began, end - begun, end - last
        self.hashes = self._hashes(out)

    def _chain(self, out: Path, kills: int) -> None:
        """Kill a run up to that many times, then let it end; check what is there."""
        words = [*self.kind.words, "--out", str(out)]
        before = self.kills
        while self.kills < before + kills:
            command = Command(words, out)
            killed, words = self._killed(command, out), self._next(out)
            if not killed:  # it ended before: what is left to do is said by what is there
                break
            self.kills += 1
            self.wrong += [f"{out.name}: left behind: {process}" for process in command.left()]
        if self.kills == before:
            return
        code, refused = (command := Command(words, out)).ended(), ""
        if code == 2 and words[0] == "resume":  # killed before its first step
            refused = f"; before it, resume: {command.said}"
            code = (command := Command([*self.kind.words, "--out", str(out)], out)).ended()
        if code not in self.kind.codes:
            self.wrong.append(f"{out.name}: exit code {code} of {command.words[0]}: {command.said}{refused}")
            return
        self.runs += 1
        logs = [path.relative_to(out).as_posix() for path in out.rglob("*-wal")]  # before anybody opens the run
        self.wrong += [f"{out.name}: {log} is left" for log in logs]
        if (found := self._hashes(out)) != self.hashes:
            self.wrong.append(f"{out.name}: {found} instead of {self.hashes}")

    def _killed(self, command: Command, out: Path) -> bool:
        how = self.draw.choice(("whole life", "since it began", "after the last step"))
        if how == "whole life" or command.words[0] == "resume":  # which may have little left to do
            return command.killed(self.draw.uniform(0, SHARE * self._whole))
        if how == "since it began":
            return command.until(lambda: _is_begun(out)) and command.killed(self.draw.uniform(0, SHARE * self._begun))
        return command.until(lambda: LAST in command.said) and command.killed(self.draw.uniform(0, SHARE * self._tail))

    def _next(self, out: Path) -> list[str]:
        is_begun = (out / "run.db").exists() or (out / "record.yaml").exists()
        if is_begun and not self.kind.is_comparison:
            return ["resume", str(out)]
        return [*self.kind.words, "--out", str(out)]

    def _hashes(self, out: Path) -> dict[str, str]:
        """The content hash of each finished run, computed from its rows, by folder."""
        folders = [run.folder for run in Experiment.load(out).runs] if self.kind.is_comparison else ["."]
        found = {}
        for folder in folders:
            run = Run.open(out / folder)
            found[folder] = run.verify() if run.state == "finished" else run.state
        return found


def _is_begun(out: Path) -> bool:
    return is_locked(out) or (out / "record.yaml").exists()
