"""What a page is made of: sections of sentences, figures and tables; and the family of those on the page of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from townsquare.analysis.contract import Reads, given_to
from townsquare.core import registry
from townsquare.core.member_errors import breach, call_member
from townsquare.core.text_table import Table
from townsquare.pages.report.svg import Figure

FAMILY = "section"


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a page.

    ``key`` names it in the address, unlike any other section of the page; letters, digits and ``-``. ``says`` are the
    sentences above the figures, ``notes`` what a reader must mind, ``tables`` what stands behind the figures (folded
    away), ``open_tables`` what stands in the open.
    """

    key: str
    title: str
    says: Sequence[str] = ()
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    open_tables: Sequence[Table] = ()


SectionOf = Callable[[Reads], Section | None]
"""A member of the family: the section that the page of a run gets, or None for a run that it says nothing of.

It changes nothing, gives the same for the same run, and puts the numbers of its figures into a table.
"""


def section(name: str, run: Reads) -> Section | None:
    """What the registered section called ``name`` gives for a run.

    Raises
    ------
    ContractError
        It gives something else, or makes a mistake; names it.
    """
    made: object = call_member(
        FAMILY, name, "the section", partial(registry.get(FAMILY, name), given_to(FAMILY, name, run))
    )
    if made is not None and not isinstance(made, Section):
        raise breach(FAMILY, name, f"a {type(made).__name__}", "a Section, or None")
    return made
