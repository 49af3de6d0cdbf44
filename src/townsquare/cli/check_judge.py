"""``townsquare check judge``: how the embedded judges do on arguments that people labeled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from townsquare.cli import options
from townsquare.cli.console import answer, digits, picked, show, show_json
from townsquare.core.documents import bundled_labels

if TYPE_CHECKING:
    from townsquare.humans.judges.judge_report import JudgeReport


DIGITS = 3
MEASURES = tuple((name, title, paper) for name, (title, paper) in bundled_labels("judge_scores").items())
"""Measures by name, with their titles and the numbers of the paper."""
BY_TOPIC = ("n", "extraction", "exact_one", "accuracy", "macro_f1", "pearson", "spearman")


def judge(
    file: Path | None = None,
    /,
    *,
    bank: Path | None = None,
    quality: str = "",
    sample: Path | None = None,
    out: Path | None = None,
    texts: options.Whole = 100,
    seed: options.Seed = None,
    as_json: options.AsJson = False,
) -> int:
    """Judge every argument of a file with the embedded judges and compare with its labels and simple baselines.

    With --sample RUN, write texts of a run to label: fill in the columns side (pro, con, none) and quality, then pass
    the file to this command.

    Parameters
    ----------
    file
        CSV or JSON lines with topic, side, argument and optionally quality; required without --sample.
    bank
        Other labeled arguments on the same topics, from which the judge 'as shipped' learns the sides.
    quality
        Column of ratings; default: quality, WA, MACE-P, strength or score.
    sample
        A run from which to write texts to label.
    out
        With --sample: output CSV; default: RUN/to-label.csv.
    texts
        With --sample: number of texts.
    """
    from townsquare.core.errors import SettingError
    from townsquare.humans.judges.judge_report import judge_report

    if (file is None) == (sample is None):
        got = "neither" if file is None else "both"
        raise SettingError("FILE or --sample", got=got, allowed="only one of the two")
    if sample is not None:
        return _write_sample(sample, out or sample / "to-label.csv", texts, seed or 0, as_json=as_json)
    assert file is not None
    report = judge_report(file, bank, quality)
    if as_json:
        facts = picked(report, "file=location", "n", "columns", "overall", "by_topic", "notices")
        return show_json({"event": "result", **facts, "paper": {title: paper for _, title, paper in MEASURES if paper}})
    _show(report)
    return 0


def _write_sample(folder: Path, out: Path, texts: int, seed: int, *, as_json: bool) -> int:
    from townsquare.core.errors import SettingError
    from townsquare.humans.judges.label_sample import sample_to_label
    from townsquare.record.run import Run

    if out.exists():
        raise SettingError("--out", got=f"{out} already exists", do="choose another file: this one may contain labels")
    rows = sample_to_label(Run.open(folder), texts, seed)
    rows.write_csv(out)
    text = f"{rows.height} rows to label in {out}: set side to pro, con or none, and quality to a number or empty"
    facts = {"event": "result", "sample": str(out), "rows": rows.height}
    return answer(facts, text, f"Next: townsquare check judge {out}", as_json=as_json)


def _show(report: JudgeReport) -> None:
    print(f"{report.n:,} arguments on {len(report.topics)} topics in {report.location}\n")
    rows = [(title, *(getattr(each, name) for each in report.overall), paper) for name, title, paper in MEASURES]
    methods = [scores.method for scores in report.overall]
    show("", rows, (str, ""), (digits(DIGITS), *methods), (str, "paper"), words=[""])
    if len(report.topics) > 1:
        titles = {name: title for name, title, _ in MEASURES}
        columns = [f"{titles.get(name, name)}={name}" for name in BY_TOPIC]
        show("By topic", report.by_topic, (str, "topic", "method"), (digits(DIGITS), *columns))
    for notice in report.notices:
        print(f"- {notice}")
    print("- The paper's numbers: language models on 100 arguments on other topics, and a fine-tuned DeBERTa.")
