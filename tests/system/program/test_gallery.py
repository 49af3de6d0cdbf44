"""Every figure of docs/gallery.md states a finding with its interval, and is what the command below it makes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import human_results
import pytest
import screenshots

from repository import ROOT
from synthetic_people import CHOICE, population
from townsquare.humans.fit.options import FitOptions
from townsquare.humans.fit.study import study
from townsquare.pages.people.figures import figures_of

DOCS = ROOT / "docs"
SMALL = ["--agents", "60", "--steps", "96"]


class Entry(NamedTuple):
    """A figure of the gallery: its file under docs/, the text below it, the lines of its command."""

    figure: str
    caption: str
    commands: tuple[str, ...]

    @property
    def makes(self) -> str:
        """The program that makes it."""
        return " ".join(self.commands[0].split()[:2])


def entries() -> list[Entry]:
    """The figures of the page, in order; each heading has one."""
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    form = re.compile(r"^!\[[^\]]+\]\((\S+)\)\n\n(.+?)\n\n```sh\n(.+?)\n```$", re.MULTILINE | re.DOTALL)
    found = [
        Entry(file, " ".join(text.split()), tuple(lines.replace("\\\n", "").splitlines()))
        for file, text, lines in form.findall(page)
    ]
    assert len(found) == page.count("\n## ") >= 8
    return found


def made_by(program: str) -> list[Entry]:
    return [entry for entry in entries() if entry.makes == program]


def title(figure: Path) -> str:
    found = re.search(r'aria-label="([^"]+)"', figure.read_text(encoding="utf-8"))
    assert found, figure
    return found[1]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: Path(entry.figure).stem)
def test_a_caption_has_its_interval_as_the_page_that_it_names_has_it(entry: Entry) -> None:
    assert (DOCS / entry.figure).is_file()
    intervals = re.findall(r"95% CI (\S+?) to (\S+?)(?:,|\)| over)", entry.caption)
    assert intervals or "no interval" in entry.caption
    named = re.findall(r"\]\(([a-z-]+\.md)", entry.caption)
    sources = "".join((DOCS / page).read_text(encoding="utf-8") for page in named)
    sources += (ROOT / "README.md").read_text(encoding="utf-8")
    for low, high in intervals if named else ():
        assert f"{low} to {high}" in sources or f"[{low}, {high}]" in sources, (low, high)


def test_the_first_caption_of_readme_has_the_numbers_of_the_gallery() -> None:
    readme, first = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split()), entries()[0].caption
    reached = re.search(r"reached \d+ people without moderation and \d+", first)
    ((low, high),) = re.findall(r"95% CI −(\S+?)% to −(\S+?)%", first)
    assert reached
    assert reached[0] in readme
    assert f"reduce the reach by {re.findall(r'by −(.+?)% .95', first)[0]}% (95% CI {high}% to {low}%," in readme


def test_every_command_is_of_a_known_program() -> None:
    known = {"make screenshots", "townsquare compare", "python scripts/human_results.py"}
    assert {entry.makes for entry in entries()} == known


@pytest.mark.slow
def test_commands_of_the_program_make_their_figures(tmp_path: Path) -> None:
    own = made_by("townsquare compare")
    (tmp_path / "docs" / "images").mkdir(parents=True)
    for line in dict.fromkeys(line for entry in own for line in entry.commands):
        program, *words = shlex.split(line)
        if program == "cp":
            shutil.copy(*(tmp_path / word for word in words))
            continue
        assert program == "townsquare"
        if words[0] == "compare":
            words += SMALL
        subprocess.run([sys.executable, "-m", program, *words], cwd=tmp_path, check=True, capture_output=True)
    for entry in own:
        assert title(tmp_path / "docs" / entry.figure) == title(DOCS / entry.figure)


def test_pictures_of_the_viewer_are_those_that_make_screenshots_draws() -> None:
    told = subprocess.run(["make", "-n", "screenshots"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "scripts/screenshots.py" in told
    drawn = {f"viewer-{name}.png" for name in screenshots.VIEWS}
    assert {Path(entry.figure).name for entry in made_by("make screenshots")} <= drawn


def test_figures_of_people_are_those_that_the_script_draws() -> None:
    stems = figures_of(study(population(40), FitOptions(evidence=CHOICE)))
    drawn = {f"humans-{name}-{stem}.png" for name in human_results.FOLDERS for stem in stems}
    assert {Path(entry.figure).name for entry in made_by("python scripts/human_results.py")} <= drawn
