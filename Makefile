# Every target works from a fresh clone: it first makes .venv and installs with plain pip.
PYTHON ?= python3
BIN := .venv/bin
# Half of what pip does is compiling modules that nobody imports: Python compiles those it needs when it needs them.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# Bytecode is kept, whatever the shell says: every worker of the tests would compile all of them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow test-random lint docs bench reproduce clean

demo: .venv/molehill
	$(BIN)/molehill demo --out molehill-demo --overwrite

test: .venv/tests
	$(PYTEST)

# The long tests, and every property with ten times as many random examples.
test-slow: .venv/tests
	$(PYTEST) -m 'slow or hypothesis' --hypothesis-profile thorough --timeout 7200

test-random: .venv/tests
	$(PYTEST) --random-order --random-order-seed $$(date +%s)

lint: .venv/developer
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: .venv/developer
	$(BIN)/mkdocs build --strict

bench: .venv/developer
	$(BIN)/python benchmarks/risk.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/efficiency.py --data counts

# The paper's studies, and their joined page; what is there already is not computed again. `make reproduce QUICK=1` for a
# first look.
reproduce: .venv/molehill
	$(BIN)/python -m studies.paper simulation --out reproduction/simulation $(if $(QUICK),--quick)
	$(BIN)/python -m studies.paper application --out reproduction/application $(if $(QUICK),--quick)
	$(BIN)/python -m studies.paper page reproduction/simulation reproduction/application --out reproduction

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis site molehill-demo reproduction

# What a user installs.
.venv/molehill: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) .
	touch $@

# The same, with what the tests need.
.venv/tests: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) '.[test]'
	touch .venv/molehill $@

# The same, with the tools of a developer.
.venv/developer: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) '.[dev]'
	touch .venv/molehill .venv/tests $@
