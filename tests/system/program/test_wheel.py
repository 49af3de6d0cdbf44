"""The wheel in an environment that holds only the packages of requirements.lock: no extra, no tool of development."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.request import urlopen

import pytest

from repository import ROOT
from running_viewer import record

BUILD_ONLY = {"editables", "hatchling", "pathspec", "pluggy", "trove-classifiers", "tomlkit"}


def link_base_packages(site: Path) -> None:
    """Link the packages of the lock from this environment, as they would be installed: nothing is fetched."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name in re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE):
        if name in BUILD_ONLY:
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue  # of another Python or system
        tops = {file.parts[0] for file in installed.files or () if not file.parts[0].startswith("..")}
        for top in tops - {"__pycache__"}:
            source, target = Path(str(installed.locate_file(top))), site / top
            if source.exists() and not target.exists():
                target.symlink_to(source)


def link_kernels(site: Path) -> None:
    """Link the kernels compiled for the same files here, as packages are: compiling them takes a minute."""
    for path in (ROOT / "src").rglob("*.py"):
        installed = site / path.relative_to(ROOT / "src")
        if installed.read_bytes() == path.read_bytes():
            os.utime(installed, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
            for kernel in (path.parent / "__pycache__").glob(f"{path.stem}.*.nb?"):
                (installed.parent / "__pycache__").mkdir(exist_ok=True)
                (installed.parent / "__pycache__" / kernel.name).symlink_to(kernel)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command ``townsquare`` of the installed wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel] = (folder / "dist").glob("townsquare-*.whl")
    venv.create(folder / "empty", symlinks=True)
    python = folder / "empty" / "bin" / "python"
    find_site = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(find_site, check=True, capture_output=True, text=True).stdout.strip())
    link_base_packages(site)
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*install, "--no-compile", str(wheel)], check=True, capture_output=True, timeout=120)
    link_kernels(site)
    return folder / "empty" / "bin" / "townsquare"


@pytest.fixture(scope="module")
def parquet_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose bulky tables are Parquet files, recorded here, where pyarrow is installed."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    return record(folder, agents=40, steps=2, record={"parquet_above": 0})


def executed(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, without this repository on the path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(program), *words]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=program.parent, env=environment, timeout=600, check=False
    )


def test_the_wheel_holds_the_package_and_its_data(program: Path) -> None:
    listed = executed(program, "scenarios")
    assert listed.returncode == 0, listed.stderr
    assert "health-rumor@1" in listed.stdout
    doctor = executed(program, "doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert "pip install 'townsquare[parquet]'" in doctor.stdout


def test_a_base_install_reads_a_run_in_parquet_and_reports_it(program: Path, parquet_run: Path, tmp_path: Path) -> None:
    figures, tables = tmp_path / "figures", tmp_path / "tables"
    for words in (["inspect", str(parquet_run), "--verify"], ["report", str(parquet_run), "--out", str(figures)]):
        done = executed(program, *words)
        assert done.returncode == 0, done.stderr
    exported = executed(program, "export", str(parquet_run), "--to", "csv", "--out", str(tables))
    assert exported.returncode == 0, exported.stderr
    assert any(figures.rglob("*.svg"))


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["--set", "record.parquet_above=0"], "parquet"),
        (["--set", "policy=llm", "--set", "model=fake"], "models"),
    ],
)
def test_a_base_install_names_the_extra_that_a_run_needs(
    program: Path, tmp_path: Path, words: list[str], extra: str
) -> None:
    done = executed(program, "run", "health-rumor@1", "--agents", "20", "--steps", "1", "--out", str(tmp_path), *words)
    assert done.returncode == 2, done.stdout
    assert f"pip install 'townsquare[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_viewer_of_the_wheel_answers(program: Path, parquet_run: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(program), "view", str(parquet_run), "--port", "0", "--no-browser", "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=program.parent, env=environment) as viewer:
        try:
            assert viewer.stdout is not None
            address = viewer.stdout.readline().split()[0]
            with urlopen(address, timeout=60) as answer:
                assert answer.status == 200
                assert b"<html" in answer.read()
        finally:
            viewer.terminate()


@pytest.mark.slow
def test_the_wheel_runs_and_compares(program: Path, tmp_path: Path) -> None:
    sizes = ["--agents", "40", "--steps", "2"]
    ran = executed(program, "run", "health-rumor@1", *sizes, "--out", str(tmp_path / "run"))
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "run" / "report.html").is_file()
    arms = ["--vary", "moderation.strategy=none,hybrid", "--seeds", "2"]
    compared = executed(program, "compare", "health-rumor@1", *sizes, *arms, "--out", str(tmp_path / "compared"))
    assert compared.returncode == 0, compared.stderr
    assert (tmp_path / "compared" / "report.html").is_file()
