"""Settings: layers, members' parameters, identity, and what is said when they are wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.core import registry
from townsquare.core.errors import DataError, SettingError, TownsquareError, UnknownName, WrongVersion
from townsquare.core.files import bundled_folder
from townsquare.core.identity import settings_digest
from townsquare.scenario.settings import resolve_for, resolve_with_scenario
from townsquare.settings.config import Config
from townsquare.settings.layers import merge, parse_set, read_yaml
from townsquare.settings.resolve import check_version, layers_of, resolve
from townsquare.settings.schema import SECTIONS

# --- layers ------------------------------------------------------------------------------------------------


def test_defaults_are_a_complete_configuration() -> None:
    found = resolve()
    assert found.config == Config()
    assert set(found.members) == set(found.params) == set(SECTIONS)
    for family in SECTIONS:
        assert found.member(family) in registry.names(family)
        assert found.members[family] is registry.get(family, found.member(family))
    assert found.member("beliefs") == "exposure-bounded"
    assert found.member("moderation") == "none"


def test_later_layers_win_key_by_key() -> None:
    found = resolve({"feed": {"followed": 4, "others": 3}, "steps": 5}, {"feed": {"others": 0}}, {"steps": 6})
    assert (found.config.feed.followed, found.config.feed.others, found.config.steps) == (4, 0, 6)


def test_a_word_names_the_member_and_a_dotted_key_is_a_path() -> None:
    by_word = resolve({"policy": "silent", "moderation.strategy": "hybrid", "moderation.posts_per_step": 2})
    by_mapping = resolve({"policy": {"name": "silent"}, "moderation": {"strategy": "hybrid", "posts_per_step": 2}})
    assert by_word == by_mapping
    assert by_word.params["moderation"].model_dump()["posts_per_step"] == 2


def test_an_empty_section_is_its_defaults() -> None:
    assert resolve({"feed": None, "beliefs": None}) == resolve()


def test_parameters_of_other_members_are_checked_kept_and_unused() -> None:
    base = {"moderation": {"strategy": "none", "posts_per_step": 7}}
    found = resolve(base)
    assert found.plain()["moderation"]["unused"] == {"posts_per_step": 7}
    assert "posts_per_step" not in type(found.params["moderation"]).model_fields
    chosen = resolve(base, {"moderation.strategy": "third_party"})
    assert chosen.params["moderation"].model_dump()["posts_per_step"] == 7
    assert "unused" not in chosen.plain()["moderation"]
    with raises_error(SettingError, where=r"moderation\.posts_per_step", got="-1"):
        resolve({"moderation": {"strategy": "none", "posts_per_step": -1}})


def test_one_number_of_a_nested_default_leaves_the_others() -> None:
    default = resolve({"policy": "statistical"}).params["policy"].model_dump()["like"]
    changed = resolve({"policy": {"name": "statistical", "like": {"base": -2.5}}}).params["policy"].model_dump()["like"]
    assert changed == {**default, "base": -2.5}


def test_the_key_false_may_have_been_read_as_a_truth_value() -> None:
    assert resolve({"beliefs": {"label_weight": {False: 0.5}}}).config.beliefs.label_weight.false == 0.5


def test_numbers_of_numpy_are_numbers() -> None:
    assert resolve({"seed": np.int64(4), "activation": {"rate": np.float64(0.5)}}) == resolve(
        {"seed": 4, "activation": {"rate": 0.5}}
    )


# --- identity ----------------------------------------------------------------------------------------------

CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "seed": st.integers(0, 2**63 - 1),
    "agents": st.integers(1, 1000),
    "activation.rate": st.floats(0, 1),
    "feed.comments": st.none() | st.integers(0, 3),
    "feed.ranker": st.sampled_from(registry.names("ranker")),
    "beliefs.rule": st.sampled_from(registry.names("beliefs")),
    "beliefs.label_weight": st.fixed_dictionaries({"false": st.floats(0, 1)}),
    "moderation.strategy": st.sampled_from(registry.names("moderation")),
    "moderation.posts_per_step": st.integers(0, 9),
    "population.stance": st.dictionaries(
        st.text(min_size=1, max_size=5), st.fixed_dictionaries({"mean": st.floats(-1, 1)}), max_size=2
    ),
}


@profile(deadline=None, max_examples=30)
@given(st.fixed_dictionaries({}, optional=CHANGES))
def test_the_plain_form_is_the_same_settings(changes: dict[str, Any]) -> None:
    found = resolve(changes)
    plain = found.plain()
    again = resolve(json.loads(json.dumps(plain)))
    assert again == found
    assert again.plain() == plain
    assert list(plain) == sorted(plain)
    assert found.digest == settings_digest(plain)


def test_whole_numbers_and_their_floats_are_one_configuration() -> None:
    assert resolve({"activation.rate": 1}) == resolve({"activation.rate": 1.0}) == resolve()


def test_every_setting_is_part_of_the_identity() -> None:
    digests = {resolve(layer).digest for layer in ({}, {"seed": 2}, {"record.trail": False}, {"policy": "silent"})}
    assert len(digests) == 4
    assert resolve({"serving.concurrency": 3, "budget.usd": 1}).digest == resolve().digest, "how, not what"


def test_another_version_is_refused() -> None:
    plain = resolve().plain()
    check_version(plain, "run")
    with raises_error(WrongVersion, got=r"0\.0\.0", do=r"townsquare==0\.0\.0"):
        check_version({**plain, "version": "0.0.0"}, "run")


# --- what a command line gives -----------------------------------------------------------------------------


def test_a_yaml_file_with_posts_is_a_scenario_and_another_a_configuration(tmp_path: Path) -> None:
    scenario, config = tmp_path / "tiny.yaml", tmp_path / "config.yaml"
    scenario.write_text("posts:\n  - {text: The bridge was mended}\n")
    config.write_text("steps: 3\n")
    assert layers_of(scenario)[0] == [{"scenario": str(scenario)}]
    assert layers_of(config)[0] == [{"steps": 3}, {}]


def test_layers_of_a_command_line(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("scenario: health-rumor@1\nsteps: 7\nagents: 70\nseed: 3\nfeed: {followed: 9}\n")
    found = resolve_for(None, file, ["feed.followed=11", "moderation.strategy=none"], agents=80, steps=None)
    config = found.config
    assert (config.steps, config.agents, config.seed, config.feed.followed) == (7, 80, 3, 11)
    assert config.moderation.strategy == "none"
    assert config.injection.posts_per_step == 4  # only the scenario says so
    assert resolve_for("health-rumor@1").config.moderation.strategy == "hybrid"


def test_a_scenario_beside_the_file_is_found(tmp_path: Path) -> None:
    folder = shutil.copytree(bundled_folder() / "scenarios" / "health-rumor", tmp_path / "mine")
    (tmp_path / "config.yaml").write_text("scenario: ./mine\n")
    found = resolve_for(None, tmp_path / "config.yaml")
    assert Path(found.config.scenario) == folder


def test_a_changed_scenario_is_another_configuration(tmp_path: Path) -> None:
    folder = shutil.copytree(bundled_folder() / "scenarios" / "health-rumor", tmp_path / "mine")
    before = resolve_for(str(folder))
    posts = (folder / "posts.csv").read_text(encoding="utf-8")
    (folder / "posts.csv").write_text(posts.replace("flu", "FLU", 1), encoding="utf-8")
    after = resolve_for(str(folder))
    assert after.scenario_digest != before.scenario_digest
    assert after.digest != before.digest
    with raises_error(DataError, got="changed later"):
        resolve_with_scenario(before.plain())


def test_plain_settings_in_a_file_resolve_to_the_same_run(tmp_path: Path) -> None:
    first = resolve_for("health-rumor@1", None, ["policy=blind", "beliefs.tolerance=0.3"], seed=5)
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(first.plain()))
    assert resolve_for(None, file) == first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("moderation.strategy=none", {"moderation": {"strategy": "none"}}),
        ("policy=blind", {"policy": "blind"}),
        ("a=null", {"a": None}),
        ("a=~", {"a": None}),
        ("a=", {"a": None}),
        ("a=true", {"a": True}),
        ("a=False", {"a": False}),
        ("a=1", {"a": 1}),
        ("a=1e-3", {"a": 0.001}),
        ("a=-.5", {"a": -0.5}),
        ("a=[1, x, none]", {"a": [1, "x", "none"]}),
        ("a={b: 1}", {"a": {"b": 1}}),
        ("a='1'", {"a": "1"}),
        ("a=2020-01-01", {"a": "2020-01-01"}),
        (" a . b =c=d", {"a": {"b": "c=d"}}),
    ],
)
def test_values_of_set_are_yaml(text: str, expected: dict[str, Any]) -> None:
    assert parse_set(text) == expected


@given(
    st.recursive(
        st.dictionaries(st.sampled_from("abc"), st.integers()),
        lambda below: st.dictionaries(st.sampled_from("abc"), below | st.integers(), max_size=3),
        max_leaves=6,
    )
)
@profile(deadline=None, max_examples=50)
def test_merging_changes_nothing_it_is_given(layer: dict[str, Any]) -> None:
    before = json.dumps(layer, sort_keys=True)
    merged = merge(layer, {"a": {"b": 1}}, layer)
    assert json.dumps(layer, sort_keys=True) == before
    assert merge(layer, layer) == layer
    assert all(isinstance(value, dict) or merged[key] == value for key, value in layer.items())


# --- what is said when it is wrong ---------------------------------------------------------------------------

WRONG: list[tuple[Any, type[TownsquareError], str]] = [
    (
        {"strategy": "none"},
        UnknownName,
        {"where": "strategy", "got": "'none'", "do": r"did you mean 'moderation\.strategy'"},
    ),
    ({"rule": "exposure"}, UnknownName, {"do": r"did you mean 'beliefs\.rule'"}),
    ({"stpes": 3}, UnknownName, {"where": "stpes", "got": "3", "do": "did you mean 'steps'"}),
    (
        {"feed": {"folowed": 3}},
        UnknownName,
        {"where": r"feed\.folowed", "got": "3", "do": r"did you mean 'feed\.followed'"},
    ),
    ({"feed": {"label_weight": 3}}, UnknownName, {"do": r"did you mean 'beliefs\.label_weight'"}),
    (
        {"beliefs": {"epsilom": 3}},
        UnknownName,
        {"where": r"beliefs\.epsilom", "got": "3", "allowed": "a setting of beliefs: rule"},
    ),
    ({"zzzz": 1}, UnknownName, {"where": "zzzz", "got": "1", "allowed": "a setting: scenario, seed"}),
    ({"": 1}, UnknownName, {"got": "1"}),
    (
        {"beliefs": "exposre"},
        UnknownName,
        {"where": r"beliefs\.rule", "got": "'exposre'", "do": "did you mean 'exposure'"},
    ),
    ({"moderation.strategy": "third-party"}, UnknownName, {"do": "did you mean 'third_party'"}),
    (
        {"moderation": {"strategy": False}},
        SettingError,
        {"where": r"moderation\.strategy", "got": "false", "allowed": "a text"},
    ),
    ({"policy": 3}, SettingError, {"where": "policy", "got": "3", "allowed": "a mapping, or the name of a member"}),
    ({"feed": [1]}, SettingError, {"where": "feed", "got": r"\[1\]"}),
    ({"population": "x"}, SettingError, {"where": "population", "got": "'x'", "allowed": "a mapping"}),
    (
        {"steps": "many"},
        SettingError,
        {"where": "steps", "got": "'many'", "allowed": "a whole number from 1 to 1000000"},
    ),
    ({"steps": True}, SettingError, {"where": "steps", "got": "true"}),
    ({"steps": 2.0}, SettingError, {"where": "steps", "got": r"2\.0"}),
    ({"steps": 0}, SettingError, {"where": "steps", "got": "0"}),
    ({"steps": None}, SettingError, {"where": "steps", "got": "null"}),
    ({"agents": 10**12}, SettingError, {"where": "agents", "got": "1000000000000"}),
    ({"seed": -1}, SettingError, {"where": "seed", "got": "-1"}),
    ({"seed": 2**64}, SettingError, {"where": "seed", "got": "18446744073709551616"}),
    ({"scenario": 3}, SettingError, {"where": "scenario", "got": "3", "allowed": "a text"}),
    (
        {"activation.rate": 1.5},
        SettingError,
        {"where": r"activation\.rate", "got": r"1\.5", "allowed": "a number from 0 to 1"},
    ),
    ({"activation.rate": float("nan")}, SettingError, {"got": "NaN"}),
    ({"activation.rate": "0.5"}, SettingError, {"got": "'0.5'"}),
    ({"population.activity_shape": 0}, SettingError, {"allowed": "a number above 0"}),
    ({"feed.comments": 9}, SettingError, {"allowed": "a whole number from 0 to 3, or null"}),
    ({"feed.show_labels": 1}, SettingError, {"allowed": "true or false"}),
    ({"injection.order": "random"}, SettingError, {"got": "'random'", "allowed": "file, shuffled"}),
    (
        {"actions.enabled": ["like", "lik"]},
        SettingError,
        {"where": r"actions\.enabled\.1", "got": "'lik'", "allowed": "post, like"},
    ),
    ({"population.stance.x.kind": "nrmal"}, SettingError, {"where": r"population\.stance\.x\.kind", "got": "'nrmal'"}),
    ({"beliefs.label_weight.false": 2}, SettingError, {"where": r"beliefs\.label_weight\.false", "got": "2"}),
    ({"beliefs.label_weight.flase": 2}, UnknownName, {"do": r"did you mean 'beliefs\.label_weight\.false'"}),
    ({"beliefs.pull": -1}, SettingError, {"where": r"beliefs\.pull", "got": "-1", "allowed": "a number from 0 to 1"}),
    ({"beliefs.unused": 3}, SettingError, {"where": r"beliefs\.unused", "got": "3", "allowed": "a mapping"}),
    ({"graph.kind": "file"}, SettingError, {"where": r"graph\.path", "got": "nothing", "allowed": "a text"}),
    (
        {"policy": {"name": "mix", "members": [{"name": "silent", "share": 1, "params": {"x": 1}}]}},
        SettingError,
        {"where": r"policy\.members\.0\.x: got 1"},
    ),
    ({"policy": {"name": "mix", "members": []}}, SettingError, {"where": r"policy\.members", "got": r"\[\]"}),
    ({"agents": object()}, SettingError, {"got": "a value of type object"}),
]


@pytest.mark.parametrize(("layer", "kind", "words"), WRONG)
def test_what_is_wrong_is_named(layer: dict[str, Any], kind: type[TownsquareError], words: dict[str, str]) -> None:
    with raises_error(kind, **words):
        resolve(layer)


def test_everything_that_is_wrong_is_listed() -> None:
    with pytest.raises(SettingError) as caught:
        resolve({"steps": 0, "agents": "x", "beliefs": {"rule": "exposre"}, "polcy": 1})
    text = str(caught.value)
    assert text.startswith("4 settings are wrong")
    assert all(word in text for word in ("steps: got 0", "agents: got 'x'", "beliefs.rule", "did you mean 'policy'"))


def test_a_wrong_setting_of_a_file_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("steps: 3\nfeed:\n  others: 2\n  folowed: 3\n")
    with raises_error(UnknownName, where=r"feed\.folowed \(.*config\.yaml, line 4\)"):
        resolve_for(None, file)
    with pytest.raises(SettingError) as caught:
        resolve_for(None, file, ["feed.folowed=4"])
    assert "line 4" not in str(caught.value)


def test_a_wrong_setting_of_a_scenario_names_the_scenario(tmp_path: Path) -> None:
    folder = shutil.copytree(bundled_folder() / "scenarios" / "health-rumor", tmp_path / "mine")
    shutil.copy(folder / "scenario@1.yaml", folder / "scenario.yaml")
    text = (folder / "scenario.yaml").read_text(encoding="utf-8").replace("agents: 300", "agents: 0")
    (folder / "scenario.yaml").write_text(text, encoding="utf-8")
    with raises_error(SettingError, where=r"agents.*scenario"):
        resolve_for(str(folder))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"steps: 1\nsteps: 2", {"where": "line 2", "got": "the key 'steps' twice"}),
        (b"feed:\n  pool: 1\n  pool: 2", {"where": "line 3", "got": "the key 'pool' twice"}),
        (b"a: 1\nb: \xff", {"where": "line 2", "got": "the byte 0xff", "allowed": "UTF-8"}),
        (b"- steps", {"got": "list", "allowed": "a mapping of settings"}),
        (b"word", {"got": "str", "allowed": "a mapping"}),
        (b"a: [1", {"where": "line 1"}),
        (b"a: &x 1\nb: *x", {"where": "line 2", "got": "an alias"}),
        (b"[a]: 1", {"where": "line 1", "got": "a key that is no word"}),
        (b"a: !!python/object:os.system x", {"where": "line 1"}),
        (b"a: 1\n---\nb: 2", {"where": "line 2"}),
        (b"a: \x07", {"got": "control characters are not allowed"}),
        (b"[" * 5000, {"where": r"config\.yaml"}),
    ],
)
def test_files_that_are_no_settings(tmp_path: Path, content: bytes, words: dict[str, str]) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(content)
    with raises_error(DataError, **words):
        read_yaml(file)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with raises_error(DataError, got="No such file"):
        read_yaml(tmp_path / "no.yaml")
    with raises_error(DataError, got="irectory"):
        read_yaml(tmp_path)


def test_an_empty_file_and_one_with_a_mark_are_read(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"")
    assert read_yaml(file) == ({}, {})
    file.write_bytes(b"\xef\xbb\xbfsteps: 3 # none\nmoderation: {strategy: none}")
    assert read_yaml(file)[0] == {"steps": 3, "moderation": {"strategy": "none"}}


@pytest.mark.parametrize("text", ["a", "=1", "a.=1", ".a=1", "a..b=1", "a=[1", "a=@x", "a=\x00", ""])
def test_set_that_is_none(text: str) -> None:
    with raises_error(SettingError, where="--set"):
        parse_set(text)


# --- files that settings name ------------------------------------------------------------------------------


def test_a_number_as_a_key_is_no_truth_value() -> None:
    script = [{"step": 1, "agent": 0, "action": "post", "text": "So.", "stance": {0: 0.5, 1: -0.5}}]
    found = resolve({"policy": {"name": "scripted", "script": script}})
    assert found.params["policy"].model_dump()["script"][0]["stance"] == {0: 0.5, 1: -0.5}
    starts: dict[Any, Any] = {1: {"mean": 0.5}, False: {"mean": 0.0}}
    assert list(resolve({"population": {"stance": starts}}).config.population.stance) == ["1", "false"]


def test_what_was_meant_in_a_line_of_a_script_is_not_looked_for_elsewhere() -> None:
    line = {"step": 1, "agent": 0, "action": "like", "kind": "like"}
    with pytest.raises(UnknownName) as caught:
        resolve({"policy": {"name": "scripted", "script": [line]}})
    assert "did you mean" not in str(caught.value)
    del line["kind"]
    with raises_error(UnknownName, do=r"did you mean 'policy\.script\.0\.agent'"):
        resolve({"policy": {"name": "scripted", "script": [{**line, "agents": 1}]}})
