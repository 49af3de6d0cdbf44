"""The page that ships was built from the sources that are here, and asks nothing of anyone else."""

from __future__ import annotations

import hashlib

import pytest

from repository import ROOT
from townsquare.pages.view.server import STATIC

SOURCES = ROOT / "viewer"
AROUND = ("index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts")
MOST_BYTES = 1_500_000


def test_the_bundle_was_built_from_these_sources() -> None:
    if not SOURCES.is_dir():
        pytest.skip("an installation without the sources of the page")
    below = [path.relative_to(SOURCES).as_posix() for path in (SOURCES / "src").rglob("*") if path.is_file()]
    found = hashlib.sha256()
    for name in sorted([*AROUND, *below]):
        found.update(f"{name}\0".encode())
        found.update((SOURCES / name).read_bytes())
        found.update(b"\0")
    stamp = (STATIC / "sources.sha256").read_text(encoding="ascii").strip()
    assert stamp == found.hexdigest(), "the sources of the viewer have changed: run `make viewer`"


def test_the_bundle_is_small() -> None:
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < MOST_BYTES


def test_the_page_has_no_inline_script_or_style() -> None:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert "<style" not in page
    assert page.count("<script") == page.count('<script type="module" crossorigin src="./')
    assert "http" not in page


def test_untrusted_text_is_never_made_markup() -> None:
    if not SOURCES.is_dir():
        pytest.skip("an installation without the sources of the page")
    for path in (SOURCES / "src").rglob("*.ts*"):
        text = path.read_text(encoding="utf-8")
        for word in (
            "dangerouslySetInnerHTML",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ):
            assert word not in text, (path.name, word)


def test_the_lock_of_the_page_names_no_registry() -> None:
    lock = SOURCES / "package-lock.json"
    if lock.is_file():
        assert '"resolved"' not in lock.read_text(encoding="utf-8")
