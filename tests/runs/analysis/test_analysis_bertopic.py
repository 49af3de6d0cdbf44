"""Topics by BERTopic, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("bertopic", reason="needs BERTopic: `pip install 'townsquare[topics]'`")
pytest.importorskip("umap", reason="needs umap-learn, which comes with BERTopic")

from townsquare.analysis.bertopic_topics import FEWEST, bertopic_topics
from townsquare.analysis.topics import topics
from townsquare.scenario.settings import resolve_for
from townsquare.simulation.run import simulate

WORDS = {
    "garden": ["soil", "tomato", "seed", "compost", "spring", "rake", "bean", "flower"],
    "harbor": ["boat", "tide", "anchor", "sail", "fish", "wharf", "rope", "captain"],
    "kitchen": ["oven", "flour", "butter", "recipe", "knife", "sugar", "dough", "spoon"],
}


def test_planted_topics_are_found() -> None:
    rng = np.random.default_rng(1)
    kinds = [kind for kind in WORDS for _ in range(40)]
    texts = [" ".join(rng.choice(WORDS[kind], 6)) for kind in kinds]
    found, names = bertopic_topics(texts, 5)
    assert found.shape == (120,)
    for topic, name in enumerate(names):
        inside = {kinds[k] for k in np.flatnonzero(found == topic)}
        assert len(inside) == 1, "a cluster holds one kind"
        assert set(name.split()) <= set(WORDS[inside.pop()])
    assert (found >= 0).mean() > 0.7
    again, _ = bertopic_topics(texts, 5)
    assert (again == found).all()


def test_few_texts_have_no_topics() -> None:
    found, names = bertopic_topics(["one text"] * (FEWEST - 1))
    assert (found == -1).all()
    assert names == []


def test_a_run_by_it() -> None:
    run = simulate(resolve_for("health-rumor@1", None, [], agents=100, steps=6))
    frame = topics(run, find=bertopic_topics)
    assert set(frame["source"]) <= {"given", "found"}
