# make demo    set up, run a small sweep on a real model, write and name a report
# make test    set up, run the tests            make check   lint, types, layers
# make format  rewrite the layout               make test-tl4  the model contract on TransformerLens 4
PYTHON ?= python3
VENV   ?= .venv
VENV4  ?= .venv-tl4
BIN    := $(VENV)/bin
PYTEST ?= -m pytest
DEMO   ?= runs/demo
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export TOKENIZERS_PARALLELISM = false

.PHONY: demo test test-tl4 check format clean

demo: $(VENV)/.ready
	$(BIN)/routelens sweep --model smollm2-135m-q4 --task knowledge --task base --passages 3 \
	  --policies full,random,expected_attention,adakv --ratios 0,0.5,0.8,0.9,0.95 --out $(DEMO)
	$(BIN)/routelens report $(DEMO)

test: $(VENV)/.ready
	$(BIN)/python $(PYTEST)

test-tl4: $(VENV4)/.ready
	$(VENV4)/bin/python $(PYTEST) tests/models tests/decoding

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.ready: pyproject.toml constraints/tl3.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints/tl3.txt -e '.[hooked,dev]'
	touch $@

$(VENV4)/.ready: pyproject.toml constraints/tl4.txt
	$(PYTHON) -m venv $(VENV4)
	$(VENV4)/bin/python -m pip install --quiet -c constraints/tl4.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV4) runs/demo
