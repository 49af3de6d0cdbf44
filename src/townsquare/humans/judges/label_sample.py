"""Sample texts of a run for people to label (``check judge``)."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.contract import Reads
from townsquare.core.draws import chain, text_key
from townsquare.core.enums import PostKind
from townsquare.core.errors import RecordError, SettingError

COLUMNS = ("topic", "side", "argument", "quality", "post")
_FORMULA = ("=", "+", "-", "@", "\t")


def sample_to_label(run: Reads, n: int, seed: int = 0) -> pl.DataFrame:
    """Return texts of a run with empty cells for a side and a rating.

    Every text is drawn once, whoever wrote or shared it, and stands once for each proposition of the run. Which texts
    are drawn follows from their words and the seed, not from their order.

    Parameters
    ----------
    run : Reads
        A recorded run.
    n : int
        Texts to draw, at least 1; all if there are fewer.
    seed : int
        Another seed draws other texts.

    Returns
    -------
    DataFrame
        ``topic`` (the statement), ``side`` (empty: pro, con, or none where the text holds no argument on the topic),
        ``argument``, ``quality`` (empty: a number, more is better, or left empty), ``post`` (int32, the first post
        with that text). A text that a spreadsheet would run as a formula has a space before it.

    Raises
    ------
    SettingError
        ``n`` below 1.
    RecordError
        Nothing was written in the run, or it has no propositions.
    """
    if n < 1:
        raise SettingError("n", got=str(n), allowed="a whole number of at least 1")
    texts = run.table("texts").get_column("content").to_list()
    statements = run.table("propositions").get_column("text").to_list()
    posts = run.table("posts").filter(pl.col("kind") != PostKind.SHARE, pl.col("text") >= 0)
    written = posts.group_by("text").agg(pl.col("post").min()).sort("post")
    first = {texts[text]: post for text, post in reversed(written.select("text", "post").rows())}
    first.pop("", None)
    if not first or not statements:
        got = "no texts" if statements else "no propositions"
        raise RecordError("the run", got=got, allowed="a run in which something was written on a proposition")
    drawn = sorted(first, key=lambda text: (chain(seed, text_key(text)), text))[:n]
    rows = [(statement, "", _plain(text), "", first[text]) for text in drawn for statement in statements]
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS[:4], pl.String) | {"post": pl.Int32}, orient="row")


def _plain(text: str) -> str:
    return f" {text}" if text.startswith(_FORMULA) else text
