# Every target works from a fresh clone: it first makes .venv and installs with plain pip.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow lint docs bench clean

demo: .venv/installed
	$(BIN)/molehill demo --out molehill-demo --overwrite

test: .venv/installed
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

test-slow: .venv/installed
	$(BIN)/python -m pytest -m slow

lint: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: .venv/installed
	$(BIN)/mkdocs build --strict

bench: .venv/installed
	$(BIN)/python benchmarks/risk.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/efficiency.py --data counts

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis site molehill-demo

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@
