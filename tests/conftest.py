"""What holds in every test."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest

from browser_pages import browser
from llama_server import real_server
from skips import pytest_sessionfinish
from townsquare.core import registry
from townsquare.core.threads import threads_for

__all__ = ["browser", "pytest_sessionfinish"]

# A shell without job control starts what it puts in the background deaf to Ctrl-C, and so would be what tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # below `nohup`, every command that a test starts would ignore it


def pytest_collection_finish() -> None:
    """Look for cycles of garbage less often, and never among what was imported."""
    gc.freeze()
    gc.set_threshold(70_000, 10, 10)


@pytest.fixture(scope="session")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of a real server of chat completions, with a model of random weights."""
    with real_server(tmp_path_factory.mktemp("model")) as url:
        yield url


@pytest.fixture(scope="session", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a user approved is kept in a folder of the tests, never in the home of who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tests are small, and several run side by side: waking a second thread takes longer than their kernels."""
    with threads_for(0):
        yield


@pytest.fixture(scope="module", autouse=True)
def _members_of_a_module() -> Iterator[None]:
    """Members that the tests of a file register leave with it: no other test meets them, nor the page of settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_FAMILIES", {family: {**members} for family, members in registry._FAMILIES.items()})
        yield
    registry.add_installed.cache_clear()
