"""Damaged texts are read or refused, and nothing else.

Records and positions from random play are damaged at random: bytes flipped, cut out, doubled,
moved, swapped for those of another text. The result must be read, and then round-trip, or raise the
error that names what is wrong.
"""

import re
import time
from collections import Counter
from random import Random

import pytest
from positions import random_turn

from thud_env import RULESETS, IllegalMove, Position, Record, RecordError, ThudError, read_record
from thud_env.record.text import decode_record
from thud_env.rules import row as fields

TEXTS_OF_A_KIND = 10_000
SLOWEST_TEXT_S = 5.0
LIMITS = {"agreement": True, "offer_after": 2, "max_turns": 90}
ALPHABET = (
    b'dTR ABHIJPQ 0123456789 -x,/:+ \n\r\t[]"\\ dt offer agreed some trample \x00\x80\xc3\xff'
)

PENDING = (" - ", " offer ", " agreed ", " H7:one ", " G9:any+1 ", " H3:trample+2 ", " J8:some ")


def battles(random):
    """A record and the positions between all its decisions, by each ruleset in turn."""
    for number in range(3 * len(RULESETS)):
        rules = list(RULESETS)[number % len(RULESETS)]
        position = start = Position.start(rules, **(LIMITS if number % 2 else {}))
        positions, turns = [start], []
        most_turns = random.choice((3, 10, 40))
        while position.outcome is None and len(turns) < most_turns:
            before = position
            turn, decisions = random_turn(position, random)
            for decision in decisions:
                position = position.apply(decision)
                positions.append(position)
            turns.append(turn)
            assert position == before.play(turn)
        middle = random.choice(positions)
        yield Record(start, tuple(turns), {"Event": 'A "random" \\ battle'}), positions
        if middle.outcome is None:
            yield Record(middle, (random.choice(middle.turns()),)), [middle]


def damaged(data, others, random):
    """A text with one to four injuries."""
    data = bytearray(data)
    gentle = random.random() < 0.5
    for _ in range(1 if gentle else random.choice((1, 1, 2, 4))):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((1, 1, 2, 5, 30, 400)))
        injury = random.randrange(8, 12) if gentle else random.randrange(8)
        if injury == 0 and start < len(data):
            data[start] ^= 1 << random.randrange(8)
        elif injury == 1:
            data[start:end] = bytes(random.choice(ALPHABET) for _ in range(random.randint(1, 4)))
        elif injury == 2:
            del data[start:end]
        elif injury == 3:
            data[start:start] = data[start:end]
        elif injury == 4:
            del data[start:]
        elif injury == 5:
            other = random.choice(others)
            data[start:] = other[random.randrange(len(other)) :]
        elif injury == 6:
            moved = data[start:end]
            del data[start:end]
            place = random.randrange(len(data) + 1)
            data[place:place] = moved
        elif injury == 7:
            data[start:start] = data[start:end] * random.choice((2, 10, 100))
        elif injury == 8:  # from here on gentle: what may well be read
            data = replaced(
                rb"(?<=[ \"])[0-9]+", data, random, ("0", "1", "7", "199", "800", "32767")
            )
        elif injury == 9:
            data = replaced(rb"[dTRt]", data, random, "dTRt")
        elif injury == 10:
            data = replaced(rb" (-|offer|agreed|[A-P][0-9]+:[a-z]+) ", data, random, PENDING)
        else:
            del data[data.rfind(b"\n", 0, start) + 1 :]
    return bytes(data)


def replaced(pattern, data, random, choices):
    found = list(re.finditer(pattern, data))
    if not found:
        return data
    start, end = random.choice(found).span()
    return data[:start] + random.choice(choices).encode() + data[end:]


@pytest.fixture(scope="module")
def corpus():
    found = list(battles(Random(1)))
    records = [record.text.encode() for record, _ in found]
    positions = [(position, record.rules) for record, many in found for position in many]
    return records, positions


def check_reads(record):
    """A record that was read is a sound one."""
    assert Record.from_text(record.text) == record
    check_position(record.final)


def check_position(position):
    """A position that was read can be written, and played on until it is over."""
    row = position.row
    limits = {
        "max_quiet_turns": int(row[fields.MAX_QUIET_TURNS]),
        "max_turns": int(row[fields.MAX_TURNS]),
        "offer_after": int(row[fields.OFFER_AFTER]),
        "agreement": bool(row[fields.AGREEMENT]),
    }
    again = Position.from_text(position.text, position.rules, **limits)
    assert again == position
    legal = position.legal_actions()
    assert (len(legal) == 0) == (position.outcome is not None)
    for action in legal[-3:]:
        assert position.apply(int(action)).turn_number >= 0


def attempt(read, *arguments):
    """What was read, or the error with which it was refused; any other error is raised."""
    began = time.process_time()
    try:
        found = read(*arguments)
    except ThudError as error:
        found = error
    assert time.process_time() - began < SLOWEST_TEXT_S, arguments
    return found


def test_damaged_records_are_read_or_refused(corpus):
    texts, _ = corpus
    random = Random(2)
    seen = Counter()
    for _ in range(TEXTS_OF_A_KIND):
        data = damaged(random.choice(texts), texts, random)
        found = attempt(lambda data: Record.from_text(decode_record(data)), data)
        seen[type(found)] += 1
        if isinstance(found, Record):
            check_reads(found)
            continue
        assert type(found) is RecordError, data
        lines = re.split(r"\r\n|\r|\n", data.decode(errors="replace"))
        assert 1 <= found.line <= len(lines), data
        assert str(found) == f"line {found.line}: {found.reason}", data
    assert min(seen[Record], seen[RecordError]) > TEXTS_OF_A_KIND / 10, seen


def test_damaged_files_are_read_or_refused(corpus, tmp_path):
    texts, _ = corpus
    random = Random(5)
    path = tmp_path / "damaged.thud"
    seen = Counter()
    for _ in range(200):
        path.write_bytes(damaged(random.choice(texts), texts, random))
        found = attempt(read_record, path)
        seen[type(found)] += 1
        assert isinstance(found, Record) or str(found).startswith(f"{path}, line "), found
    assert set(seen) == {Record, RecordError}


def test_damaged_positions_are_read_or_refused(corpus):
    _, positions = corpus
    texts = [position.text.encode() for position, _ in positions]
    random = Random(3)
    seen = Counter()
    for _ in range(TEXTS_OF_A_KIND):
        position, rules = random.choice(positions)
        data = damaged(position.text.encode(), texts, random)
        text = data.decode(errors=random.choice(("replace", "ignore", "surrogateescape")))
        found = attempt(lambda text, rules: Position.from_text(text, rules, **LIMITS), text, rules)
        seen[type(found)] += 1
        if isinstance(found, Position):
            check_position(found)
        else:
            assert type(found) is ThudError, text
    assert min(seen[Position], seen[ThudError]) > TEXTS_OF_A_KIND / 10, seen


def test_damaged_turns_are_played_or_refused(corpus):
    records, positions = corpus
    turns = [line for text in records for line in text.splitlines() if b"-" in line[:4]]
    random = Random(4)
    seen = Counter()
    for _ in range(TEXTS_OF_A_KIND // 5):
        turn = damaged(random.choice(turns), turns, random).decode(errors="replace")
        position, _ = random.choice(positions)
        found = attempt(position.play, turn)
        seen[type(found)] += 1
        if isinstance(found, Position):
            check_position(found)
    assert set(seen) == {Position, ThudError, IllegalMove}
