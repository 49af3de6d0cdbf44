"""Small tables and banks of arguments for tests of the judges, written for this project."""

from __future__ import annotations

from pathlib import Path

from townsquare.beliefs.evidence.examples import Examples

BAN = "We should ban night flights"
FUND = "We should fund public libraries"
TEXTS = {
    (BAN, 1): (
        "Night flights wake thousands of people and ruin their health.",
        "The noise of planes at night is harmful to children who need sleep.",
        "Aircraft noise causes stress and heart disease near the airport.",
        "Flights at night are a danger to the sleep of whole towns.",
        "Planes over homes after midnight are cruel to the sick.",
        "Night flights damage the sleep of everyone near the runway.",
        "Sleep matters more than parcels, and planes destroy it.",
    ),
    (BAN, -1): (
        "Night flights bring medicine and parcels that people need by morning.",
        "The airport creates jobs, and cargo planes at night keep them.",
        "A ban on night flights would hurt the economy of the region.",
        "Night cargo is essential for trade, and trade pays for schools.",
        "Planes at night carry organs and save lives.",
        "Without night flights the airport would lose its best customers.",
        "Night workers have good jobs thanks to cargo flights.",
    ),
    (FUND, 1): (
        "Libraries give every child books and a quiet place to learn.",
        "Public libraries help people without work to find jobs.",
        "A library is a benefit to the whole town and costs little.",
        "Free books improve reading, and reading opens opportunities.",
        "Libraries are safe, warm places for lonely people.",
        "Librarians help the old to use the internet safely.",
        "Knowledge should be free to all, and libraries make it so.",
    ),
    (FUND, -1): (
        "Libraries waste tax money on books that nobody borrows.",
        "People read on their phones, so libraries are obsolete.",
        "Public libraries are expensive and stand empty most days.",
        "Taxpayers should not pay for the novels of others.",
        "The money for libraries is taken from roads and clinics.",
        "Bookshops suffer when libraries lend for free.",
        "A library is a costly burden on a poor town.",
    ),
}


def examples(statement: str, skip: int = 0) -> Examples:
    """The arguments on a statement as a bank, without the first ``skip`` of each side."""
    pairs = [(text, side) for side in (1, -1) for text in TEXTS[statement, side][skip:]]
    return Examples(tuple(text for text, _ in pairs), tuple(side for _, side in pairs))


def write_table(path: Path, header: str = "topic,side,argument,quality") -> Path:
    """A CSV of all arguments; the quality of each falls with its place in its list."""
    lines = [header]
    for (topic, side), texts in TEXTS.items():
        lines += [f'{topic},{side},"{text}",{1.0 - place / 10:.1f}' for place, text in enumerate(texts)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
