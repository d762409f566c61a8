"""Configurations: files, overrides, and errors."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml
from rich.console import Console

from agents.search.workspace import MAX_DEPTH, MAX_QUIESCENCE
from thud_env import CLASSIC
from training.config import (
    ExploitConfig,
    OpponentConfig,
    PPOConfig,
    RunConfig,
    SelfPlayConfig,
    TrainConfig,
)
from training.config_file import KEYS_OF_ONE, load_config
from training.distill.__main__ import distil
from training.distill.config import DistillConfig, LessonConfig, TeacherConfig
from training.distill.distillation import Distillation
from training.errors import ConfigError
from training.exploit import exploit
from training.train import train
from training.trainer import self_play_trainer

FOLDER = Path(__file__).parents[1] / "configs"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
SMOKE = FOLDER / "smoke.yaml"


@pytest.fixture
def written(tmp_path: Path):
    """Writes a configuration to a file."""

    def write(text: str | bytes) -> Path:
        path = tmp_path / "run.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_loads_under_its_own_name(path: Path) -> None:
    config = load_config(path, TrainConfig)
    assert config.name == path.stem
    assert any(line.startswith("#") for line in path.read_text().splitlines()), "say why"


def test_there_is_a_smoke_configuration() -> None:
    assert "smoke" in [path.stem for path in CONFIGS]


def test_missing_keys_have_their_defaults(written) -> None:
    assert load_config(written(""), TrainConfig) == TrainConfig()
    config = load_config(written("seed: 7\nppo:\n  clip_coef: 0.3\n"), TrainConfig)
    ppo = dataclasses.replace(TrainConfig().ppo, clip_coef=0.3)
    assert config == dataclasses.replace(TrainConfig(), seed=7, ppo=ppo)


def test_a_saved_configuration_loads_as_itself(written) -> None:
    words = ["seed=5", "max_turns=90", "offer_after=3", "agreement=true", "network.channels=9"]
    config = load_config(SMOKE, TrainConfig, words)
    assert config.limits == {
        "max_quiet_turns": 60,
        "max_turns": 90,
        "offer_after": 3,
        "agreement": True,
    }
    assert load_config(written(yaml.safe_dump(dataclasses.asdict(config))), TrainConfig) == config


def test_overrides_come_last_and_in_order(written) -> None:
    path = written("seed: 7\nnetwork:\n  channels: 8\n  blocks: 1\n")
    words = ["seed=9", "name=a-b_c.1", "network={blocks: 1}", "network.channels=4"]
    config = load_config(path, TrainConfig, [*words, "ppo.learning_rate=3e-4"])
    assert (config.seed, config.name) == (9, "a-b_c.1")
    assert (config.network.channels, config.network.blocks) == (4, 1)
    assert config.ppo.learning_rate == 3e-4


@pytest.mark.parametrize("key", ["total_decisions", "ppo.update_epochs", "network.channels"])
def test_a_key_that_is_given_twice_is_refused(key: str) -> None:
    words = [f"{key}=8", "seed=1", f"{key}=4"]
    with pytest.raises(ConfigError) as error:
        load_config(SMOKE, TrainConfig, words)
    assert str(error.value) == f"override '{key}=4': '{key}' is given twice: once would be right"


def test_a_key_whose_part_is_given_before_is_refused() -> None:
    with pytest.raises(ConfigError, match="'network' is given twice: once would be right"):
        load_config(SMOKE, TrainConfig, ["network.channels=8", "network={blocks: 1}"])


@pytest.mark.parametrize(
    ("text", "read"),
    [("1e-3", 1e-3), ("1.0e-3", 1e-3), ("1", 1.0), ("0.5", 0.5), ("'0.25'", 0.25)],
)
def test_numbers_are_read_in_every_notation(written, text: str, read: float) -> None:
    """YAML 1.1 takes 1e-3 for a string."""
    config = load_config(written(f"ppo: {{learning_rate: {text}}}"), TrainConfig)
    assert config.ppo.learning_rate == read
    assert type(config.ppo.learning_rate) is float


@pytest.mark.parametrize("text", ["2e6", "2.0e+6", "2_000_000", "2000000"])
def test_counts_are_read_as_they_are_meant(written, text: str) -> None:
    config = load_config(written("name: x"), TrainConfig, [f"total_decisions={text}"])
    assert config.total_decisions == 2_000_000
    assert type(config.total_decisions) is int


def test_a_limit_may_be_left_to_the_ruleset(written) -> None:
    path = written("max_turns: 50\n")
    assert load_config(path, TrainConfig).max_turns == 50
    assert load_config(path, TrainConfig, ["max_turns=null"]).max_turns is None


def test_a_text_key_may_be_emptied(written) -> None:
    path = written("start_from: runs/smoke\n")
    assert load_config(path, TrainConfig, ["start_from="]).start_from == ""


# -- mistakes ------------------------------------------------------------------------------

MISTAKES = [
    ("ppo.learning_rate=1e38", "ppo.learning_rate: 1e+38 must be in 0 .. 1"),
    # keys
    ("lerning_rate=1", "unknown key lerning_rate: there are name, rules, seed"),
    ("learning_rate=1", "unknown key learning_rate: did you mean ppo.learning_rate?"),
    (
        "name=2024",
        "name: 2024 must be of type str: text that YAML reads as something else needs quotes",
    ),
    ("num_game=4", "unknown key num_game: did you mean num_games?"),
    ("ppo.lerning_rate=1", "unknown key ppo.lerning_rate: did you mean ppo.learning_rate?"),
    ("network.channel=1", "unknown key network.channel: did you mean network.channels?"),
    ("pppo.clip_coef=1", "unknown key pppo: did you mean ppo?"),
    ("seed.x=1", "override 'seed.x=1': 'seed.x' is not a key of the configuration"),
    ("seed", "override 'seed': key=value would be right"),
    ("ppo=1", "ppo must be a mapping of keys to values"),
    # types
    ("seed=one", "seed: 'one' must be of type int"),
    ("seed=1.5", "seed: 1.5 must be of type int"),
    ("seed=1e-3", "seed: '1e-3' must be of type int"),
    ("seed=true", "seed: True must be of type int"),
    ("num_games=", "num_games: None must be of type int"),
    ("name=5", "name: 5 must be of type str"),
    ("max_turns=long", "max_turns: 'long' must be of type int or nothing"),
    ("ppo.learning_rate=fast", "ppo.learning_rate: 'fast' must be of type float"),
    ("ppo.learning_rate=true", "ppo.learning_rate: True must be of type float"),
    ("precision=float16", "precision: 'float16' is not one of auto, float32, bfloat16"),
    (
        "network={kind: symmetric, symmetries: 4}",
        "network.symmetries: 4 is not one of 2, 8",
    ),
    ("network={kind: symmetric, symmetries: 8.0}", "network.symmetries: 8.0 is not one of 2, 8"),
    ("seed=[1", "override 'seed=[1': '[1' is not YAML"),
    ("network={threat_planes: true}", "network.threat_planes needs attack_planes, too"),
    # ranges
    ("total_decisions=0", "total_decisions: 0 must be 1 or more"),
    ("num_games=-1", "num_games: -1 must be 1 or more"),
    ("network.channels=0", "network.channels: 0 must be 1 or more"),
    ("network.blocks=-1", "network.blocks: -1 must be 0 or more"),
    ("evaluation_games=-1", "evaluation_games: -1 must be 0 or more"),
    ("seed=-1", "seed: -1 must be 0 or more"),
    ("ppo.minibatch_size=0", "ppo.minibatch_size: 0 must be 1 or more"),
    ("ppo.max_grad_norm=0", "ppo.max_grad_norm: 0.0 must be 1e-06 or more"),
    ("ppo.max_grad_norm=.inf", "ppo.max_grad_norm: inf must be 1e-06 or more"),
    ("ppo.clip_coef=.nan", "ppo.clip_coef: nan must be 1e-06 or more"),
    ("ppo.ent_coef=-1", "ppo.ent_coef: -1.0 must be a number, 0 or more"),
    ("ppo.vf_coef=.inf", "ppo.vf_coef: inf must be a number, 0 or more"),
    ("ppo.target_kl=.nan", "ppo.target_kl: nan must be a number, 0 or more"),
    ("ppo.gamma=1.01", "ppo.gamma: 1.01 must be in 0 .. 1"),
    ("ppo.gae_lambda=2", "ppo.gae_lambda: 2.0 must be in 0 .. 1"),
    ("max_turns=0", "max_turns must be in 1 .. 32767, not 0"),
    ("max_quiet_turns=40000", "max_quiet_turns must be in 1 .. 32767, not 40000"),
    ("offer_after=0", "offer_after must be in 1 .. 32767, not 0"),
    ("agreement=1", "agreement: 1 must be of type bool"),
    ("shaping=1", "shaping: classic pays captures already: 0 would be right"),
    ("rules=clasic", "unknown ruleset 'clasic': did you mean 'classic'?"),
    ("opponents.frozen=1.5", "opponents.frozen: 1.5 must be in 0 .. 1"),
    ("opponents.scripted=-0.1", "opponents.scripted: -0.1 must be in 0 .. 1"),
    (
        "opponents={frozen: 0.75, scripted: 0.5}",
        "opponents.frozen and scripted are 1.25 together: 1 is all",
    ),
    ("opponents.pace=-1", "opponents.pace: -1.0 must be a number, 0 or more"),
    ("opponents.snapshot=1", "unknown key opponents.snapshot: did you mean opponents.snapshots?"),
    ("anchors=greedy", "anchors: 'greedy' must be a list of words, such as [random, greedy]"),
    ("anchors=[]", "anchors: [] must name one player or more"),
    ("opponents.players=[1]", "opponents.players: [1] must be a list of words"),
    # names that would write elsewhere than into a folder below runs/
    ("name=../elsewhere", "name: '../elsewhere' must be letters, digits"),
    ("name=a/b", "name: 'a/b' must be"),
    ("name=..", "name: '..' must be"),
    ("name=''", "name: '' must be"),
]


@pytest.mark.parametrize(("override", "said"), MISTAKES, ids=[one for one, _ in MISTAKES])
def test_a_mistake_in_an_override_is_named(override: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(SMOKE, TrainConfig, [override])
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        ("teacher.depth", ("0", "-3", str(MAX_DEPTH + 1)), f"in 1 .. {MAX_DEPTH}"),
        ("teacher.quiescence", ("-1", str(MAX_QUIESCENCE + 1)), f"in 0 .. {MAX_QUIESCENCE}"),
        ("teacher.considered", ("0",), "1 or more"),
        ("teacher.reach", ("0", "32768"), "in 1 .. 32767"),
        ("student.temperature", ("0.0", ".nan", ".inf"), "0.01 or more"),
        ("student.value_decay", ("3.0", ".nan"), "in 0 .. 1"),
        ("lessons.teacher_temperature", ("0.0",), "0.01 or more"),
        ("lessons.student_temperature", ("0.0",), "0.01 or more"),
        ("lessons.student", ("2.0",), "in 0 .. 1"),
        ("lessons.random", ("7.0",), "in 0 .. 1"),
        ("student.passes", ("0.0", "-1.0"), "0.01 or more"),
        ("lessons.random_start", ("-5",), "0 or more"),
    ],
)
def test_a_distillation_out_of_range_is_refused_before_a_search_reads_it(
    written, key: str, wrong: tuple[str, ...], right: str
) -> None:
    for value in wrong:
        with pytest.raises(ConfigError) as error:
            load_config(written(""), DistillConfig, [f"{key}={value}"])
        assert str(error.value) == f"{key}: {value.lstrip('.')} must be {right}"


@pytest.mark.parametrize(
    ("config", "refusal"),
    [
        (TrainConfig(ppo=PPOConfig(clip_coef="0.2")), "ppo.clip_coef: '0.2' must be of type float"),
        (TrainConfig(ppo=PPOConfig(ent_coef=-1)), "ppo.ent_coef: -1 must be a number, 0 or more"),
        (TrainConfig(ppo=OpponentConfig()), "ppo: OpponentConfig("),
        (
            TrainConfig(ppo=PPOConfig),
            "ppo: <class 'training.config.PPOConfig'> must be ",
        ),
        (TrainConfig(network=None), "network: None must be of type NetworkConfig"),
        (TrainConfig(num_games=1.5), "num_games: 1.5 must be of type int"),
        (TrainConfig(anchor_games=True), "anchor_games: True must be of type int"),
        (TrainConfig(device="gpu"), "device: 'gpu' is not one of auto, cpu, cuda"),
        (TrainConfig(anchors="random"), "anchors: 'random' must be a list of words"),
        (
            DistillConfig(teacher=TeacherConfig(evaluation="x")),
            "teacher.evaluation: 'x' is not one",
        ),
    ],
)
def test_types_are_checked_in_a_configuration_made_in_python(
    config: RunConfig, refusal: str
) -> None:
    with pytest.raises(ConfigError) as error:
        config.check()
    assert str(error.value).startswith(refusal)


@pytest.mark.parametrize(
    ("config", "refusal"),
    [
        (
            TrainConfig(opponents=OpponentConfig(frozen="x")),
            "opponents.frozen: 'x' must be of type float",
        ),
        (ExploitConfig(num_games="x"), "num_games: 'x' must be of type int"),
        (
            DistillConfig(lessons=LessonConfig(student=None)),
            "lessons.student: None must be of type float",
        ),
    ],
)
def test_types_are_checked_before_anything_is_counted(config: RunConfig, refusal: str) -> None:
    with pytest.raises(ConfigError, match=f"^{refusal}"):
        config.check()


def test_numbers_that_no_file_can_keep_are_refused_by_their_key() -> None:
    """YAML and JSON write none of NumPy's."""
    with pytest.raises(ConfigError, match=r"^seed: np\.int64\(3\) must be of type int"):
        TrainConfig(seed=np.int64(3)).check()


def test_a_whole_number_serves_as_a_share_in_python() -> None:
    TrainConfig(ppo=PPOConfig(gamma=1), opponents=OpponentConfig(pace=1)).check()


def test_a_section_without_keys_has_its_defaults(written) -> None:
    """As where all its keys have been made comments."""
    path = written("seed: 5\nppo:\nnetwork:\n")
    assert load_config(path, TrainConfig) == TrainConfig(seed=5)
    assert load_config(path, TrainConfig, ["ppo.gamma=0.5"]).ppo == PPOConfig(gamma=0.5)


def test_a_list_is_no_configuration_whatever_is_overridden(written) -> None:
    path = written("- seed\n")
    for overrides in ([], ["seed=1"]):
        with pytest.raises(ConfigError, match="the configuration must be a mapping of keys"):
            load_config(path, TrainConfig, overrides)


def test_seats_are_shared_out_once(written) -> None:
    shares = ["lessons.student=0.7", "lessons.scripted=0.4"]
    with pytest.raises(ConfigError, match=r"lessons\.student and scripted are 1\.1 together"):
        load_config(written(""), DistillConfig, shares)


@pytest.mark.parametrize("kind", [TrainConfig, DistillConfig])
def test_every_default_is_in_its_range(written, kind: type[RunConfig]) -> None:
    assert load_config(written(yaml.safe_dump(dataclasses.asdict(kind()))), kind) == kind()


def test_a_mistake_in_a_file_is_named(written) -> None:
    path = written("seed: 1\nppo:\n  clip_ceof: 0.1\n")
    with pytest.raises(
        ConfigError, match=r"unknown key ppo\.clip_ceof: did you mean ppo.clip_coef"
    ):
        load_config(path, TrainConfig)


def test_a_configuration_of_another_command_names_that_command() -> None:
    kinds = (RunConfig, SelfPlayConfig, TrainConfig, ExploitConfig, DistillConfig)
    common, playing, train, exploit, distil = (
        {field.name for field in dataclasses.fields(kind)} for kind in kinds
    )
    assert set(KEYS_OF_ONE["training.train"]) == train - common
    assert set(KEYS_OF_ONE["training.exploit"]) == exploit - playing
    assert set(KEYS_OF_ONE["training.distill"]) == distil - common
    with pytest.raises(ConfigError, match=r"unknown key ppo: .* python -m training\.train,"):
        load_config(SMOKE, DistillConfig)
    with pytest.raises(ConfigError, match=r"unknown key teacher: .* python -m training\.distill,"):
        load_config(SMOKE, TrainConfig, ["teacher.depth=1"])


@pytest.mark.parametrize(
    "content",
    ["seed: [1", b"\xff\xfe\x01", "a\x00b", "seed: 1\n  rules: x", "ppo: {gamma: 1, gamma: 1}"],
)
def test_what_is_not_yaml_is_named_in_one_line(written, content: str | bytes) -> None:
    path = written(content)
    with pytest.raises(ConfigError) as error:
        load_config(path, TrainConfig)
    assert str(error.value).startswith(f"{path} is not YAML: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["- seed", "5", "seed"])
def test_a_file_that_is_not_a_mapping_is_refused(written, content: str) -> None:
    with pytest.raises(ConfigError, match="the configuration must be a mapping"):
        load_config(written(content), TrainConfig)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nope\.yaml cannot be read: No such file"):
        load_config(tmp_path / "nope.yaml", TrainConfig)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_config(tmp_path, TrainConfig)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("ppo.learning_rate", "1" + "0" * 400, "must be at most"),
        ("ppo.learning_rate", "0x" + "f" * 5000, "an integer of 20000 bits must be at most"),
        ("num_games", "0x" + "f" * 5000, "an integer of 20000 bits must be at most"),
        ("device", "0x" + "f" * 5000, "an integer of 20000 bits is not one of auto, cpu, cuda"),
        ("anchors", "0x" + "f" * 5000, "an integer of 20000 bits must be a list of words"),
        ("rules", "0x" + "f" * 5000, "an integer of 20000 bits must be of type str"),
    ],
)
def test_integers_of_any_length_are_refused_in_a_line(key: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key}: .*{said}"):
        load_config(CONFIGS[0], TrainConfig, [f"{key}={value}"])


@pytest.mark.parametrize("kind", [TrainConfig, ExploitConfig, DistillConfig])
def test_a_word_for_one_key_of_a_section_leaves_the_others_as_help_shows_them(
    kind: type[RunConfig],
) -> None:
    """A section that is named in part takes its other keys from its own class."""
    sections = [value for value in vars(kind()).values() if dataclasses.is_dataclass(value)]
    assert sections
    for section in sections:
        assert section == type(section)()


@pytest.mark.parametrize("given", ["configs/smoke.yaml", {}, None, RunConfig()])
def test_what_is_no_configuration_is_named(given, tmp_path: Path) -> None:
    begun = {
        self_play_trainer: "TrainConfig",
        lambda config: train(config, Console(quiet=True), tmp_path): "TrainConfig",
        lambda config: exploit(config, Console(quiet=True), tmp_path): "ExploitConfig",
        lambda config: distil(config, Console(quiet=True), tmp_path): "DistillConfig",
        lambda config: Distillation(config, tmp_path): "DistillConfig",
    }
    for begin, kind in begun.items():
        with pytest.raises(TypeError, match=rf"^config .*: a {kind}, or what .*path, {kind}\)"):
            begin(given)
    assert not list(tmp_path.iterdir())


def test_a_configuration_is_read_from_a_files_name() -> None:
    assert load_config(str(FOLDER / "smoke.yaml"), TrainConfig).name == "smoke"


def test_a_ruleset_in_place_of_its_spec_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^rules: .* must be of type str: its spec, or name"):
        self_play_trainer(TrainConfig(rules=CLASSIC))  # type: ignore[arg-type]
