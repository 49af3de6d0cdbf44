"""What pyproject.toml, the two lock files and the pages say of packages agrees."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib

import pytest

from repository import ROOT
from townsquare.core.errors import TownsquareError
from townsquare.core.extras import EXTRAS, MissingExtra, library

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTIONS = {"jsonschema_rs": "jsonschema-rs", "sklearn": "scikit-learn", "umap": "bertopic"}
"""Distributions that are not called as what Python imports."""


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=; ]", requirement, maxsplit=1)[0].lower()


def pinned(lock: str) -> dict[str, str]:
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", text, re.MULTILINE))


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def test_extras_of_the_code_are_those_of_the_package() -> None:
    declared = PROJECT["optional-dependencies"]
    for module, extra in EXTRAS.items():
        assert DISTRIBUTIONS.get(module, module) in map(name_of, declared[extra]), module
    named = re.search(r"\[(.+)\]", declared["all"][0])
    assert named is not None
    assert set(named[1].split(",")) == set(declared) - {"all", "quality", "topics"}


def test_the_lock_to_run_is_a_part_of_the_lock_to_develop() -> None:
    run, develop = pinned("requirements.lock"), pinned("requirements-dev.lock")
    assert run.items() <= develop.items()
    for requirement in PROJECT["dependencies"]:
        name, _, floor = requirement.partition(">=")
        assert numbers(run[name.lower()]) >= numbers(floor), requirement
    optional = {name_of(need) for needs in PROJECT["optional-dependencies"].values() for need in needs}
    assert not optional & run.keys(), "extras stay out of the lock to run"


def test_every_dependency_has_its_line() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    listed = {name for row in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) for name in row.split(", ")}
    groups = (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    names = {re.split(r"[\[<>=; ]", need, maxsplit=1)[0] for needs in groups for need in needs}
    assert names - {"townsquare"} <= listed


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra) as caught:
        library("pyarrow", "a large run")
    assert isinstance(caught.value, TownsquareError)
    assert (caught.value.where, caught.value.got) == ("a large run", "pyarrow is not installed")
    assert caught.value.do == "pip install 'townsquare[parquet]'"


def test_a_release_is_refused_for_its_reasons_and_dates_the_changelog() -> None:
    release = runpy.run_path(str(ROOT / "scripts" / "release.py"))
    changes = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A change.\n\n## [0.1.0] - 2026-11-01\n"
    assert release["problems"]("0.2.0", "0.1.0", changes, "v0.1.0") == []
    assert len(release["problems"]("0.1.0", "0.2.0", "## [Unreleased]\n\n## [0.2.0]\n- old\n", "v0.1.0")) == 3
    assert "three numbers" in release["problems"]("1.0", "0.2.0", changes, "")[0]
    after = release["dated"](changes, "0.2.0", "2026-12-01")
    assert "## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added" in after
    assert release["problems"]("0.3.0", "0.2.0", after, "") == ["CHANGELOG.md: nothing stands under [Unreleased]"]


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
