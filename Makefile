# Every target makes .venv and installs what it needs by itself; `make` alone lists them.
#
#   PYTHON   the interpreter that .venv is made from, 3.11 or newer
#   GPU      auto, 0 or 1: whether torch should be a CUDA build (auto asks nvidia-smi)
#   CONFIG   what `make train` trains
#   TESTS    what `make test` runs, for example TESTS="tests/test_docs.py -x"
#   MINUTES  for each row of `make reliability`; SIZE=ci is its short form, ROWS names some rows,
#            JOBS says how many are proven at once
#   STEPS    decisions that each library learns from in `make integrations`
#   LANES    what `make lanes` tests: Python versions, and lowest; PYTHON3.13=PATH names one that
#            is neither on the PATH nor among pyenv's
#   LANE_TESTS  the tests that each lane runs

PYTHON ?= python3
GPU ?= auto
CONFIG ?= configs/smoke.yaml
TESTS ?=
STEPS ?= 8192
MINUTES ?= 5
JOBS ?= 2
LANES ?= lowest 3.11 3.12 3.13 3.14
# The tests that need nothing but the core dependencies: no torch.
NEED_MORE := $(patsubst %,tests/test_%.py,\
	command environment_page tactics batch_cuda device_play notebook reliability web_faults)
LANE_TESTS ?= -m "not slow and not soak" tests/clients/test_gymnasium_wrappers.py \
	$(filter-out $(NEED_MORE), $(shell grep -LE \
	'^ *(from|import) (agents\.|training|torch|ladders|small_run)' tests/test_*.py))
INDEXING := rules rules_valley rules_agreement perft turns draw batch encoding position_text check \
	rules_reference playouts vector env_states
COVERING := actions aec batch batch_input batch_reset bench board check command encoding \
	env_states envs film match notation opponents options perft position position_text record \
	record_files render rendering rules rules_agreement rules_valley rulesets single symmetry \
	turns vector
MEASURED = NUMBA_DISABLE_JIT=1 PYTHONPATH=tests $(PY) -m coverage run --parallel-mode \
	--data-file=build/coverage/part --source=thud_env
# The PyTorch project's own index of CPU builds; a mirror of it will do as well.
TORCH_CPU_INDEX ?= https://download.pytorch.org/whl/cpu

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL: # two pips in one environment would clash

VENV := .venv
# Libraries whose versions clash with ours, or with each other's, have environments of their own.
LIBRARIES := .venv-integrations
RLLIB := .venv-rllib
BARE := build/venv-bare
SEARCHES := build/venv-agents
CUDA := .venv-cuda
# Modules are compiled as they are first imported, rather than all of torch's as it is installed:
# a minute and more of every set-up. Where Python keeps no bytecode, pip has to.
export PIP_COMPILE := $(if $(PYTHONDONTWRITEBYTECODE),1,0)
# Ray reports its use unless it is switched off.
export RAY_USAGE_STATS_ENABLED := 0
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
# The build backend is pinned and installed like everything else: no isolated builds.
INSTALL := $(PIP) install --constraint constraints.txt --no-build-isolation

.PHONY: help setup play train test chromium soak reliability boundscheck coverage lint bench ladder balance rllib integrations learners cluster bare lanes lane cuda gpu lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.test $(VENV)/.lint ## install everything into .venv, run nothing

play: $(VENV)/.play ## play in the browser, on a local page
	$(PY) -m agents.play --web

train: $(VENV)/.train ## train a dwarf and a troll policy by self-play, then pit them against others
	$(PY) -m training.train $(CONFIG)

test: $(VENV)/.test ## run all tests but the longest
	@echo "Compiling the rules, once for all test processes ..."
	$(PY) -m thud_env.bench --signature
	$(PY) -m pytest -n auto --maxprocesses 4 $(TESTS)

chromium: ## install Debian's Chromium for the tests of the page, which are skipped without it
	@command -v chromium-headless-shell > /dev/null || command -v chromium > /dev/null || { \
		apt-get update -qq && apt-get install -y -qq chromium-headless-shell; }

soak: $(VENV)/.test ## run the long tests, which `make test` leaves out
	$(PY) -m pytest -m soak $(TESTS)

reliability: $(VENV)/.test ## prove what docs/reliability.md promises, and write that page
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(PY) -m reliability --jobs $(JOBS) \
		$(if $(filter ci,$(SIZE)),--ci,--minutes $(MINUTES)) $(ROWS)

# INDEXING lists the tests that exercise the indexing of compiled loops most.
boundscheck: $(VENV)/.test ## test the rules and the batch with every index checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/boundscheck $(PY) -m pytest -q -n auto --maxprocesses 2 \
		-m "not slow and not soak" $(patsubst %,tests/test_%.py,$(INDEXING))

# Coverage sees plain Python only, so nothing is compiled; Numba's simulator runs the GPU kernels.
coverage: $(VENV)/.test ## measure which lines of thud_env its tests run, as plain Python
	rm -rf build/coverage && mkdir -p build/coverage
	$(MEASURED) -m pytest -q -p reliability.cut_short -m "not slow and not soak" \
		$(patsubst %,tests/test_%.py,$(COVERING))
	NUMBA_ENABLE_CUDASIM=1 $(MEASURED) tests/simulated_games.py classic-any 1 build/coverage/shown.npz
	$(PY) -m coverage combine -q --data-file=build/coverage/all build/coverage/part.*
	$(PY) -m coverage report --data-file=build/coverage/all -m --skip-covered --fail-under=95

lint: $(VENV)/.lint ## check style, format and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/.core ## measure the environment's speed
	$(PY) -m thud_env.bench

LADDERS := classic-all koom-valley koom-valley-football
ladder: $(VENV)/.train ## play agents all against all by four rulesets, and write docs/strength*.md
	$(PY) -m training.ladder --field configs/ladder/classic.yaml --publish docs/strength.md
	set -e; for rules in $(LADDERS); do $(PY) -m training.ladder \
		--field configs/ladder/$$rules.yaml --publish docs/strength-$$rules.md; done

balance: $(VENV)/.train ## play agents against themselves in all rulesets, and write docs/balance.md
	$(PY) -m training.balance --publish docs/balance.md

rllib: $(RLLIB)/.done ## install RLlib into .venv-rllib, run nothing

integrations: learners cluster ## train other libraries on it, for some seconds each

learners: $(LIBRARIES)/.done ## train those of one environment: SB3, CleanRL, TorchRL and others
	$(LIBRARIES)/bin/python -m pytest tests/clients tests/test_integrations.py tests/test_learners.py
	$(LIBRARIES)/bin/python -m training.integrations.cleanrl_ppo --steps $(STEPS)
	$(LIBRARIES)/bin/python -m training.integrations.sb3_maskable_ppo --steps $(STEPS)
	$(LIBRARIES)/bin/python -m training.integrations.torchrl_ppo --steps $(STEPS)
	$(LIBRARIES)/bin/python -m training.integrations.tianshou_ppo --steps $(STEPS)
	$(LIBRARIES)/bin/python -m training.integrations.open_spiel_game

cluster: $(RLLIB)/.done ## train RLlib, and test what runs on Ray
	$(RLLIB)/bin/python -m pytest tests/test_integrations.py tests/test_scaling.py \
		tests/test_actors.py tests/test_vector.py tests/test_copies.py # with an older Gymnasium
	$(RLLIB)/bin/python -m training.integrations.rllib_ppo --steps $(STEPS)

bare: $(BARE)/.done $(SEARCHES)/.done ## play every environment and every search with nothing else installed
	cd $(BARE) && bin/python -I ../../tests/bare_play.py
	cd $(SEARCHES) && bin/python -I ../../tests/bare_agents.py

lanes: ## test thud_env on Python 3.11 to 3.14, and with the lowest versions that it allows
	@rm -f build/lane-*/signature
	@$(foreach lane,$(LANES),$(call run_lane,$(lane),$(subst lowest,3.11,$(lane))))
	@[ "$$(cat build/lane-*/signature | sort -u | wc -l)" = 1 ] || { \
		echo "The lanes play differently:"; grep . build/lane-*/signature; exit 1; } >&2
	@echo "The same signature in $$(ls build/lane-*/signature | wc -l) lanes: $$(cat build/lane-*/signature | head -1)"

# Lanes that were asked for by name must run; others where their Python is.
ASKED_FOR = $(findstring command,$(origin LANES))
find_python = $(or $(PYTHON$(1)),$(shell for python in python$(1) \
	"$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$(1).*/bin/python; do \
	"$$python" -c "" 2> /dev/null && echo "$$python" && break; done))
run_lane = python="$(call find_python,$(2))"; if [ -n "$$python" ]; \
	then $(MAKE) --no-print-directory lane LANE=$(1) PYTHON="$$python"; \
	else echo "Lane $(1) $(if $(ASKED_FOR),failed,skipped): no Python $(2) here; PYTHON$(2)=PATH names one"; \
	$(if $(ASKED_FOR),exit 1;) fi;

# Each lane has a virtual environment and a compile cache of its own.
lane: build/lane-$(LANE)/.done
	@echo "Lane $(LANE): $$($(<D)/bin/python --version), $$($(<D)/bin/python -m pip freeze \
		| grep -E '^($(CORE_NAMES))=' | paste -sd ' ')"
	NUMBA_CACHE_DIR=$(<D)/cache $(<D)/bin/python -m thud_env.bench --signature > $(<D)/signature
	NUMBA_CACHE_DIR=$(<D)/cache $(<D)/bin/python -m pytest -q -n auto --maxprocesses 2 $(LANE_TESTS)

cuda: $(CUDA)/.done ## compile the CUDA kernels for an H200; needs no GPU
	$(CUDA)/bin/python tests/compile_cuda.py

gpu: $(CUDA)/.done ## prove on an NVIDIA GPU that it plays as the CPU does, and measure it
	$(CUDA)/bin/python -m pytest tests/test_batch_cuda.py
	$(CUDA)/bin/python tests/benchmarks/gpu.py --rates --out build/gpu

clean: ## remove the virtual environments, caches and build output; runs/ stays
	rm -rf $(VENV) $(LIBRARIES) $(RLLIB) $(CUDA) build dist .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- installing ----------------------------------------------------------------------------
#
# One stamp for each set of packages, renewed when its pins or pyproject.toml change.

define make_venv
@command -v $(PYTHON) > /dev/null || { \
	echo "No $(PYTHON) here: install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "$(PYTHON) is $$($(PYTHON) --version 2>&1): Python 3.11 or newer is needed;" \
		"name one with make PYTHON=python3.12" >&2; exit 1; }
$(PYTHON) -m venv $(1)
endef

$(VENV)/bin/pip:
	$(call make_venv,$(VENV))

$(VENV)/.base: constraints.txt | $(VENV)/bin/pip
	$(PIP) install --constraint constraints.txt --upgrade pip
	$(INSTALL) hatchling editables
	@touch $@

$(VENV)/.core: $(VENV)/.base pyproject.toml
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.train: $(VENV)/.core
	$(call install_torch,$(PY))
	$(INSTALL) --editable ".[train]"
	$(call check_no_cuda,$(PY))
	@touch $@

$(VENV)/.play: $(VENV)/.train
	$(INSTALL) --editable ".[web]"
	@touch $@

$(VENV)/.test: $(VENV)/.play
	$(INSTALL) --group test
	@touch $@

$(VENV)/.lint: $(VENV)/.play
	$(INSTALL) --group lint
	@touch $@

# Installs an extra into an environment of its own, with its own pins, and what the tests need.
define install_extra
$(1)/bin/python -m pip --disable-pip-version-check install --constraint $(2) --upgrade pip
$(1)/bin/python -m pip --disable-pip-version-check install --constraint $(2) hatchling editables pytest pygame-ce
$(call install_torch,$(1)/bin/python)
$(1)/bin/python -m pip --disable-pip-version-check install --constraint $(2) \
	--no-build-isolation --editable ".[$(3)]"
$(call check_no_cuda,$(1)/bin/python)
endef

# AgileRL requires older versions of PettingZoo and tensordict, and much that is not used here (jax,
# wheels of games). So it is installed without dependencies, beside those that its masked DQN
# imports. array-api-compat is for Gymnasium's own wrappers.
AGILERL := agilerl agilerl-arena fastrand
CLIENTS_NEED := accelerate array-api-compat dill flatten-dict lazy-loader peft pydantic transformers wandb

$(LIBRARIES)/.done: constraints-integrations.txt pyproject.toml
	$(call make_venv,$(LIBRARIES))
	$(call install_extra,$(LIBRARIES),$<,integrations)
	$(LIBRARIES)/bin/python -m pip --disable-pip-version-check install --constraint $< $(CLIENTS_NEED)
	$(LIBRARIES)/bin/python -m pip --disable-pip-version-check install --constraint $< --no-deps $(AGILERL)
	@touch $@

$(RLLIB)/.done: constraints-rllib.txt pyproject.toml
	$(call make_venv,$(RLLIB))
	$(call install_extra,$(RLLIB),$<,rllib)
	@touch $@

$(CUDA)/.done: constraints-cuda.txt pyproject.toml
	$(call make_venv,$(CUDA))
	$(CUDA)/bin/python -m pip --disable-pip-version-check install --constraint $< --upgrade pip
	$(CUDA)/bin/python -m pip --disable-pip-version-check install --constraint $< hatchling editables pytest
	$(CUDA)/bin/python -m pip --disable-pip-version-check install --constraint $< \
		--no-build-isolation --editable ".[cuda]"
	@touch $@

# The lowest versions of the core dependencies that pyproject.toml allows, NAME==VERSION.
LOWEST = $(shell sed -n '/^dependencies/,/^]/s/.*"\(.*\)>=\(.*\)",/\1==\2/p' pyproject.toml)
empty :=
CORE_NAMES = $(subst $(empty) ,|,$(foreach pin,$(LOWEST),$(firstword $(subst ==, ,$(pin)))))

build/lane-%/constraints.txt: constraints.txt pyproject.toml
	@mkdir -p $(@D)
	cp constraints.txt $@

build/lane-lowest/constraints.txt: constraints.txt pyproject.toml
	@mkdir -p $(@D)
	{ printf '%s\n' $(LOWEST); grep -vE '^($(CORE_NAMES)|llvmlite)==' constraints.txt; } > $@

.PRECIOUS: build/lane-%/constraints.txt
build/lane-%/.done: build/lane-%/constraints.txt
	$(call make_venv,$(@D))
	$(@D)/bin/python -m pip install --quiet --constraint $< --upgrade pip
	$(@D)/bin/python -m pip install --quiet --constraint $< \
		hatchling editables pytest pytest-xdist pygame-ce
	$(@D)/bin/python -m pip install --quiet --constraint $< --no-build-isolation --editable .
	@touch $@

# Not editable, so that the tests play what a wheel installs.
$(BARE)/.done: $(VENV)/.base pyproject.toml $(shell find thud_env -name '*.py')
	rm -rf $(BARE)
	$(call make_venv,$(BARE))
	$(PY) -m hatchling build -t wheel -d $(BARE)/wheel
	$(BARE)/bin/python -m pip --disable-pip-version-check install \
		--constraint constraints.txt $(BARE)/wheel/*.whl
	@touch $@

$(SEARCHES)/.done: constraints.txt pyproject.toml
	$(call make_venv,$(SEARCHES))
	$(SEARCHES)/bin/python -m pip --disable-pip-version-check install --constraint $< hatchling editables
	$(SEARCHES)/bin/python -m pip --disable-pip-version-check install --constraint $< \
		--no-build-isolation --editable ".[agents]"
	@touch $@

# PyPI's torch for Linux brings gigabytes of CUDA packages along. Without a GPU, torch is
# therefore installed first and alone, as a CPU build: one that is installed already, or a wheel
# that pip's configuration finds, or one from the PyTorch project's index. Later installs find
# torch in place. There is no fallback to the large build.
wants_cuda = { [ "$(GPU)" = 1 ] || { [ "$(GPU)" = auto ] && nvidia-smi -L 2> /dev/null | grep GPU > /dev/null; }; }

define install_torch
@if [ "$$(uname -s)" = Linux ] && ! $(wants_cuda); then \
	torch="$$(grep '^torch==' constraints.txt)"; \
	echo "No NVIDIA GPU: $$torch as a CPU build"; \
	$(1) -m pip install --quiet --no-deps --no-index "$$torch" 2> /dev/null \
	|| $(1) -m pip install --no-deps --index-url $(TORCH_CPU_INDEX) --retries 1 --timeout 30 "$$torch" \
	|| { echo "No CPU build of $$torch: $(TORCH_CPU_INDEX) could not be read." \
		"Try again, name a mirror of it (make TORCH_CPU_INDEX=...), put the wheel into a" \
		"folder and set PIP_FIND_LINKS to it, or take the CUDA build (make GPU=1)." >&2; exit 1; }; \
fi
endef

define check_no_cuda
@if ! $(wants_cuda); then \
	found="$$($(1) -m pip list --format=freeze | grep -iE '^(nvidia-|cuda-|triton)' || true)"; \
	[ -z "$$found" ] || { echo "There is no NVIDIA GPU here, yet these were installed:" $$found; \
		echo "Start over with: make clean"; exit 1; } >&2; \
fi
endef

# -- pinning -------------------------------------------------------------------------------

LOCK_VENV := build/lock-venv

EVERYTHING := --editable ".[train,cluster,export,render,web]" --group dev

lock: ## pin afresh, in constraints*.txt, everything that the targets install
	$(call lock_in,constraints.txt,$(EVERYTHING))
	$(call lock_in,constraints-integrations.txt,--editable ".[integrations]" pytest pygame-ce $(CLIENTS_NEED),$(AGILERL))
	$(call lock_in,constraints-rllib.txt,--editable ".[rllib]" pytest pygame-ce)
	$(call lock_in,constraints-cuda.txt,--editable ".[cuda]" pytest,,nvidia-)

# Keeps the comment at the top of a file of pins, and the version of torch. The fourth argument says
# what is not pinned where no torch is wanted.
define lock_in
rm -rf $(LOCK_VENV)
$(call make_venv,$(LOCK_VENV))
$(LOCK_VENV)/bin/python -m pip install --upgrade pip
$(LOCK_VENV)/bin/python -m pip install hatchling editables
$(if $(4),,$(call install_torch,$(LOCK_VENV)/bin/python))
$(LOCK_VENV)/bin/python -m pip install --no-build-isolation $(2) \
	$(if $(4),,"$$(grep '^torch==' constraints.txt)")
$(if $(3),$(LOCK_VENV)/bin/python -m pip install --no-deps $(3))
@echo "Writing $(1)"; { sed '/^[^#]/,$$d' $(1); \
  $(LOCK_VENV)/bin/python -m pip freeze --all --exclude-editable \
  | sed 's/+cpu$$//' | grep -ivE '^($(or $(4),nvidia-|cuda-|triton))' | LC_ALL=C sort --ignore-case; \
} > build/$(1)
mv build/$(1) $(1)
rm -rf $(LOCK_VENV)
endef
