"""The viewer over a run of AGENTS: ``viewer.py AGENTS`` prints its figures as one line of JSON.

``viewer.py FOLDER`` prints how long a recorded run takes to open: seconds from the address until each part of the
overview stands, and when each request began and ended. It opens a copy without the files that the viewer writes, first
in a new viewer, then again there, then in another new viewer. It then plays the cascade with the most shares, as a tree
and as a map, and prints its frames a second and its longest frame. For the folder of a comparison it prints how long
the overlay takes, six times: until the courses on the screen are drawn, and until all are.

First paint is Chromium's own first contentful paint of the overview; first chart is when the stances of that run are
drawn, the run being opened for the first time and again; a slider step is from the change of the slider until the new
picture stands, of the distribution in the overview and of all agents in the network. The overlay is of a comparison of
four arms × 10 seeds, from the address until the courses on the screen are drawn, and until all are; the table has 200
runs, and is measured until the next frame. Chromium draws by software here, so a machine with a graphics card is
faster.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import townsquare as ts
from townsquare.experiments.comparison import compare
from townsquare.pages.view.serving import serving
from townsquare.settings.resolve import layers_for

CHROMIUM = "/usr/bin/chromium"
STEPS = 6
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
CHART = "document.querySelector('[data-testid=trajectories]')?.dataset.ready === '1'"
# Inside the page, so that nothing but the page is measured: until the picture is there and two frames have passed.
SLIDE = """async (step) => {
  const slider = document.querySelector('[data-testid=step]');
  const picture = document.querySelector('[data-testid=network]');
  const bars = document.querySelector('[data-testid=distribution]');
  const shown = () => picture ? picture.dataset.step : bars.ariaLabel.split(' ').at(-1);
  const start = performance.now();
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(slider, String(step));
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  while (shown() !== String(step)) await new Promise((done) => setTimeout(done, 1));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - start;
}"""

# In the page as well: when the courses on the screen, and when all, are drawn.
OVERLAY = """async () => {
  const at = [];
  while (at.length < 2) {
    const charts = [...document.querySelectorAll('[data-testid=overlay] .chart')];
    const seen = charts.filter((one) => one.getBoundingClientRect().top < innerHeight);
    const drawn = (some) => charts.length > 0 && some.every((one) => one.dataset.ready);
    if (!at.length && drawn(seen)) at.push(performance.now());
    if (at.length && drawn(charts)) at.push(performance.now());
    await new Promise((done) => setTimeout(done, 4));
  }
  return at;
}"""
PLAY = """async () => {
  const button = document.querySelector('[data-testid=play]');
  const times = [];
  button.click();
  let before = performance.now();
  await new Promise((done) => {
    const start = before;
    const next = (now) => {
      times.push(now - before);
      before = now;
      if (now - start > 500 && button.ariaLabel === 'Play') done();
      else requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  return times;
}"""
ACT = """async ([kind, value]) => {
  const search = document.querySelector('input[type=search]');
  const start = performance.now();
  if (kind === 'sort') [...document.querySelectorAll('.sort')].find((one) => one.textContent.startsWith(value)).click();
  else {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(search, value);
    search.dispatchEvent(new Event('input', { bubbles: true }));
  }
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""
# Seconds from the address: milliseconds in the page, since it began to load.
OPENED = """async () => {
  const parts = ["facts", "trajectories", "distribution", "engagement", "events", "participation"];
  const at = {};
  while (parts.some((part) => !(part in at))) {
    for (const part of parts) {
      const shown = document.querySelector(`[data-testid=${part}]`);
      if (shown && (part === "facts" || shown.dataset.ready)) at[part] ??= performance.now();
    }
    await new Promise((done) => setTimeout(done, 5));
  }
  const asked = performance.getEntriesByType("resource").filter((one) => one.name.includes("/api/"));
  for (const one of asked) at[new URL(one.name).pathname] = [one.startTime, one.responseEnd];
  return at;
}"""
ARMS = ["none", "community", "third_party", "hybrid"]
COMPARISONS, SEEDS, COURSE = 5, 10, 60


def until(page: Any, script: str) -> float:
    """Seconds until something is so."""
    start = time.perf_counter()
    while not page.evaluate(script):
        time.sleep(0.005)
    return time.perf_counter() - start


def opened(browser: Any, url: str) -> tuple[float, float]:
    """Seconds to the first paint and to the first chart of the overview."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    start = time.perf_counter()
    page.goto(f"{url}#/run/run/overview", wait_until="commit")
    until(page, CHART)
    chart = time.perf_counter() - start
    paint = page.evaluate(PAINT)
    page.close()
    return (paint or 0.0) / 1000, chart


def slides(browser: Any, url: str, view: str, ready: str) -> float:
    """Median seconds of a slider step in a view, once the element with this test id is ready."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{url}#/run/run/{view}")
    until(page, f"document.querySelector('[data-testid={ready}]')?.dataset.ready === '1'")
    page.evaluate(SLIDE, 1)
    seconds: float = statistics.median(page.evaluate(SLIDE, step) for step in (2, 3, 4, 5, 1, 3, 5)) / 1000
    page.close()
    return seconds


def overlay(browser: Any, url: str, comparison: str = "arms-1") -> tuple[float, float]:
    """Seconds from the address of a comparison until its courses on the screen are drawn, and until all are."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{url}#/comparison/{comparison}", wait_until="commit")
    seen, every = page.evaluate(OVERLAY)
    page.close()
    return seen / 1000, every / 1000


def plays(browser: Any, url: str, run: str) -> Iterator[dict[str, Any]]:
    """Play the cascade of a run with the most shares, as a tree and as a map."""
    for show in ("tree", "map"):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{url}#/run/{run}/cascade?show={show if show == 'map' else ''}")
        page.wait_for_selector("[data-testid=cascade][data-ready]")
        page.wait_for_timeout(2000)
        times = page.evaluate(PLAY)
        shares = page.text_content("[data-testid=counts] span:nth-child(2)")
        page.close()
        yield {"cascade": show, "of": shares, "frames": 1000 * len(times) / sum(times), "longest": max(times) / 1000}


def table(browser: Any, url: str) -> tuple[float, float]:
    """Median seconds of a sort and of a filter of the table of all runs."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{url}#/runs?group=none")
    until(page, f"document.querySelectorAll('.run-line').length === {COMPARISONS * len(ARMS) * SEEDS}")
    page.wait_for_timeout(2000)  # what the page loads for the view that comes next
    sorts = [page.evaluate(ACT, ["sort", name]) for name in ("Outcome", "Seed", "Arm", "Outcome", "Run", "Seed")]
    filters = [page.evaluate(ACT, ["filter", text]) for text in ("arms-3", "hybrid", "", "none 4", "")]
    page.close()
    return statistics.median(sorts) / 1000, statistics.median(filters) / 1000


def compared(browser: Any) -> dict[str, float]:
    """Figures of comparisons: their runs are small, and have courses of COURSE steps."""
    with tempfile.TemporaryDirectory() as folder:
        layers, _ = layers_for("health-rumor@1", agents=30, steps=COURSE)
        for number in range(COMPARISONS):
            seeds = list(range(1, SEEDS + 1))
            compare(layers, {"moderation.strategy": ARMS}, seeds, Path(folder) / f"arms-{number}").courses()
        with serving(folder) as url:
            first, *again = [overlay(browser, url) for _ in range(4)]
            seen, every = map(statistics.median, zip(*again, strict=True))
            sort, filter_ = table(browser, url)
    return {"overlay_first": first[0], "overlay": seen, "overlay_all": every, "sort": sort, "filter": filter_}


def openings(browser: Any, folder: str) -> list[dict[str, Any]]:
    """Seconds to each part of the overview of the run in a folder, twice in a new viewer."""
    command = [sys.executable, "-m", "townsquare", "view", folder, "--no-browser", "--no-token", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            assert viewer.stdout is not None
            url = next(word for line in viewer.stdout for word in line.split() if word.startswith("http://"))
            return [opening(browser, url) for _ in range(2)]
        finally:
            viewer.terminate()


def opening(browser: Any, url: str) -> dict[str, Any]:
    """Seconds to each part of an overview that is opened, as the page takes them."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url, wait_until="commit")
    at = page.evaluate(OPENED)
    page.close()
    return {
        part: [round(one / 1000, 2) for one in (when if isinstance(when, list) else [when])]
        for part, when in at.items()
    }


def main() -> None:
    """Record, open, slide, and print."""
    if not sys.argv[1].isdigit():
        given = Path(sys.argv[1]).resolve()
        if (given / "experiment.json").is_file():
            with sync_playwright() as started, serving(given.parent) as url:
                browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                for seen, every in (overlay(browser, url, given.name) for _ in range(6)):
                    print(json.dumps({"overlay": seen, "overlay_all": every, "load": os.getloadavg()[0]}))
            return
        if not (given / "run.yaml").is_file():
            sys.exit(f"{given} is no folder of a run or comparison: it has no run.yaml and no experiment.json")
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
            run = shutil.copytree(given, Path(folder) / "run", ignore=shutil.ignore_patterns("view-*"))
            browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            opening_times = [*openings(browser, str(run)), openings(browser, str(run))[0]]
            with serving(folder) as url:
                played = list(plays(browser, url, run.name))
            browser.close()
        for name, figures in zip(("first", "again", "in a new viewer"), opening_times, strict=True):
            print(json.dumps({"opened": name, **figures, "load": os.getloadavg()[0]}))
        for figures in played:
            print(json.dumps(figures))
        return
    agents = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        ts.simulate(ts.resolve_for("health-rumor@1", agents=agents, steps=STEPS, seed=1), Path(folder) / "run")
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with serving(folder) as url:
            paint, chart = opened(browser, url)
            again = [opened(browser, url) for _ in range(3)]
            figures = {
                "agents": agents,
                "first_paint": statistics.median([paint, *(row[0] for row in again)]),
                "first_chart": chart,
                "chart_again": statistics.median(row[1] for row in again),
                "slider_overview": slides(browser, url, "overview", "distribution"),
                "slider_network": slides(browser, url, "network", "network"),
            }
        figures |= {**compared(browser), "load": os.getloadavg()[0]}
        browser.close()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
