"""Figure: what changed minds, by the truth of what was shown, by label and by author."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from townsquare.analysis.beliefs import names
from townsquare.analysis.causes.attribution import attributions
from townsquare.analysis.contract import Reads, setting
from townsquare.core.frames import collected
from townsquare.pages.report.axes import NICE, tick
from townsquare.pages.report.section import Panel, Section, Table
from townsquare.pages.report.svg import clean, panel
from townsquare.pages.report.theme import colour
from townsquare.pages.report.words import count, number, significant

TITLE = "Attribution: what changed minds"
MOST = 8
"""Authors and posts that are drawn and listed."""
KINDS = ("veracity", "label", "author", "post")
MOST_JOINED, MOST_ROWS = 2_000_000, 20_000_000
"""Rows of the trail up to which labels and authors are looked up, and up to which they are summed at all."""
MOST_DRAWN = 2
"""Propositions with panels."""
_NOTE = (
    "Contributions are those of the rule's own trail and sum to the recorded change. They say what the rule counted, "
    "not what would have happened without: for that, see “townsquare counterfactual”."
)


def attribution_section(run: Reads) -> Section:
    """The figure, from a run."""
    if not setting(run, "record", "trail", default=True):
        return Section("attribution", TITLE, ["This run was recorded without a trail, so nothing can be attributed."])
    rows = int(run.lazy("trail").select(pl.len()).pipe(collected).item())
    if rows > MOST_ROWS:
        return Section("attribution", TITLE, [f"The trail has {number(rows)} rows: “townsquare attribute” sums them."])
    by = attributions(run, KINDS if rows <= MOST_JOINED else ("veracity", "post"))
    if not by["veracity"].height:
        return Section("attribution", TITLE, ["No belief moved, so there is nothing to attribute."])
    listed = names(run).head(MOST_DRAWN)
    notes = [_NOTE]
    if rows > MOST_JOINED:
        notes.append("In a run as large as this, “townsquare attribute” sums contributions by label and author.")
    if names(run).height > MOST_DRAWN:
        notes.append(f"Panels show the first {MOST_DRAWN} propositions; the tables hold all.")
    return Section(
        "attribution",
        TITLE,
        says=[_sentence(row, by["veracity"]) for row in names(run).iter_rows(named=True)],
        notes=notes,
        panels=[one for row in listed.iter_rows(named=True) for one in _panels(row, by)],
        tables=[_table(kind, by[kind]) for kind in by],
    )


def _sentence(row: dict[str, object], groups: pl.DataFrame) -> str:
    mine = groups.filter(pl.col("proposition") == row["proposition"])
    if not mine.height:
        return f"{clean(str(row['name']), 60)}: nothing moved anybody."
    sums = dict(mine.select("what", "per_person").rows())
    whole = sum(sums.values())
    parts = [f"{_word(what)} {significant(value, 2, signed=True)}" for what, value in sums.items()]
    changed = f"the mean stance changed by {significant(whole, 2, signed=True)}"
    return f"{clean(str(row['name']), 60)}: {changed}; of that, {'; '.join(parts)}."


def _word(what: str) -> str:
    words = {"true": "true posts", "false": "false posts", "unknown": "posts of unknown truth"}
    return words.get(what, clean(what, 40))


def _panels(row: dict[str, object], by: dict[str, pl.DataFrame]) -> list[Panel]:
    name, number_ = clean(str(row["name"]), 40), row["proposition"]
    titles = {
        "veracity": "by truth of what was shown",
        "label": "by label shown with it",
        "author": "by who passed it on",
    }
    found = []
    for kind, title in titles.items():
        mine = by[kind].filter(pl.col("proposition") == number_).head(MOST) if kind in by else pl.DataFrame()
        if mine.height:
            caption = f"{name}: change {title}"
            drawn = panel(_bars(mine), f"attribution-{kind}-{number_}", caption)
            found.append(Panel(caption, drawn))
    return found


def _bars(groups: pl.DataFrame):  # type: ignore[no-untyped-def]
    def draw(axes: Axes) -> None:
        shown = groups.reverse()
        labels = [clean(_word(what), 24) for what in shown["what"]]
        shades = [colour({"true": "true", "false": "false"}.get(what, "unknown")) for what in shown["what"]]
        axes.barh(range(shown.height), shown["per_person"].to_numpy(), color=shades, height=0.62)
        axes.set_yticks(range(shown.height), labels, fontsize=10.5)
        axes.axvline(0.0, color=colour("ink"), linewidth=0.9)
        axes.grid(False, axis="y")
        axes.grid(True, axis="x")
        axes.set_xlabel("mean change of stance")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=NICE))
        axes.xaxis.set_major_formatter(FuncFormatter(tick))

    return draw


def _table(kind: str, groups: pl.DataFrame) -> Table:
    titles = {"veracity": "By truth", "label": "By label", "author": "By author", "post": "By post"}
    shown = groups.group_by("proposition", maintain_order=True).head(MOST if kind in ("author", "post") else 50)
    cells = [
        [clean(row["name"], 40), _word(clean(row["what"], 90)), number(row["rows"]), number(row["agents"]),
         significant(row["per_person"], signed=True), significant(row["gross"])]
        for row in shown.iter_rows(named=True)
    ]  # fmt: skip
    head = ["proposition", kind, "rows", "people", "mean change", "pulled in all"]
    left = groups.height - shown.height
    note = f"The largest of each proposition; {count(left, 'group')} more in the CSV." if left > 0 else ""
    return Table(titles[kind], head, cells, frozenset({0, 1}), note)
