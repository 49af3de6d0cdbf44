"""Draw each view of the viewer into ``docs/images/``: ``make screenshots``. Needs Chromium; records its own runs."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image
from playwright.sync_api import sync_playwright

import townsquare as ts
from townsquare.analysis.contract import CachedRun
from townsquare.analysis.notes import injected_keys
from townsquare.analysis.posts import known_posts
from townsquare.analysis.reach import reach
from townsquare.debate.resolve import layers_for_debates
from townsquare.debate.sweep import hold_debates
from townsquare.experiments.arms import arms_of
from townsquare.experiments.comparison import compare
from townsquare.pages.view.post_queries import note_states
from townsquare.pages.view.serving import serving
from townsquare.record.run import Run
from townsquare.settings.resolve import layers_for

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
ARMS = ("none", "community", "third_party", "hybrid")
FOLDERS = [f"moderation%2Fstrategy-{arm}%2Fseed-1" for arm in (ARMS[0], ARMS[-1])]
RUN = FOLDERS[1]
NOTES_AT = 200
VIEWS = {
    "runs": (f"#/runs?open=moderation&run={FOLDERS[0]}&run={FOLDERS[1]}", 820),
    "comparison": ("#/comparison/moderation?show=difference", 1300),
    "person": ("#/comparison/moderation/person/40?step=7", 1100),
    "overview": (f"#/run/{RUN}/overview?step=8", 1180),
    "network": ("#/run/town/network?step=240", 1230),
    "notes": (f"#/run/town/notes?step={NOTES_AT}&note={{note}}", 1500),
    "agents": (f"#/run/{RUN}/agents", 800),
    "agent": (f"#/run/{RUN}/agent/40?step=7", 1500),
    "records": ("#/run/records/agent/1?step=5", 2700),
    "cascade": (
        "#/run/responses%2Fresponse-none%2Fseed-1/cascade/{post}?claim=0&with=responses%2Fresponse-takedown%2Fseed-1",
        1000,
    ),
    "cascade-map": (
        "#/run/responses%2Fresponse-none%2Fseed-1/cascade/{post}?show=map&with=responses%2Fresponse-takedown%2Fseed-1",
        1000,
    ),
    "posts": (f"#/run/{RUN}/posts?veracity=false", 800),
    "post": (f"#/run/{RUN}/post/3", 1150),
    "debate": ("#/debate/debate", 1000),
    "compare": ("#/compare?" + "&".join(f"run={folder}" for folder in FOLDERS), 1100),
}
"""Address and height in pixels of each picture."""
RECORDS: dict[str, Any] = {
    "beliefs": {"rule": "social_log_odds", "label_weight": {"false": 0.0, "noted": 0.0}},
    "evidence": {"own_claims": True, "theta": 0.5, "theta_self": 0.4},
    "moderation": {"strategy": "hybrid", "takedown": False},
    "memory": {"enabled": True},
}
MOST_BYTES = 280_000
COLORS = 256
WIDTH = 1280


def record(folder: Path) -> None:
    """What the pictures show: a comparison of four arms, a run under argument records, a town with notes, a debate."""
    layers, _ = layers_for("health-rumor@1", agents=300, steps=20)
    compare(layers, {"moderation.strategy": list(ARMS)}, [1, 2, 3], folder / "moderation")
    ts.simulate(ts.resolve_for("health-rumor@1", agents=120, steps=8, seed=1, sets=RECORDS), folder / "records")
    community = {"moderation": {"strategy": "community"}}
    ts.simulate(ts.resolve_for("health-rumor", agents=2000, seed=1, sets=community), folder / "town")
    layers, _ = layers_for("health-rumor")
    compare(layers, {"moderation.response": ["none", "takedown"]}, [1], folder / "responses")
    hold_debates(layers_for_debates("compulsory-voting", (), trials=1, seed=1), arms_of({}), folder / "debate", 1)


def shown_note(run: Path) -> int:
    """The note with the most ratings among those that are shown at ``NOTES_AT``."""
    states = note_states(CachedRun(Run.open(run)), NOTES_AT)
    return int(states.filter("shown").sort("helpful")["note"][-1])


def removed_post(responses: Path) -> int:
    """Return the false post whose reach takedowns lower most, as a root of the run without moderation."""
    without, taken = (CachedRun(Run.open(responses / f"response-{arm}" / "seed-1")) for arm in ("none", "takedown"))
    both = posts_reached(without).join(posts_reached(taken), on="key", suffix="_taken")
    return int(both.sort(pl.col("reach") - pl.col("reach_taken"), "root")["root"][-1])


def posts_reached(run: CachedRun) -> pl.DataFrame:
    """Return ``root``, ``key`` and ``reach`` of the injected false posts."""
    false = known_posts(run).filter(pl.col("veracity") == "false").select("root")
    return false.join(injected_keys(run), on="root").join(reach(run), on="root").select("root", "key", "reach")


def settled(page: Any) -> bool:
    """Whether nothing on a page is being read or drawn any more."""
    return bool(
        page.evaluate(
            "document.querySelector('main')?.innerText.length > 40 && !document.querySelector('.loading')"
            " && [...document.querySelectorAll('.chart, .graph, .spread')].every((one) => one.dataset.ready)"
        )
    )


def draw(browser: Any, url: str, name: str, scheme: str, chosen: dict[str, int]) -> Path:
    """One picture, with fewer colors where the file would be large."""
    where, height = VIEWS[name]
    page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme=scheme)
    page.goto(url + where.format(**chosen))
    for _ in range(2):  # one answer may lead to the next question
        while not settled(page):
            page.wait_for_timeout(100)
        page.wait_for_timeout(400)
    page.wait_for_timeout(500)
    path = IMAGES / f"viewer-{name}{'-dark' if scheme == 'dark' else ''}.png"
    page.screenshot(path=path)
    page.close()
    if path.stat().st_size > MOST_BYTES:
        with Image.open(path) as image:
            image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def main() -> None:
    """Record, serve, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    asked = parser.parse_args()
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        runs = Path(folder) / "runs"
        record(runs)
        browser = started.chromium.launch(executable_path=asked.browser, args=["--no-sandbox"])
        chosen = {"note": shown_note(runs / "town"), "post": removed_post(runs / "responses")}
        with serving(runs) as url:
            pictures = [draw(browser, url, name, "light", chosen) for name in VIEWS]
            pictures.append(draw(browser, url, "overview", "dark", chosen))
            browser.close()
    for path in pictures:
        print(f"{path.relative_to(IMAGES.parents[1])}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
