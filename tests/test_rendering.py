import copy
import functools
import pickle
import sys
import time
from typing import get_args

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled, ResetNeeded
from named import make_aec
from pettingzoo.test import render_test

import thud_env
from thud_env import Position
from thud_env.actions import DONE
from thud_env.envs.rendering import Renderer, RenderMode
from thud_env.envs.single import ThudSeatEnv
from thud_env.render import ansi, rgb_array
from thud_env.render.window import Window

START = Position.start()


def play(env, *turns):
    for turn in turns:
        for action in env.position.decisions(turn):
            env.step(action)


@pytest.mark.parametrize("make", [thud_env.env, thud_env.match_env])
@pytest.mark.parametrize("rules", thud_env.RULESETS)
def test_environments_show_the_last_turn(make, rules):
    env = make(rules, render_mode="rgb_array")
    env.reset()
    turn = env.position.turns()[0]
    play(env, turn)
    assert np.array_equal(env.render(), rgb_array(env.position, last_turn=turn))
    text = make(rules, render_mode="ansi")
    text.reset()
    play(text, turn)
    assert text.render().startswith(ansi(text.position, last_turn=turn) + "\n")
    assert text.render().endswith(f"trolls to move, turn 1, margin 0, last turn {turn}")


def test_the_turn_that_is_being_played_shows():
    env = thud_env.env("classic-any", render_mode="ansi")
    env.reset(options={"position": "1ddd1/7/4T4/11/13/15/15/7R7/15/15/13/11/9/7/5 t - 0 4"})
    for action, turn in zip(
        env.position.decisions("TH3-H2xG1xH1"),
        ("TH3-H2", "TH3-H2xG1", "TH3-H2xG1xH1"),
        strict=False,
    ):
        env.step(action)
        assert env.render().endswith(f"last turn {turn}")


def test_an_offer_and_its_answer_show():
    env = thud_env.env(render_mode="ansi", agreement=True, offer_after=1)
    env.reset()
    play(env, "dE2-E6", "offer")
    assert env.render().endswith("last turn offer")
    play(env, "decline")
    assert env.render().endswith("last turn decline")
    play(env, "TG7-F6")
    assert env.render().endswith("last turn TG7-F6")


def test_text_is_plain_if_no_colour_is_wanted(monkeypatch):
    env = thud_env.env(render_mode="ansi")
    env.reset()
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b" in env.render()
    monkeypatch.setenv("NO_COLOR", "1")
    assert env.render().startswith(ansi(env.position, color=False))


def test_a_new_battle_begins_without_a_last_turn():
    env = thud_env.match_env(render_mode="ansi", max_turns=2)
    env.reset()
    play(env, "dE2-E6")
    assert "last turn" in env.render()
    play(env, "TG7-F6")
    assert "last turn" not in env.render()
    play(env, "dE2-E6")
    env.reset()
    assert "last turn" not in env.render()


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_remember_the_last_turn(copier):
    env = thud_env.env(render_mode="ansi")
    env.reset()
    play(env, "dE2-E6")
    twin = copier(env)
    state = env.get_state()
    before = env.render()
    play(env, "TG7-F6")
    assert twin.render() == before
    env.set_state(state)
    assert env.render() == before


def test_a_last_turn_is_not_shown_after_turns_that_were_not_noted():
    shown, blind = thud_env.env(render_mode="ansi"), thud_env.env()
    for env in (shown, blind):
        env.reset()
    play(shown, "dF1-F5")
    blind.set_state(shown.get_state())
    shown.set_state(blind.get_state())
    assert "last turn dF1-F5" in shown.render()
    play(blind, "TG7-F6")
    shown.set_state(blind.get_state())
    assert "last turn" not in shown.render()


def test_without_a_render_mode_nothing_is_remembered_and_a_warning_given():
    env = thud_env.env()
    env.reset()
    play(env, "dE2-E6")
    with pytest.warns(UserWarning, match="'human', 'rgb_array', 'ansi'"):
        assert env.render() is None
    assert env._renderer.last_turn is None


def test_unknown_modes_are_refused():
    for mode in get_args(RenderMode):
        assert Renderer(mode).mode == mode
    with pytest.raises(ValueError, match="'human', 'rgb_array', 'ansi' or None would be right"):
        Renderer("video")


# -- the window ----------------------------------------------------------------------------


def shown():
    import pygame

    surface = pygame.display.get_surface()
    return None if surface is None else pygame.surfarray.array3d(surface).swapaxes(0, 1)


def test_the_window_shows_every_decision(no_display):
    import pygame

    env = thud_env.env(render_mode="human")
    env.reset()
    assert np.array_equal(shown(), rgb_array(START))
    play(env, "dE2-E6")
    assert np.array_equal(shown(), rgb_array(env.position, last_turn="dE2-E6"))
    assert "last turn dE2-E6" in pygame.display.get_caption()[0]
    assert env.render() is None
    twin = pickle.loads(pickle.dumps(env))
    env.close()
    env.close()
    assert shown() is None
    play(twin, "TG7-F6")
    assert np.array_equal(shown(), rgb_array(twin.position, last_turn="TG7-F6"))
    twin.close()


def test_an_environment_shows_on_after_another_has_been_closed(no_display):
    first, second = thud_env.env(render_mode="human"), thud_env.env(render_mode="human")
    for env in (first, second):
        env.reset()
    first.close()
    play(second, "dE2-E6")
    assert np.array_equal(shown(), rgb_array(second.position, last_turn="dE2-E6"))
    first.reset()
    second.close()
    play(first, "dE2-E6")
    third = thud_env.env(render_mode="human")
    third.reset()
    third.close()
    assert shown() is None
    first.close()


def test_a_window_closes_none_that_another_has_opened_since(no_display):
    first, second, third = Window(), Window(), Window()
    pixels = rgb_array(START, size=102)
    for window in (first, second):
        window.show(pixels, "", 1000)
    second.close()
    third.show(pixels, "", 1000)
    first.close()
    assert np.array_equal(shown(), pixels)
    third.close()


def test_a_window_has_a_title_of_one_line(no_display):
    import pygame

    env = thud_env.match_env(render_mode="human")
    env.reset()
    title = pygame.display.get_caption()[0]
    assert title.startswith("battle 1 of 2, player_0 plays the dwarfs, dwarfs to move, turn 0")
    env.close()


def test_the_window_shows_how_the_first_battle_of_two_ended(no_display, monkeypatch):
    frames = []
    monkeypatch.setattr(Window, "show", lambda self, *frame: frames.append(frame))
    env = thud_env.match_env(render_mode="human", max_turns=2)
    env.reset()
    play(env, "dE2-E6", "TG7-G6", "dE2-E7", "TG7-G6")
    assert {pace for _, _, pace in frames} == {env.metadata["render_fps"]}
    captions = [caption for _, caption, _ in frames]
    start, _, first_end, second_start, _, second_end = captions
    assert start.startswith("battle 1 of 2, player_0 plays the dwarfs\ndwarfs to move, turn 0")
    assert first_end.startswith("battle 1 of 2, player_0 plays the dwarfs\nturn limit, drawn")
    assert first_end.endswith("turn 2, margin 0, last turn TG7-G6")
    assert second_start == start.replace("1 of 2, player_0", "2 of 2, player_1")
    assert second_end.startswith("battle 2 of 2, player_1 plays the dwarfs\nturn limit, drawn")
    ended = Position.start(max_turns=2).play("dE2-E6").play("TG7-G6")
    assert np.array_equal(frames[2][0], rgb_array(ended, last_turn="TG7-G6"))


def test_the_window_shows_who_lost_by_an_illegal_action(no_display):
    import pygame

    env = thud_env.env(render_mode="human", illegal_action="lose")
    env.reset()
    env.step(DONE)
    assert pygame.display.get_caption()[0].startswith("dwarfs lost by an illegal action")
    env.close()


def interrupted(monkeypatch, act, *arguments):
    """Do something, and be interrupted while the window draws."""

    def gone(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Window, "show", gone)
        with pytest.raises(KeyboardInterrupt):
            act(*arguments)


def test_a_window_that_fails_leaves_the_battle_as_the_decision_made_it(no_display, monkeypatch):
    env = thud_env.env(render_mode="human", max_turns=2)
    env.reset()
    play(env, "dE2-E6")
    interrupted(monkeypatch, play, env, "TG7-G6")
    assert env.truncations == {"dwarf_0": True, "troll_0": True}
    assert env.infos["dwarf_0"]["termination"] == thud_env.Termination.TURN_LIMIT.value
    for _ in env.possible_agents:
        env.step(None)
    assert env.agents == []
    env.close()


def test_a_window_that_fails_leaves_the_second_battle_begun(no_display, monkeypatch):
    env = thud_env.match_env(render_mode="human", max_turns=2)
    env.reset()
    play(env, "dE2-E6")
    interrupted(monkeypatch, play, env, "TG7-G6")
    assert env.position == Position.start(max_turns=2)
    assert env.agent_selection == "player_1"
    assert len(env.battles) == 1
    play(env, "dE2-E6", "TG7-G6")
    assert all(env.truncations.values())
    env.close()


def test_a_seat_whose_window_fails_needs_a_reset(no_display, monkeypatch):
    """The opponent has not replied: the learner must not decide for it."""
    env = ThudSeatEnv(render_mode="human")
    env.reset()
    interrupted(monkeypatch, env.step, env.position.legal_actions()[0])
    assert env.position.to_move == "trolls"
    with pytest.raises(ResetNeeded):
        env.step(env.position.legal_actions()[0])
    env.reset()
    interrupted(monkeypatch, env.reset)
    with pytest.raises(ResetNeeded):
        env.step(env.position.legal_actions()[0])
    env.close()


@pytest.mark.parametrize("name", ["thud", "koom-valley", "koom-valley-football", "thud-match"])
def test_pettingzoo_renders_every_mode(no_display, name):
    render_test(functools.partial(make_aec, f"thud/{name}-v0"))


def test_a_window_keeps_its_pace(no_display):
    window = Window()
    pixels = rgb_array(START, size=102)
    window.show(pixels, "", 20)
    began = time.perf_counter()
    for _ in range(4):
        window.show(pixels, "", 20)
    assert time.perf_counter() - began > 0.15
    window.close()


def test_without_pygame_a_window_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = thud_env.env(render_mode="human")
    with pytest.raises(DependencyNotInstalled, match=r'pip install "\.\[render\]" in'):
        env.reset()
