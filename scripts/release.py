"""Prepare a release: ``make release VERSION=0.2.0``. It uploads nothing.

Sets the version in ``pyproject.toml`` and ``CITATION.cff``, dates the changelog, writes a wheel and a source archive to
``dist/`` and checks them. What it changed is for you to commit and tag.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
UNRELEASED = "## [Unreleased]\n"
IN_SOURCES = ("pyproject.toml", "LICENSE", "CITATION.cff", "CHANGELOG.md", "requirements.lock", "tests/conftest.py")
IN_WHEEL = ("townsquare/py.typed", "townsquare/data/scenarios/", "townsquare/pages/view/static/", "licenses/LICENSE")


def problems(version: str, current: str, changelog: str, tags: str) -> list[str]:
    """List what stands in the way of a release.

    >>> problems("0.0.9", "0.1.0", "## [Unreleased]\\n\\n- A change.\\n", "")
    ['VERSION=0.0.9: the package is at 0.1.0 already']
    """
    found = []
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", version):
        return [f"VERSION={version}: give three numbers, as 0.2.0, or a candidate, as 0.2.0rc1"]
    if _numbers(version) < _numbers(current):
        found.append(f"VERSION={version}: the package is at {current} already")
    if f"v{version}" in tags.split():
        found.append(f"VERSION={version}: the tag v{version} exists")
    if not re.search(r"^- ", changelog.partition(UNRELEASED)[2].partition("\n## [")[0], re.MULTILINE):
        found.append("CHANGELOG.md: nothing stands under [Unreleased]")
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def dated(changelog: str, version: str, day: str) -> str:
    """Give the unreleased changes their version and day, below an empty section for the next changes.

    >>> dated("## [Unreleased]\\n\\n- A change.\\n", "0.2.0", "2026-12-01").splitlines()
    ['## [Unreleased]', '', '## [0.2.0] - 2026-12-01', '', '- A change.']
    """
    return changelog.replace(UNRELEASED, f"{UNRELEASED}\n## [{version}] - {day}\n", 1)


def replace_once(path: Path, pattern: str, line: str) -> None:
    """Replace the one line that matches."""
    text, count = re.subn(pattern, line, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if count != 1:
        raise SystemExit(f"{path.name}: {count} lines look like {pattern}; expected 1")
    path.write_text(text, encoding="utf-8")


def build(version: str) -> None:
    """Build both archives, and check what is in them."""
    for kind in ("wheel", "sdist"):
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(DIST)], cwd=ROOT, check=True)
    wheel = zipfile.ZipFile(DIST / f"townsquare-{version}-py3-none-any.whl").namelist()
    with tarfile.open(DIST / f"townsquare-{version}.tar.gz") as archive:
        sources = [name.partition("/")[2] for name in archive.getnames()]
    missing = [part for part in IN_WHEEL if not any(part in name for name in wheel)]
    missing += [name for name in IN_SOURCES if name not in sources]
    if missing:
        raise SystemExit(f"the archives lack {', '.join(missing)}")


def main(version: str) -> None:
    """Check, write, build."""
    project, changelog = ROOT / "pyproject.toml", ROOT / "CHANGELOG.md"
    current = re.search(r'^version = "(.+)"$', project.read_text(encoding="utf-8"), re.MULTILINE)
    if current is None:
        raise SystemExit("pyproject.toml: no version")
    git = ["git", "-C", str(ROOT)]
    tags = subprocess.run([*git, "tag", "--list"], capture_output=True, text=True, check=True).stdout
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    found = problems(version, current[1], changelog.read_text(encoding="utf-8"), tags)
    if changed:
        found.append(f"commit or put away first:\n{changed.rstrip()}")
    if found:
        raise SystemExit("\n".join(found))
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    replace_once(project, r'^version = ".+"$', f'version = "{version}"')
    replace_once(
        ROOT / "CITATION.cff", r"^version: .+(\ndate-released: .+)?$", f"version: {version}\ndate-released: {day}"
    )
    changelog.write_text(dated(changelog.read_text(encoding="utf-8"), version, day), encoding="utf-8")
    build(version)
    print(f"dist/ holds townsquare {version}. Next: make test-slow, commit, git tag v{version}. Nothing was uploaded.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: make release VERSION=0.2.0")
    main(sys.argv[1])
