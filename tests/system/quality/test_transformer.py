"""The DeBERTa strength judge, on a tiny model and tokenizer made here. Run by `make test-quality`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from raised_errors import raises_error

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from fine_tune_quality import FineTuning, fine_tune
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, PreTrainedTokenizerFast

from townsquare.beliefs.evidence.transformer import Params, QualityRegressor
from townsquare.core import registry
from townsquare.core.errors import DataError, SettingError

STATEMENT = "We should plant trees"
GOOD = [f"because shade cools streets in year {n}" for n in range(12)]
BAD = [f"lol trees whatever {n}" for n in range(12)]
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]


def make_base(folder: Path) -> Path:
    """A DeBERTa-v3 of two layers and 16 units with random weights, and a tokenizer of whole words."""
    words = sorted({word for text in [STATEMENT, *GOOD, *BAD] for word in text.split()})
    vocabulary = {word: place for place, word in enumerate(SPECIAL + words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = DebertaV2Config(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, relative_attention=True, position_buckets=16, norm_rel_ebd="layer_norm",
        share_att_key=True, pos_att_type=["p2c", "c2p"], num_labels=1, pooler_hidden_size=16,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def tuned(base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    out = tmp_path_factory.mktemp("tuned")
    settings = FineTuning(epochs=20, batch=8, rate=5e-3, longest=32)
    quality = [0.9] * len(GOOD) + [0.1] * len(BAD)
    return out, fine_tune(base, GOOD + BAD, [STATEMENT] * 24, quality, out, settings)


def test_fine_tuning_learns_the_ratings(tuned: tuple[Path, list[float]]) -> None:
    folder, losses = tuned
    assert losses[-1] < losses[0] / 4
    rated = QualityRegressor.load(folder).rate(GOOD + BAD, [STATEMENT] * 24)
    assert rated[:12].min() > rated[12:].max()
    assert ((rated >= 0) & (rated <= 1)).all()


def test_a_rating_does_not_depend_on_the_batch_or_the_order(tuned: tuple[Path, list[float]]) -> None:
    judge = QualityRegressor.load(tuned[0])
    texts = [*GOOD[:5], *BAD[:2], "because"]
    one = judge.rate(texts, [STATEMENT] * 8, batch=8)
    other = judge.rate(texts[::-1], [STATEMENT] * 8, batch=3)[::-1]
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_same_seed_gives_the_same_model(base: Path, tmp_path: Path) -> None:
    settings = FineTuning(epochs=2, batch=8, rate=1e-3, seed=5)
    rated = []
    for name in ("a", "b"):
        fine_tune(base, GOOD + BAD, [STATEMENT] * 24, [0.5] * 24, tmp_path / name, settings)
        rated.append(QualityRegressor.load(tmp_path / name).rate(GOOD, [STATEMENT] * 12))
    np.testing.assert_array_equal(*rated)


def test_it_is_a_strength_judge(tuned: tuple[Path, list[float]]) -> None:
    judge = registry.get("strength", "transformer")
    strength = judge.estimate(GOOD[:2], [STATEMENT] * 2, Params(model=str(tuned[0]), batch=1))
    assert strength.shape == (2,)
    assert strength.dtype == np.float64
    assert judge.estimate([], [], Params(model=str(tuned[0]))).shape == (0,)


def test_errors_name_what_is_wrong(base: Path, tmp_path: Path) -> None:
    with raises_error(SettingError, allowed="folder of a fine-tuned model"):
        QualityRegressor.load(tmp_path / "missing")
    with raises_error(SettingError, allowed="a model and tokenizer"):
        QualityRegressor.load(tmp_path)
    with raises_error(DataError, got="outside"):
        fine_tune(base, ["a"], [STATEMENT], [1.5], tmp_path / "x")
    with raises_error(DataError, got="0 texts"):
        fine_tune(base, [], [], [], tmp_path / "x")
