# Everything is built into .venv; `make` alone explains the targets. Each target can be run first, again, in any order:
# stamps in .venv say what is up to date. Written for GNU make 3.81 and up.

MAKEFLAGS += --no-builtin-rules --no-print-directory

# Python to make .venv from; for another one: make setup PYTHON=python3.12
PYTHON := python3
PYTHON_MINIMUM := 3.11
RUST_MINIMUM := 1.89

VENV := .venv
BIN := $(VENV)/bin
CARGO := cargo
CARGO_OUTPUT := $(or $(CARGO_TARGET_DIR),target)
# The engine is built for the Python of .venv, whatever environment the caller has active.
unexport PYTHONPATH PYTHONHOME CONDA_PREFIX
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# Directories count as well: they change when a file comes or goes. So does the log of HEAD, since the engine carries
# the git revision into every result.
SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.snap*' -prune -o -print)
HEAD_LOG := $(wildcard $(shell git rev-parse --git-path logs/HEAD 2>/dev/null))
BENCH_SOURCES := $(if $(wildcard benches/Cargo.toml),$(shell find benches -print))

STAMP_VENV := $(VENV)/.stamp-venv
STAMP_PACKAGES := $(VENV)/.stamp-packages
STAMP_EXTRAS := $(VENV)/.stamp-extras
STAMP_ENGINE := $(VENV)/.stamp-engine
STAMP_BENCH := $(if $(BENCH_SOURCES),$(VENV)/.stamp-bench)

.PHONY: help
help: ## Explains the targets
	@echo 'usage: make TARGET'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1: \2/p' Makefile

.PHONY: setup
setup: $(STAMP_ENGINE) $(STAMP_BENCH) ## Builds .venv/bin/paceline with everything it needs

.PHONY: engine
engine: $(STAMP_ENGINE) ## The same but for the program behind `paceline bench`

.PHONY: demo
demo: engine ## Runs HPCC against a fixed window on 320 hosts and draws the comparison in results/demo
	$(BIN)/paceline run examples/demo.toml --set name=hpcc --out results/demo/hpcc
	$(BIN)/paceline run examples/demo.toml --set name=fixed-window --set workloads.0.scheme=none \
	  --out results/demo/fixed-window
	$(BIN)/paceline report results/demo/hpcc results/demo/fixed-window --out results/demo

.PHONY: pictures
pictures: setup ## Draws the pictures of README and docs anew, in about an hour of CPU; PICTURES=name only those
	$(BIN)/python scripts/pictures.py $(PICTURES)

# Property tests draw the same cases every time, so that one commit always passes or always fails.
PROPTEST_RNG_SEED ?= 1

# The tests are compiled beside the engine, which for minutes uses one core.
.PHONY: test
test: $(STAMP_PACKAGES) ## Runs all tests, of Rust and of Python
	@$(CARGO) test --workspace --locked --quiet --no-run & tests=$$!; \
	  $(MAKE) setup; engine=$$?; wait $$tests && exit $$engine
	PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) $(CARGO) test --workspace --locked --quiet
	$(BIN)/python -m pytest --numprocesses logical --maxprocesses 8 --dist worksteal

# Apart from .venv's own packages: where pyarrow is installed every run writes its tables as Parquet, too.
.PHONY: extras
extras: setup $(STAMP_EXTRAS) ## Runs the tests of tables with pandas, Polars and pyarrow, and of Optuna's example: packages that users install themselves
	PYTHONPATH=$(VENV)/extras $(BIN)/python -m pytest --numprocesses 0 tests/test_dictionary.py tests/test_results.py tests/test_tune.py

# New cases each time, and many of them.
.PHONY: fuzz
fuzz: ## Runs the property tests of the engines on new cases, for about ten minutes
	PROPTEST_CASES=3000 $(CARGO) test --workspace --locked --quiet --test suite -- random_scenarios:: messages:: rpc:: \
	  engines:: mpi::

.PHONY: parity
parity: tools ## Compares all carried runs of the HPCC reference simulator, byte for byte
	$(CARGO) test --package paceline-sim --locked --quiet --test suite -- parity:: --ignored --nocapture

.PHONY: bench
bench: setup ## Measures the engine
	$(BIN)/paceline bench

.PHONY: guard
guard: setup ## Compares the engine's instructions per packet with the recorded number; needs valgrind
	@$(BIN)/paceline-bench --guard

# On Miri only what is quick there; ThreadSanitizer, which needs a standard library of its own, runs whole networks.
NIGHTLY := $(CARGO) +nightly
MIRI := MIRIFLAGS=-Zmiri-isolation-error=hide $(NIGHTLY) miri test --locked --quiet
.PHONY: sanitize
sanitize: ## Runs the threads' tests under Miri and ThreadSanitizer, for some ten minutes; needs a nightly Rust
	@$(NIGHTLY) miri --version >/dev/null 2>&1 && test -d "$$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" || \
	  { echo 'make: sanitize needs: rustup toolchain install nightly --component miri --component rust-src' >&2; exit 1; }
	$(MIRI) --package paceline-proto --lib -- transport::timers far_apart
	$(MIRI) --package paceline-sim --lib -- engine::team
	$(MIRI) --package paceline-sim --test suite -- threads::
	RUSTFLAGS=-Zsanitizer=thread PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED) $(NIGHTLY) test --locked --quiet -Zbuild-std \
	  --target "$$(rustc +nightly -vV | sed -n 's/^host: //p')" --target-dir $(CARGO_OUTPUT)/thread-sanitizer \
	  --package paceline-sim --test suite -- threads:: engines::

.PHONY: lint
lint: setup ## Checks formatting, lints, types and stubs
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked --quiet
	@if $(CARGO) +$(RUST_MINIMUM) --version >/dev/null 2>&1; then \
	  $(CARGO) +$(RUST_MINIMUM) check --workspace --all-targets --locked --quiet --target-dir $(CARGO_OUTPUT)/oldest; \
	else echo 'make: not checked with the oldest Rust; that needs: rustup toolchain install $(RUST_MINIMUM)'; fi
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy --strict python/paceline
	$(BIN)/stubtest paceline._native

.PHONY: format
format: setup ## Formats all sources
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format --quiet

.PHONY: lock
lock: ## Renews requirements.lock, requirements-extras.lock and Cargo.lock; the only target that needs uv
	uv pip compile --quiet --universal --python-version $(PYTHON_MINIMUM) --upgrade --extra dev --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --output-file requirements.lock pyproject.toml
	uv pip compile --quiet --universal --python-version $(PYTHON_MINIMUM) --upgrade --extra pandas --extra polars --extra pyarrow --extra optuna \
	  --constraint requirements.lock $$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' requirements.lock | sort -u) \
	  --generate-hashes --no-emit-index-url --no-header --no-annotate --output-file requirements-extras.lock pyproject.toml
	$(CARGO) update

.PHONY: clean
clean: ## Removes what was built; results stay
	rm -rf $(VENV) target .mypy_cache .pytest_cache .ruff_cache .hypothesis python/paceline/*.so
	find python tests -name __pycache__ -prune -exec rm -rf {} +

.PHONY: tools
tools:
	@scripts/check-tools.sh $(PYTHON) $(PYTHON_MINIMUM) $(RUST_MINIMUM)

# A .venv that was moved or that lost its Python is made anew: its programs name their place.
ifneq ($(shell cat $(STAMP_VENV) 2>/dev/null && $(BIN)/python -c '' 2>&1),$(CURDIR))
.PHONY: $(STAMP_VENV)
endif

$(STAMP_VENV): | tools
	@echo 'make: making .venv'
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@echo '$(CURDIR)' > $@

$(STAMP_PACKAGES): requirements.lock $(STAMP_VENV)
	@echo 'make: installing the Python packages of requirements.lock'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r requirements.lock
	@touch $@

$(STAMP_EXTRAS): requirements-extras.lock $(STAMP_PACKAGES)
	@echo 'make: installing pandas, Polars and pyarrow'
	@rm -rf $(VENV)/extras
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --require-hashes \
	  --target $(VENV)/extras -r requirements-extras.lock
	@touch $@

# maturin tells at length what it does; that is shown when it fails.
$(STAMP_ENGINE): $(STAMP_PACKAGES) pyproject.toml $(SOURCES) $(HEAD_LOG) | tools
	@echo 'make: building the engine (some minutes the first time)'
	@$(BIN)/maturin develop --release --locked > $(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@touch $@

$(VENV)/.stamp-bench: $(STAMP_PACKAGES) $(SOURCES) $(BENCH_SOURCES) | tools
	@echo 'make: building the benchmark program'
	@$(CARGO) build --release --locked --quiet --package paceline-bench
	@install -m 755 $(CARGO_OUTPUT)/release/paceline-bench $(BIN)/paceline-bench
	@touch $@
