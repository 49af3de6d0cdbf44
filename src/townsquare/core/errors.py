"""Every error that Townsquare raises on purpose.

::

    TownsquareError
    ├── SettingError      a setting is unknown, of a wrong type or out of range
    │   └── UnknownName   a name that no registry holds
    ├── DataError         a file that a user gave: scenario, posts, arguments, edges, personas
    ├── RecordError       a recorded run cannot be read, or is not one
    │   ├── RunBusy       another process writes this run
    │   ├── WrongVersion  recorded by another version or under another configuration
    │   └── HashMismatch  re-execution gave other rows than were recorded
    ├── ModelError        language models: their recorded calls, prices, servers
    │   ├── NotRecorded   a request that was never recorded, where only recorded calls may answer
    │   ├── Unreachable   no server answers at first contact, or it refuses the key or the model
    │   └── BudgetReached a run has spent what it may; it pauses between two steps
    ├── RunsFailed        every run of a comparison ended with an error
    └── ContractError     a member of a family breaks its contract

Each says four things: *where* it went wrong, what is *allowed*, what was *got*, and what to *do*. The command line
prints them as one message and exits with 2; nothing else is caught there.
"""

from __future__ import annotations

from townsquare.core.redact import redacted, redacted_got


class TownsquareError(Exception):
    """Base class of all errors. Keys and passwords do not appear in its texts: see :mod:`townsquare.core.redact`.

    Parameters
    ----------
    where : str
        The setting, file (with row and column), run or member that caused the error.
    got : str, optional
        The value or state that caused the error.
    allowed : str, optional
        The values that are allowed.
    do : str, optional
        What the reader can do next.

    Examples
    --------
    >>> print(TownsquareError("steps", got="-1", allowed="a whole number of at least 1"))
    steps: got -1; allowed: a whole number of at least 1
    """

    def __init__(self, where: str, *, got: str = "", allowed: str = "", do: str = "") -> None:
        self.got = redacted_got(where, got)
        self.where, self.allowed, self.do = redacted(where), redacted(allowed), redacted(do)
        parts = [f"got {self.got}" if got else "", f"allowed: {self.allowed}" if allowed else "", self.do]
        details = "; ".join(part for part in parts if part)
        super().__init__(f"{self.where}: {details}" if details else self.where)


class SettingError(TownsquareError):
    """A setting is unknown, of a wrong type or out of range."""


class UnknownName(SettingError):
    """A name that no registry, table or scenario holds."""


class DataError(TownsquareError):
    """A file that a user gave cannot be used; ``where`` names file, row and column."""


class RecordError(TownsquareError):
    """A recorded run cannot be read, or the folder holds none."""


class RunBusy(RecordError):
    """Another process is writing this run."""


class WrongVersion(RecordError):
    """The run was recorded by another version or under another configuration."""


class HashMismatch(RecordError):
    """Re-execution gave other rows than were recorded, or recorded rows or settings do not match their hash."""


class ModelError(TownsquareError):
    """The client of language models cannot do its work: calls cannot be recorded or read, or a subclass applies."""


class NotRecorded(ModelError):
    """A request that was never recorded, where only recorded calls may answer."""


class Unreachable(ModelError):
    """No server of a model answers at first contact, or it refuses the key or the model."""


class BudgetReached(ModelError):
    """A run has spent what its budget allows; its steps are safe and it can go on with a larger one."""


class RunsFailed(TownsquareError):
    """Every run of a comparison ended with an error; ``got`` is each distinct one, once."""


class ContractError(TownsquareError):
    """A rule, ranker, policy or moderator breaks the contract of its family."""
