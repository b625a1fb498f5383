# Two commands for people: `make reproduce` and `make test`. Everything they need is installed into .venv.
# make reproduce ARGS=--quick passes options on.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
EXTRAS := experiments,cli,report,dask,dev
PIP    := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet

.PHONY: setup test reproduce record lint types clean

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hillbandit needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 setup")'
	@echo "Installing hillbandit and its tools into $(VENV) (a minute or two, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

test: setup
	$(BIN)/python -m pytest -n auto

reproduce: setup
	$(BIN)/python -m hillbandit reproduce $(ARGS)

# puts the report of the last reproduction among the documentation
record: reproduce
	mkdir -p docs/figures
	cp results/report.md docs/reproduction.md
	cp results/figures/*.png docs/figures/

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
