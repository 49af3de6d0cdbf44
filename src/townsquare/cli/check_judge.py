"""``townsquare check judge``: how the embedded judges do on arguments that people labelled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import console, number, show_json, table

if TYPE_CHECKING:
    from townsquare.humans.judges.judge_report import JudgeReport

File = Annotated[
    Path | None, Parameter(name="FILE", help="CSV or JSON lines with topic, side, argument and perhaps quality.")
]
Bank = Annotated[Path | None, Parameter(help="Other arguments on the same topics, which 'as shipped' learns from.")]
Quality = Annotated[str, Parameter(help="The column of ratings; by default quality, WA, MACE-P, strength or score.")]
Sample = Annotated[Path | None, Parameter(help="A run, to write texts of for labelling instead.")]
SampleOut = Annotated[Path | None, Parameter(help="With --sample: the CSV to write; by default RUN/to-label.csv.")]
Count = Annotated[int, Parameter(name="--texts", help="With --sample: how many texts.")]
DIGITS = 3
PAPER = {
    "finds a claim": "0.970",
    "exactly one": "0.770",
    "several": "0.200",
    "strongest claim: accuracy": "0.969",
    "its macro F1": "0.969",
    "strength r": "0.720",
}
MEASURES = (
    ("extraction", "finds a claim"),
    ("exact_one", "exactly one"),
    ("over_split", "several"),
    ("false_claims", "off topic"),
    ("strongest_accuracy", "strongest claim: accuracy"),
    ("strongest_f1", "its macro F1"),
    ("accuracy", "whole text: accuracy"),
    ("macro_f1", "macro F1"),
    ("pearson", "strength r"),
    ("spearman", "rho"),
)
BY_TOPIC = ("n", "extraction", "exact_one", "accuracy", "macro_f1", "pearson", "spearman")


def judge(
    file: File = None,
    /,
    *,
    bank: Bank = None,
    quality: Quality = "",
    sample: Sample = None,
    out: SampleOut = None,
    texts: Count = 100,
    seed: options.Seed = None,
    as_json: options.AsJson = False,
) -> int:
    """Judge every argument of a file by the embedded judges and compare with its labels, beside simple baselines.

    With --sample RUN, write texts of a run to label: fill the columns side (pro, con, none) and quality, then give
    the file to this command.
    """
    from townsquare.core.errors import SettingError
    from townsquare.humans.judges.judge_report import judge_report

    if (file is None) == (sample is None):
        got = "neither" if file is None else "both"
        raise SettingError("FILE or --sample", got=got, allowed="one of the two")
    if sample is not None:
        return _write_sample(sample, out or sample / "to-label.csv", texts, seed or 0, as_json=as_json)
    assert file is not None
    found = judge_report(file, bank, quality)
    if as_json:
        show_json({"event": "result", **_plain(found)})
    else:
        _show(found)
    return 0


def _write_sample(folder: Path, out: Path, texts: int, seed: int, *, as_json: bool) -> int:
    from townsquare.core.errors import SettingError
    from townsquare.humans.judges.label_sample import sample_to_label
    from townsquare.record.run import Run

    if out.exists():
        raise SettingError("--out", got=f"{out}, which is there", allowed="a new file", do="labels may be in it")
    rows = sample_to_label(Run.open(folder), texts, seed)
    rows.write_csv(out)
    if as_json:
        show_json({"event": "result", "sample": str(out), "rows": rows.height})
    else:
        print(f"{rows.height} rows to label in {out}: side is pro, con or none; quality is a number or empty")
        print(f"then: townsquare check judge {out}")
    return 0


def _plain(found: JudgeReport) -> dict[str, object]:
    return {
        "file": found.place,
        "n": found.n,
        "columns": found.columns,
        "overall": [scores._asdict() for scores in found.overall],
        "by_topic": [scores._asdict() for scores in found.by_topic],
        "notices": list(found.notices),
        "paper": PAPER,
    }


def _show(found: JudgeReport) -> None:
    print(f"{found.n:,} arguments on {len(found.topics)} topics in {found.place}\n")
    rows = [
        (title, *(number(getattr(scores, name), DIGITS) for scores in found.overall), PAPER.get(title, ""))
        for name, title in MEASURES
    ]
    methods = tuple(scores.method for scores in found.overall)
    console().print(table("", ("", *methods, "paper"), rows, right=(*methods, "paper")))
    if len(found.topics) > 1:
        cells = [
            (scores.topic, scores.method, *(number(getattr(scores, name), DIGITS) for name in BY_TOPIC))
            for scores in found.by_topic
        ]
        titles = ("n", *(dict(MEASURES)[name] for name in BY_TOPIC[1:]))
        console().print(table("By topic", ("topic", "method", *titles), cells, right=titles))
    for notice in found.notices:
        print(f"- {notice}")
    print("- the paper's numbers are of language models on 100 arguments of other topics, and of a fine-tuned DeBERTa")
