"""One debate: who says what to whom, what it does, and that it depends on nothing but its settings."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from raised_errors import raises_error
from townsquare.core import registry
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.errors import ContractError, SettingError, UnknownName
from townsquare.debate.contract import Utterance
from townsquare.debate.members.bank_speaker import NOTHING_LEFT
from townsquare.debate.members.scripted_speaker import SILENT
from townsquare.debate.record import content_hash, trial_record
from townsquare.debate.resolve import ResolvedDebate, resolve_debates
from townsquare.debate.settings import CON, PRO
from townsquare.debate.start import begin_at, check_starts
from townsquare.debate.trial import debate
from townsquare.models.prompts.bands import TEN_BINS
from townsquare.settings.base import MemberParams
from townsquare.testing.debate_conformance import check_debater, check_speaker, check_stance_judge

CHECKS = {"speaker": check_speaker, "debater": check_debater, "stance_judge": check_stance_judge}


def resolved(*layers: dict[str, Any], **settings: Any) -> ResolvedDebate:
    return resolve_debates({"rounds": 4}, *layers, settings)


def texts(found: ResolvedDebate, trial: int = 1) -> list[str]:
    return [spoken.text for spoken in debate(found, trial).turns]


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in CHECKS for name in registry.bundled(family)])
def test_every_member_keeps_its_contract(family, name):
    CHECKS[family](registry.get(family, name))


def test_turns_follow_one_another():
    held = debate(resolved(), 1)
    assert [spoken.turn.round for spoken in held.turns] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert {held.turns[0].turn.side, held.turns[1].turn.side} == {PRO, CON}
    for one, two in zip(held.turns, held.turns[1:], strict=False):
        assert two.before == one.after
        assert two.turn.message == one.text
    assert held.turns[0].turn.message == ""
    assert [line.text for line in held.turns[7].turn.dialogue] == [spoken.text for spoken in held.turns[1:7]]


def test_a_speaker_is_given_its_stance_in_words_and_its_evidence():
    held = debate(resolved({"pro": {"persona": "A nurse."}}), 1)
    for spoken in held.turns:
        turn = spoken.turn
        assert turn.stance == spoken.before[turn.side]
        assert turn.instruction == TEN_BINS[min(9, int((turn.stance + 1) * 5))]
        assert len(turn.retrieved) == 5
        assert turn.persona == ("A nurse." if turn.side == PRO else "")
        assert turn.statement == "We should introduce compulsory voting"


def test_changes_sum_to_the_move_in_log_odds():
    for spoken in debate(resolved({"evidence": {"own_claims": True, "theta_self": 0.15}}, u=0.8), 2).turns:
        for side in (PRO, CON):
            amount = math.fsum(move.amount for who, move in spoken.moves if who == side)
            moved = 2 * (math.atanh(spoken.after[side]) - math.atanh(spoken.before[side]))
            assert amount == pytest.approx(moved, abs=1e-9)


def test_the_opponent_is_moved_and_the_speaker_by_itself_only_if_asked():
    for spoken in debate(resolved(), 1).turns:
        assert {who for who, _ in spoken.moves} == {1 - spoken.turn.side}
    own = debate(resolved({"evidence": {"own_claims": True}}, rounds=15), 1)
    assert {who for spoken in own.turns for who, _ in spoken.moves if who == spoken.turn.side} == {PRO, CON}
    assert any(one.origin is Origin.SELF for spoken in own.turns for one in spoken.turn.retrieved)


def test_nothing_is_said_twice_and_seeds_are_kept_apart():
    held = debate(resolved(rounds=15), 1)
    said = [spoken.text for spoken in held.turns]
    assert len(set(said)) == 30
    bank = resolved().bank
    assert not set(said) & {text for text, seed in zip(bank.text, bank.seed, strict=True) if seed}


def test_when_all_has_been_said_speakers_say_so_and_move_nobody():
    held = debate(resolved(rounds=30), 1)
    assert held.turns[-1].text == NOTHING_LEFT
    assert held.turns[-1].moves == ()
    assert math.isnan(held.turns[-1].judged)


def test_the_scripted_opponent_is_the_same_in_every_trial_and_arm():
    def lines(**settings):
        held = debate(resolved({"preset": "single", "rounds": 25}, settings), 3)
        return [spoken.text for spoken in held.turns if spoken.turn.side == CON]

    assert lines() == lines(seed=9, u=1.0)
    assert lines()[-1] == SILENT
    assert len(set(lines()[:24])) == 24
    given = {"scripted": {"params": {"lines": ["No.", "Never."]}}}
    held = debate(resolved({"preset": "single"}, given), 1)
    assert [spoken.text for spoken in held.turns if spoken.turn.side == CON] == ["No.", "Never.", SILENT, SILENT]
    assert [held.claims[row].strength for s in held.turns if s.turn.side == CON for row in s.claims] == [0.5, 0.5]


def test_a_fixed_opponent_has_no_stance():
    held = debate(resolved(preset="single"), 1)
    assert all(math.isnan(spoken.before[CON]) and math.isnan(spoken.after[CON]) for spoken in held.turns)
    assert held.turns[-1].after[PRO] < held.turns[0].before[PRO]


def test_without_uptake_nobody_moves():
    held = debate(resolved(u=0.0), 1)
    assert held.turns[0].before == held.turns[-1].after


# --- draws -------------------------------------------------------------------------------------------------


def test_a_debate_is_a_function_of_its_settings():
    code = (
        "from townsquare.debate.resolve import resolve_debates as r\n"
        "from townsquare.debate.trial import debate\n"
        "from townsquare.debate.record import trial_record\n"
        "f = r({'rounds': 4}); print(trial_record(f, 2, debate(f, 2))['hash'])"
    )
    command = [sys.executable, "-c", code]
    other = subprocess.run(
        command,
        env=os.environ | {"PYTHONHASHSEED": "77", "NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = resolved()
    assert other.stdout.strip() == trial_record(found, 2, debate(found, 2))["hash"]


def test_trials_and_seeds_differ_and_arms_share_their_draws():
    assert texts(resolved()) != texts(resolved(), 2)
    assert texts(resolved()) != texts(resolved(seed=2))
    assert texts(resolved(first="pro"))[0] == texts(resolved(first="pro", u=0.9))[0]
    assert texts(resolved(first="pro")) == texts(resolved(first="pro", rounds=6))[:8]


def test_the_first_speaker_is_drawn_or_chosen():
    first = [debate(resolved(rounds=1), trial).turns[0].turn.side for trial in range(1, 13)]
    assert set(first) == {PRO, CON}
    assert debate(resolved(rounds=1, first="con"), 1).turns[0].turn.side == CON


# --- starts ------------------------------------------------------------------------------------------------


def test_ten_records_meet_the_stance_and_what_was_attained_is_recorded():
    found = resolved(anchoring=0.4)
    for side, wanted in ((PRO, 0.75), (CON, -0.75)):
        start = begin_at(found, side, 1)
        assert len(start.places) == 10
        assert abs(start.attained - wanted) <= 0.011
        assert found.bank.seed[list(start.places)].all()
        record = trial_record(found, 1, debate(found, 1))
        agent = record["agents"]["pro" if side == PRO else "con"]
        assert (agent["wanted"], agent["attained"]) == (wanted, start.attained)


def test_a_weak_anchor_needs_a_prior_scale_and_says_so():
    weak = begin_at(resolved(anchoring=0.2), PRO, 1)
    assert weak.prior_scale > 1.5
    assert weak.attained == pytest.approx(0.75, abs=0.011)
    plain = begin_at(resolved({"start": {"prior_scale": 1.0}}, anchoring=0.2), PRO, 1)
    assert plain.prior_scale == 1.0
    assert plain.attained < 0.72


def test_own_side_takes_what_comes():
    start = begin_at(resolved({"start": {"kind": "own_side"}}), CON, 1)
    assert start.attained < 0
    assert (resolved().bank.polarity[list(start.places)] == -1).all()


def test_a_stated_start_has_no_records():
    start = begin_at(resolved({"start": {"kind": "stated"}}, anchoring=0.5), PRO, 1)
    assert start.places == ()
    assert start.prior == pytest.approx(0.5 * math.log(1.75 / 0.25))
    held = debate(resolved({"start": {"kind": "stated"}}, anchoring=1.0), 1)
    assert held.turns[0].before[PRO] == pytest.approx(0.75)
    assert held.turns[0].turn.retrieved == ()


def test_arms_that_start_apart_are_not_compared():
    plain = {"start": {"prior_scale": 1.0}}
    arms = {f"a={a}": resolved(plain, anchoring=a) for a in (0.2, 0.4)}
    with raises_error(SettingError, where="start of pro in trial 1", got=r"\+0\.\d+ in arm a=0.2 and \+0\.7\d+ in arm"):
        check_starts(arms, [1])
    check_starts(
        {name: resolved({"start": {"prior_scale": 1.0, "tolerance": 1.0}}, anchoring=0.2) for name in arms}, [1]
    )
    check_starts({f"a={a}": resolved(anchoring=a) for a in (0.2, 0.4, 0.8)}, [1, 2, 3])


# --- settings and contracts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({"uptaek": 0.2}, {"where": "uptaek", "got": "0.2", "do": "did you mean 'uptake'"}),
        ({"evidence": {"tehta": 0.2}}, {"where": "evidence.tehta", "do": "did you mean 'evidence.theta'"}),
        ({"theta": 0.0}, {"where": "evidence.theta", "got": "0.0", "allowed": "above 0"}),
        ({"theta": 1.2}, {"where": "evidence.theta", "got": "1.2"}),
        ({"uptake": -1}, {"where": "uptake", "got": "-1"}),
        ({"speaker": "bnak"}, {"where": "speaker", "got": "'bnak'", "do": "did you mean 'bank'"}),
        ({"speaker": {"params": {"spraed": 1}}}, {"where": "speaker.params.spraed", "do": "did you mean 'spread'"}),
        ({"speaker.params.spread": -1}, {"where": "speaker.params.spread", "got": "-1"}),
        ({"pairing": "open"}, {"where": "pairing", "got": "'open'"}),
        ({"rounds": 0}, {"where": "rounds", "got": "0"}),
        ({"preset": "many"}, {"where": "preset", "got": "'many'"}),
        ({"start": {"seeds": 30}}, {"where": "number of seeds", "got": "30", "allowed": "1 to 24"}),
    ],
)
def test_settings_that_are_wrong(layer, message):
    with raises_error(SettingError, **message):
        debate(resolved(layer), 1)


def test_an_unknown_topic():
    with raises_error(UnknownName, do="did you mean 'austerity'"):
        resolved(topic="asterity")


def test_profiles_and_what_is_set_for_one_agent():
    found = resolved({"pro": {"uptake": 0.9}}, pairing="open/stubborn").settings
    assert found.profile(PRO) == (0.9, 0.20)
    assert found.profile(CON) == (0.10, 0.80)
    assert resolved({"con": {"stance": -0.2}}).settings.wanted(CON) == -0.2
    assert resolved(preset="single").settings.profile(PRO) == (0.40, 0.70)


def test_plain_settings_resolve_to_the_same():
    found = resolved({"speaker.params.spread": 0.3, "preset": "single"}, u=0.6)
    again = resolve_debates(json.loads(json.dumps(found.plain())))
    assert again == found
    assert again.plain() == found.plain()
    assert again.digest != resolved(u=0.6).digest


class Nothing(MemberParams):
    """No settings."""


def test_an_extractor_reads_what_a_speaker_does_not_declare():
    mute = registry.get("speaker", "bank")
    spoken = resolved().bank.text[20]

    def say(turn, context, params):
        return Utterance(spoken, None)

    found = resolved()
    members = {**found.members, "speaker": (type(mute)("mine", Nothing, say), Nothing())}
    with raises_error(ContractError, do="choose an extractor"):
        debate(ResolvedDebate(found.settings, members, found.bank), 1)
    reading = resolved({"evidence": {"extractor": "embedded", "strength": "constant"}})
    members = {**reading.members, "speaker": members["speaker"]}
    held = debate(ResolvedDebate(reading.settings, members, reading.bank), 1)
    assert held.turns[0].claims
    kinds = [move.kind for spoken in held.turns[2:] for _, move in spoken.moves]
    assert set(kinds) == {HoldingChange.REFUSED}  # heard again


def test_a_record_knows_itself():
    found = resolved()
    record = json.loads(json.dumps(trial_record(found, 1, debate(found, 1))))
    assert record["hash"] == content_hash(record)
    record["turns"][0]["after"][0] = 0.5
    assert record["hash"] != content_hash(record)


def test_baselines_move_without_records():
    for name in ("prompt_self_update", "rag_self_update"):
        held = debate(resolved(debater=name), 1)
        assert held.turns[0].before == (0.75, -0.75)
        assert all(move.kind is None for spoken in held.turns for _, move in spoken.moves)
        assert held.turns[-1].after[PRO] < 0.75
        assert held.turns[-1].after[CON] > -0.75
        assert bool(held.turns[-1].turn.retrieved) == (name == "rag_self_update")


def test_judged_stances_do_not_depend_on_who_spoke():
    held = debate(resolved(), 1)
    found = resolved()
    known = dict(zip(found.bank.text, found.bank.stance, strict=True))
    for spoken in held.turns:
        assert spoken.judged == pytest.approx(known[spoken.text], abs=0.05)
    assert np.isfinite([spoken.judged for spoken in held.turns]).all()
