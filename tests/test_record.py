import pickle
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from thud_env import (
    RULESETS,
    Position,
    Record,
    RecordError,
    read_record,
    write_record,
)
from thud_env.actions import ACCEPT, NUM_MOVES
from thud_env.errors import IllegalMove
from thud_env.record.text import RecordText

RECORDS = Path(__file__).parent / "data" / "records"
QUESTIONS = {
    "classic": {"one", "any", "some"},
    "classic-any": {"any", "some"},
    "classic-all": {"all"},
    "koom-valley": {"trample"},
    "koom-valley-football": set(),
}
CLASSIC_SETUP = Record(Position.start("classic")).text.splitlines()[1]
TRAMPLES = "5/7/9/11/13/6d1d6/5ddddd5/6dTd6/5ddddd5/6d1d6/13/11/9/7/R4 t - 0 0"
"""Some 318,000 ways to trample: searching them for the one that is written takes seconds."""
BESIDE_TWO = "5/7/9/11/13/5d1d7/7T7/7R7/15/15/13/11/9/7/d4 t - 0 0"
LONE_TROLL = "5/7/9/11/13/15/dd5T7/7R7/15/15/13/11/9/7/5"


def random_game(start, random, most_turns=1000):
    """A record of random turns; every word of agreement that may be said often is."""
    position, turns = start, []
    while position.outcome is None and len(turns) < most_turns:
        legal = position.turns()
        talk = [turn for turn in legal if turn in ("offer", "accept", "decline")]
        turns.append(random.choice(talk if talk and random.random() < 0.3 else legal))
        position = position.play(turns[-1])
    record = Record(start, tuple(turns), {"Event": "random play"})
    assert record.final == position
    return record


def starts(rules, random):
    """Starts that a setup line can hold, and one for each question that may be pending."""
    yield Position.start(rules)
    yield Position.start(rules, agreement=True, offer_after=2, max_quiet_turns=9)
    asked = set()
    if rules == "koom-valley":  # random play hardly ever tramples twice
        chain = Position.from_text(TRAMPLES, rules, agreement=True)
        yield chain.apply(chain.decisions("TH8-F8-F6xF7xG8")[0])
    for _ in range(40):
        position = Position.start(rules, max_turns=300, agreement=True, offer_after=5)
        while position.outcome is None:
            legal = position.legal_actions()
            answers = legal[(legal >= NUM_MOVES) & (legal != ACCEPT)]
            often = len(answers) and random.random() < 0.3
            position = position.apply(random.choice(answers if often else legal))
            pending = question(position)
            if pending not in asked:
                asked.add(pending)
                yield position


def question(position):
    return position.text.split()[2].split(":")[-1]


# -- round trips ---------------------------------------------------------------------------


def test_a_record_is_read_decision_by_decision():
    start = Position.start("classic-any")
    record = Record(start, ("dF1-F5", "TG7-F6xF5", "dE2-E3"))
    positions = list(record.positions())
    assert positions[0] == start
    assert positions[-1] == record.final
    assert [position.turn_number for position in positions] == [0, 1, 2, 3]
    made = list(record.decisions())
    for (position, action), (after, _) in pairwise([*made, (record.final, None)]):
        assert position.apply(action) == after
    assert Record.from_decisions(start, [action for _, action in made]) == record


@pytest.mark.parametrize("rules", RULESETS)
def test_round_trips(rules, tmp_path):
    random = Random(rules)
    path = tmp_path / "battle.thud"
    kinds, words = set(), set()
    for start in starts(rules, random):
        record = random_game(start, random, most_turns=12)
        write_record(path, record)
        again = read_record(path)
        assert again == record
        assert again.final == record.final
        assert again.tags == record.tags
        assert again.text == record.text == path.read_text(encoding="utf-8")
        assert Record.from_text(record.text, rules) == record
        assert Record(again.start, again.turns, again.tags) == record
        kinds.add(question(start).split("+")[0])
        words.update(record.turns)
    assert kinds == {"-", "offer", "agreed", *QUESTIONS[rules]}
    assert {"offer", "accept", "decline"} <= words


def test_a_whole_battle_replays_to_its_end():
    record = random_game(Position.start("classic-all", max_turns=120), Random(1))
    assert record.final.outcome is not None
    assert record.tags["MaxTurns"] == "120"
    assert record.tags["Result"] == str(record.final.outcome.margin)
    assert record.tags["Termination"] == "turn-limit"
    assert Record.from_text(record.text).final == record.final


def test_a_record_has_the_tags_that_a_reader_needs_and_no_more():
    plain = Record(Position.start("koom-valley"))
    assert plain.tags == {"Rules": "koom-valley"}
    assert plain.turns == ()
    assert plain.final == plain.start
    limited = Record(Position.start("classic", max_quiet_turns=7, agreement=True))
    assert limited.tags == {"Rules": "classic", "MaxQuietTurns": "7", "Agreement": "yes"}
    trolls_begin = Position.from_text(f"{LONE_TROLL} t - 0 0")
    assert Record(trolls_begin).tags["Position"] == trolls_begin.text
    assert "Position" not in Record(Position.from_text(f"{LONE_TROLL} d - 0 0")).tags


def test_turns_are_kept_in_canonical_spelling():
    start = Position.from_text(BESIDE_TWO, "classic-any")
    record = Record(start, (" TH7-G7xH6xF6xH6 ",))
    assert record.turns == ("TH7-G7xF6xH6",)
    assert record == Record(start, ("TH7-G7xF6xH6",))


def test_tags_round_trip_whatever_they_say():
    values = [
        '"',
        "\\",
        '\\"',
        '\\\\"\\',
        "",
        " ",
        "] [",
        '[A "b"]',
        "élan 碧 🪨",
        "a,b",
        "x" * 9999,
    ]
    tags = {f"Tag_{number}": value for number, value in enumerate(values)}
    record = Record(Position.start(), ("dF1-F5",), tags)
    again = Record.from_text(record.text)
    assert again.tags == {"Rules": "classic", **tags}
    assert again == record


@pytest.mark.parametrize(
    "value", ["two\nlines", "a\rb", "\x00", "\x1b[0m", "\u2028", "\ud800", 1, None]
)
def test_tags_that_are_not_a_line_of_text_are_refused(value):
    with pytest.raises(RecordError, match="tag Event") as caught:
        Record(Position.start(), (), {"Event": value})
    assert caught.value.tag == "Event"


@pytest.mark.parametrize("name", ["", "No space", "1st", 'Q"', "Zoë", 1, None])
def test_invalid_tag_names_are_refused(name):
    with pytest.raises(RecordError, match="not a tag's name"):
        Record(Position.start(), (), {name: "value"})


@pytest.mark.parametrize("rules", RULESETS)
def test_a_record_of_decisions_is_that_of_their_turns(rules):
    random = Random(3)
    for start in starts(rules, random):
        wanted = random_game(start, random, most_turns=40)
        position, decisions = start, []
        for turn in wanted.turns:
            decisions += position.decisions(turn)
            position = position.play(turn)
        made = Record.from_decisions(start, decisions, {"Event": "random play"})
        assert made == wanted
        assert made.final == position


def test_a_record_leaves_out_a_turn_that_is_not_complete():
    position = Position.from_text(BESIDE_TWO)
    turn = "TH7-G7xF6"
    whole = position.decisions(turn)
    assert len(whole) > 1
    assert Record.from_decisions(position, whole[:-1]).turns == ()
    assert Record.from_decisions(position, np.array(whole)).turns == (turn,)
    with pytest.raises(IllegalMove):
        Record.from_decisions(position, [*whole, whole[0]])


def test_records_are_hashable_and_pickle():
    record = Record(Position.start(), ("dF1-F5",), {"Event": "x"})
    other = Record(Position.start(), ("dF1-F6",), {"Event": "x"})
    assert {record, pickle.loads(pickle.dumps(record))} == {record}
    assert record != other


# -- files of other programs ---------------------------------------------------------------


def test_every_sample_is_read():
    read = {path.name: read_record(path) for path in sorted(RECORDS.glob("*.thud"))}
    assert {name: (record.rules.name, len(record.turns)) for name, record in read.items()} == {
        "agreed.thud": ("classic", 5),
        "classic.thud": ("classic", 60),
        "football.thud": ("koom-valley-football", 56),
        "koom-valley.thud": ("koom-valley", 60),
        "opening.thud": ("classic", 1),
        "windows.thud": ("classic-all", 50),
    }
    for name, record in read.items():
        assert Record.from_text(record.text) == record, name
        if name != "agreed.thud":
            assert record.start == Position.start(record.rules), name


def test_the_samples_cover_the_awkward_cases():
    windows = (RECORDS / "windows.thud").read_bytes()
    assert b"   \r\n\r\n" in windows
    assert b"R" not in windows
    assert b"\r\nd C12-E10" in windows
    assert b"xM13xL14\r\n" in windows  # not in order
    assert not (RECORDS / "koom-valley.thud").read_bytes().endswith(b"\n")
    assert b"R" not in (RECORDS / "football.thud").read_bytes().split(b"\n")[0]


def test_a_sample_with_every_kind_of_tag():
    record = read_record(RECORDS / "agreed.thud")
    assert record.tags["Event"] == 'The "quiet" game \\ Ankh-Morpork'
    assert record.tags["Trolls"] == "Mr Shine, 碧"
    assert record.start.turn_number == 40
    assert record.final.outcome.margin == -2
    assert record.turns == ("offer", "decline", "dJ1-J2", "offer", "accept")


# -- files that do not name their rules ----------------------------------------------------


STEP = ("dE2-E6", "TG7-F6", "dA7-E7")
"""After these a troll without a line behind it may step beside the dwarfs on E6 and E7."""


@pytest.mark.parametrize(
    ("turns", "rules"),
    [
        ((), "classic"),
        (("dE2-E6", "TG7-F6xE6"), "classic"),
        ((*STEP, "TF6-F7xE6"), "classic"),
        ((*STEP, "TF6-F7xE6xE7"), "classic-all"),
        ((*STEP, "TF6-F7xE6", "dA6-E6", "TF7-F6xE6xE7"), "classic-any"),
    ],
)
def test_untagged_classic_files_are_read_by_the_first_wording_that_fits(turns, rules):
    record = Record.from_text("\n".join([CLASSIC_SETUP, *turns]))
    assert record.rules.name == rules
    assert record.tags["Rules"] == rules


@pytest.mark.parametrize("rules", ["classic", "koom-valley"])
def test_untagged_setups_are_read_by_the_rules_whose_setup_they_are(rules):
    setup = Record(Position.start(rules)).text.splitlines()[-1]
    assert Record.from_text(setup).rules.name == rules


def test_an_untagged_file_that_fits_no_rules_is_blamed_by_those_that_read_on_longest():
    turns = [*STEP, "TF6-F7xE6xE7", "dA6-P9"]
    with pytest.raises(RecordError, match=r"line 6: .*P9.*by the rules of classic-all"):
        Record.from_text("\n".join([CLASSIC_SETUP, *turns]))


def test_a_long_reason_is_cut():
    with pytest.raises(RecordError) as refused:
        Record.from_text("[" + "x" * 10_000)
    assert len(str(refused.value)) < 600


def test_untagged_setups_of_no_ruleset_are_read_by_the_first_rules_that_fit():
    assert Record.from_text("dA6,dB6,TP8").rules.name == "classic"
    assert Record.from_text("dA6,dB6,TP8,RH9").rules.name == "koom-valley"
    assert Record.from_text("dG10,dB6,TP8,RH9\nRH9-H11").rules.name == "koom-valley-football"
    assert Record.from_text("dG10,dB6,TP8,RH9\nRH9-H10").rules.name == "koom-valley"


def test_the_rules_asked_for_are_used_and_must_be_those_of_the_tag():
    assert Record.from_text(CLASSIC_SETUP, "classic-any").rules.name == "classic-any"
    tagged = Record(Position.start("classic-all")).text
    assert Record.from_text(tagged, RULESETS["classic-all"]).rules.name == "classic-all"
    with pytest.raises(RecordError, match="line 1: the record is of classic-all, not of classic"):
        Record.from_text(tagged, "classic")
    with pytest.raises(ValueError, match="unknown ruleset 'clasic'"):
        Record.from_text(tagged, "clasic")


def test_the_rules_of_a_record_may_be_spelt_otherwise():
    tame = RULESETS["classic"].replace(name="tame", trolls="G7 H7 J7", max_turns=300)
    record = Record(Position.start(tame), ("dF1-F5",))
    spelt = "classic-any:max_turns=300,step_captures=one,name=tame,trolls=J7+H7+G7"
    other = record.text.replace(tame.spec, spelt)
    assert other != record.text
    assert Record.from_text(other) == record
    assert Record(record.start, record.turns, {"Rules": spelt}).tags == {"Rules": tame.spec}
    with pytest.raises(RecordError, match="tag Rules says 'classic', but the battle"):
        Record(record.start, record.turns, {"Rules": "classic"})
    with pytest.raises(RecordError, match="tag Rules says 'no such', but the battle"):
        Record(record.start, record.turns, {"Rules": "no such"})


def to_and_fro(turns):
    moves = ("dA6-B6", "TG7-F7", "dB6-A6", "TF7-G7")
    return [moves[number % 4] for number in range(turns)]


def test_untagged_files_know_no_limits():
    short = Record.from_text("\n".join([CLASSIC_SETUP, *to_and_fro(200)]))
    assert short.tags["Termination"] == "quiet-limit"
    assert short.start == Position.start()
    quiet = Record.from_text("\n".join([CLASSIC_SETUP, *to_and_fro(201)]))
    assert quiet.tags == {"Rules": "classic", "MaxQuietTurns": "32767"}
    long = Record.from_text("\n".join([CLASSIC_SETUP, *to_and_fro(1000)]))
    assert long.final.turn_number == 1000
    assert long.tags == {"Rules": "classic", "MaxQuietTurns": "32767", "MaxTurns": "32767"}
    assert Record.from_text(long.text) == long
    tagged = '[Rules "classic"]'
    with pytest.raises(RecordError, match=r"line 203: .*the battle is over"):
        Record.from_text("\n".join([tagged, CLASSIC_SETUP, *to_and_fro(201)]))
    with pytest.raises(RecordError, match=r"line 12: .*the battle is over"):
        Record.from_text("\n".join(['[MaxTurns "9"]', CLASSIC_SETUP, *to_and_fro(10)]))


# -- what is refused -----------------------------------------------------------------------

OVER = f'[Rules "classic"]\n[Position "{LONE_TROLL} d - 200 300"]\ndA7,dB7,TH7,RH8\n'


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "without a setup line"),
        ('\n\n[Rules "classic"]\n', 4, "without a setup line"),
        ("dF1-F5", 1, "'dF1-F5' in the setup line"),
        ("\ndF1,dG1,", 2, "'' in the setup line"),
        ("dF1,DG1", 1, "'DG1' in the setup line"),
        ("dF1,dI5", 1, "'dI5' in the setup line"),
        ("dF1,dF01", 1, "'dF01' in the setup line"),
        ("dF1,dA1", 1, "'dA1' in the setup line"),
        ("dF1,TF1", 1, "two pieces on F1"),
        ("dF1,RF2,RF3", 1, "2 R on the board"),
        ("dH8,TF2", 1, "0 R on the board"),
        ('[Rules "classic"]\ndF1,RF2', 2, "R on F2"),
        (",".join(f"T{name}7" for name in "ABCDEFGHJ"), 1, "9 trolls on the board"),
        (f"{CLASSIC_SETUP}\ndF1-F5\n\ndG1-G5", 4, "'dG1-G5' is illegal for the trolls"),
        (f"{CLASSIC_SETUP}\r\ndF1-F16", 2, "names F16, which is not a square"),
        (f"{CLASSIC_SETUP}\rdF1-F5 TG7-F6", 2, "is not a turn"),
        (f"{CLASSIC_SETUP}\n1. dF1-F5", 2, "is not a turn"),
        (f"{CLASSIC_SETUP}\ndF1-F5x", 2, "is not a turn"),
        (f"{CLASSIC_SETUP}\ndF1", 2, "'dF1' is illegal"),
        (f"{CLASSIC_SETUP}\noffer", 2, "'offer' is illegal"),
        (f"{CLASSIC_SETUP}\ndF1-F5\n\x0c", 3, "is not a turn"),
        (f'{CLASSIC_SETUP}\ndF1-F5\n[Event "late"]', 3, "after the setup line"),
        (f"{OVER}dA7-A8", 4, "the battle is over"),
        (f'[Event "unfinished]\n{CLASSIC_SETUP}', 1, "is not a tag"),
        (f'[Event "a" b"]\n{CLASSIC_SETUP}', 1, "is not a tag"),
        (f'[Event "\\n"]\n{CLASSIC_SETUP}', 1, "is not a tag"),
        (f'[Event "\x01"]\n{CLASSIC_SETUP}', 1, "is not a tag"),
        (f"[Event]\n{CLASSIC_SETUP}", 1, "is not a tag"),
        (f'[Event "a"] [Site "b"]\n{CLASSIC_SETUP}', 1, "is not a tag"),
        (f'[A "1"]\n[B "2"]\n[A "1"]\n{CLASSIC_SETUP}', 3, "tag A is already on line 1"),
        (f'[Rules "clasic"]\n{CLASSIC_SETUP}', 1, "did you mean 'classic'"),
        (f'[Rules "koom-valley"]\n{CLASSIC_SETUP}', 2, "32 dwarfs on the board"),
        (f'\n[MaxTurns "0"]\n{CLASSIC_SETUP}', 2, "1 .. 32767"),
        (f'\n[MaxTurns "٣"]\n{CLASSIC_SETUP}', 2, "1 .. 32767"),
        (f'[MaxQuietTurns "32768"]\n{CLASSIC_SETUP}', 1, "1 .. 32767"),
        (f'[OfferAfter "{"9" * 5000}"]\n{CLASSIC_SETUP}', 1, "OfferAfter"),
        (f'[Agreement "True"]\n{CLASSIC_SETUP}', 1, "yes or no"),
        (f'[Position "nonsense"]\n{CLASSIC_SETUP}', 1, "position 'nonsense' has 1 fields"),
        (f'[Position "{LONE_TROLL} d - 0 0"]\n{CLASSIC_SETUP}', 2, "not the board of"),
        (f'[Result "5"]\n{CLASSIC_SETUP}', 1, "says '5', but the battle '\\*'"),
        (f'[Result "-1"]\n{OVER}', 1, "says '-1', but the battle '-2'"),
        (
            f'[Result "-2"]\n[Termination "agreement"]\n{OVER}',
            2,
            "'agreement', but .*'quiet-limit'",
        ),
    ],
)
def test_errors_name_line_and_reason(text, line, reason, tmp_path):
    path = tmp_path / "bad.thud"
    path.write_bytes(text.encode())
    with pytest.raises(RecordError, match=reason) as caught:
        read_record(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    with pytest.raises(RecordError, match=f"^line {line}: "):
        Record.from_text(text)


def test_every_line_of_a_battle_is_checked():
    lines = (RECORDS / "classic.thud").read_text().splitlines()
    for number in range(1, len(lines)):
        damaged = [*lines[:number], "dH8-H9", *lines[number + 1 :]]
        with pytest.raises(RecordError) as caught:
            Record.from_text("\n".join(damaged))
        assert caught.value.line == number + 1
        assert "'dH8-H9' is illegal" in caught.value.reason


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\xff\xfe", 1),
        (b"dF1,RH8\r\ndF1-F\xc3\n", 2),
        (b"\n\r\r\n\x80", 4),
        (b"\xef\xbb\xbfdF1,TG7\n\n\xed\xa0\x80", 3),
    ],
)
def test_bytes_that_are_not_utf8_are_refused(data, line, tmp_path):
    path = tmp_path / "bad.thud"
    path.write_bytes(data)
    with pytest.raises(RecordError, match="is not UTF-8 text") as caught:
        read_record(path)
    assert caught.value.line == line


def test_a_byte_order_mark_is_passed_over(tmp_path):
    path = tmp_path / "marked.thud"
    path.write_bytes(b"\xef\xbb\xbf" + CLASSIC_SETUP.encode())
    assert read_record(path).start == Position.start()


def test_a_bad_turn_given_by_hand_is_named():
    with pytest.raises(RecordError, match=r"^turn 2: .*illegal") as caught:
        Record(Position.start(), ("dF1-F5", "dG1-G5"))
    assert caught.value.turn == 1
    assert caught.value.position == Position.start().play("dF1-F5")


@pytest.mark.parametrize(
    ("name", "value"),
    [("Rules", "koom-valley"), ("Result", "3"), ("No name", "x"), ("Event", "\n")],
)
def test_a_tag_that_was_changed_to_a_wrong_one_is_not_written(name, value, tmp_path):
    record = Record(Position.start("classic"), ("dF1-F5",))
    record.tags["Event"] = "A test"
    write_record(tmp_path / "a.thud", record)
    before = record.text
    record.tags[name] = value
    with pytest.raises(RecordError, match=name):
        write_record(tmp_path / "a.thud", record)
    assert [path.read_text() for path in tmp_path.iterdir()] == [before]


def test_a_false_tag_given_by_hand_is_named():
    with pytest.raises(RecordError, match="tag MaxTurns says '9', but the battle '800'") as caught:
        Record(Position.start(), (), {"MaxTurns": "9"})
    assert caught.value.tag == "MaxTurns"


def test_reasons_are_short_however_long_the_line():
    with pytest.raises(RecordError) as caught:
        Record.from_text(f"{CLASSIC_SETUP}\n{'x' * 100_000}")
    assert len(str(caught.value)) < 1000


def test_errors_pickle():
    with pytest.raises(RecordError) as caught:
        Record.from_text("dF1,dF1")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_what_is_no_start_and_what_are_no_turns_is_said():
    with pytest.raises(TypeError, match=r"start is a str: Position\.start\(rules\) would be right"):
        Record("classic", ["dE2-E6"])
    with pytest.raises(TypeError, match="turns 'dE2-E6': a list of turns would be right"):
        Record(Position.start(), "dE2-E6")
    with pytest.raises(TypeError, match="turns 5: a list of them would be right"):
        Record(Position.start(), 5)
    with pytest.raises(TypeError, match=r"turns int64 of shape \(\): a list of them would be"):
        Record(Position.start(), np.array(3))
    with pytest.raises(TypeError, match="tags None: a dict of text by name would be right"):
        Record(Position.start(), (), None)
    with pytest.raises(TypeError, match=r"start is a str: Position\.start\(rules\) would be right"):
        Record.from_decisions("classic", [1])
    with pytest.raises(TypeError, match=r"a bytes is no text: read_record\(path\) reads a file"):
        Record.from_text(b"dF1,dF1")


# -- speed ---------------------------------------------------------------------------------


def test_a_troll_among_many_dwarfs_is_followed_not_searched_for():
    start = Position.from_text(TRAMPLES, "koom-valley")
    record = Record(start, ("TH8-F8-F6-H6-H8xF7xG6xG8xH7",))
    assert record.final.text.split()[1] == "d"
    assert Record.from_text(record.text) == record


def test_text_is_parsed_without_knowing_rules():
    source = RecordText('[Rules "chess"]\ndF1,TG7\nnonsense')
    assert source.tags == {"Rules": "chess"}
    assert source.setup == {"F1": "d", "G7": "T", "H8": "R"}
    assert source.turns == ["nonsense"]
    assert source.turn_lines == [3]


def test_decisions_that_are_no_list_are_named():
    start = Position.start("classic")
    with pytest.raises(TypeError, match=r"^decisions 4: a list of them would be right"):
        Record.from_decisions(start, 4)
    with pytest.raises(TypeError, match=r"^actions 4: a list of them would be right"):
        start.turn_of(4)
