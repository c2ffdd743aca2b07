# Two commands from a fresh clone: `make demo` and `make test`. Everything goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-bench
PIP := $(BIN)/pip --disable-pip-version-check --quiet
LOCKED := $(PIP) install --require-hashes --requirement
ITSELF := $(PIP) install --no-deps --no-build-isolation --editable .
# Twice as many as cores: about half of the time of the tests is waiting for brokers and browsers.
TEST_PROCESSES = $(shell expr 2 \* $$(nproc))
# The image: how it is called, and what builds it. IMAGE_OPTIONS goes to the builder as it is.
IMAGE ?= localhost/wirerank:latest
BUILDER ?= $(or $(shell command -v podman),docker)
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
REVISION = $(shell git rev-parse HEAD 2>/dev/null || echo unknown)

.DEFAULT_GOAL := help
.PHONY: kubernetes-tools help demo lint kernels check test bounds fuzz soak bounded bench peers peers-quick quality kafka kafka-stop prometheus dashboards pictures notebooks image image-base image-test sbom audit lock release-check clean

help:  ## Show what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Wirerank needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Only files whose hashes are in locks/ are installed. The project itself comes last: its
# dependencies are there, and so is what builds it.
$(VENV)/.experiments: $(VENV)/.created pyproject.toml locks/experiments.txt
	$(LOCKED) locks/experiments.txt
	$(ITSELF)
	@touch $@

$(VENV)/.dev: $(VENV)/.experiments locks/dev.txt
	$(LOCKED) locks/dev.txt
	@touch $@

# What Wirerank is compared with has an environment of its own.
$(PEERS)/.peers: locks/bench.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip --disable-pip-version-check --quiet install --require-hashes --requirement locks/bench.txt
	@touch $@

$(VENV)/.audit: $(VENV)/.dev locks/audit.txt
	$(LOCKED) locks/audit.txt
	@touch $@

demo: $(VENV)/.experiments  ## Replay a built-in corpus, compare three learners, draw their curves
	@mkdir -p demo
	$(BIN)/wirerank replay synthetic:20000 --curves demo/curves.csv --report demo/report.json --plot demo/curves.png

lint: $(VENV)/.dev  ## Run the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

kernels: $(VENV)/.experiments  ## Compile the kernels, before several processes need them at once
	$(BIN)/python -m deploy.kernels

check: lint  ## Run the linters, the type checker and the fast tests: two minutes
	$(BIN)/pytest --quiet --numprocesses auto --dist worksteal -m 'not slow'

test: $(VENV)/.dev  ## Run the linters, the type checker and all tests; print the ten slowest
	@$(MAKE) --jobs 2 --output-sync=target lint kernels
	$(BIN)/pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --durations 10

kafka: $(VENV)/.created  ## Start Apache Kafka at 127.0.0.1:9092 (needs Java 17 and Maven)
	@$(BIN)/python -m deploy.kafka start $(KAFKA)

kafka-stop: $(VENV)/.created  ## Stop it; its data stays
	@$(BIN)/python -m deploy.kafka stop $(KAFKA)

# Where the sample configuration keeps what must last.
STATE = $(HOME)/.local/state/wirerank
prometheus:  ## Scrape Wirerank on this machine, at 127.0.0.1:9090, until Ctrl-C (needs Debian's prometheus)
	@command -v prometheus >/dev/null || { echo "There is no prometheus here; try: apt install prometheus"; exit 1; }
	@mkdir -p $(STATE)/targets $(STATE)/prometheus
	@sed -e 's|targets/|$(STATE)/targets/|' -e 's|- rules/|- $(CURDIR)/deploy/prometheus/rules/|' \
	  deploy/prometheus/prometheus.yml > $(STATE)/prometheus/prometheus.yml
	prometheus --config.file=$(STATE)/prometheus/prometheus.yml --web.listen-address=127.0.0.1:9090 \
	  --storage.tsdb.path=$(STATE)/prometheus

kubernetes-tools: $(VENV)/.created  ## Fetch Helm and schemas for the tests of the chart (needs Go; API_SERVER=1)
	@$(BIN)/python -m deploy.kubernetes $(if $(API_SERVER),--api-server)

dashboards: $(VENV)/.experiments  ## Write the Grafana dashboards again from their code
	@$(BIN)/python -m deploy.grafana

pictures: $(VENV)/.dev  ## Draw the pictures of the README again, from a real run (needs chromium)
	@$(BIN)/python docs/pictures/draw_pictures.py

notebooks: $(VENV)/.dev  ## Run the notebooks of the guide, and store their results in them
	@$(BIN)/python -m tests.support.notebooks docs/guide/*.ipynb

bounds: $(VENV)/.dev  ## Run the tests of all kernels with every index checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(BIN)/pytest --quiet --numprocesses auto --dist loadfile \
	  --ignore tests/learners/sharding/test_corpora.py tests/learners tests/reference/test_svm_map_search.py tests/reference/test_svm_map_training.py tests/pipeline/text tests/pipeline/curves \
	  tests/pipeline/engine/test_engine.py tests/pipeline/engine/test_ranking_events.py tests/pipeline/log \
	  tests/pipeline/test_learner_files.py tests/pipeline/snapshots/test_snapshot.py tests/pipeline/snapshots/test_mutated_snapshots.py tests/pipeline/corpora/test_synthetic_newswire.py \
	  tests/pipeline/corpora/test_synthetic_classes.py tests/fuzz/test_findings.py

fuzz: $(VENV)/.dev  ## Give mutated inputs to every surface (SECONDS=60 SEED=0 TARGET=.. INPUTS=.. BOUNDS=1)
	$(if $(BOUNDS),NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds) $(BIN)/python -m tests.fuzz \
	  $(if $(INPUTS),--inputs $(INPUTS),--seconds $(or $(SECONDS),60)) --seed $(or $(SEED),0) \
	  $(TARGET:%=--target %) $(PROCESSES:%=--processes %)

soak: $(VENV)/.dev  ## Let faults happen to workers on three brokers (MINUTES=5 SEED=1 FAULTS=.. SEEDS=1 KINDS=.. RECORD=1)
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),5) --seed $(or $(SEED),1) --seeds $(or $(SEEDS),1) \
	  $(FAULTS:%=--faults %) $(KINDS:%=--kinds %) $(if $(RECORD),--record)

bounded: $(VENV)/.dev  ## Check that storage of a trimmed stream stays bounded (MINUTES=12 SEED=1 RATE=100 KEEP=snapshots,8MB)
	$(BIN)/python -m tests.bounded --minutes $(or $(MINUTES),12) --seed $(or $(SEED),1) $(RATE:%=--rate %) $(KEEP:%=--keep %)

bench: $(VENV)/.dev $(PEERS)/.peers  ## Measure speed and memory, as ratios in one run
	$(BIN)/python -m tests.bench

peers: $(VENV)/.dev $(PEERS)/.peers  ## Compare with other programs, and write the page about it (PART=files|kafka|growth)
	$(BIN)/python -m tests.bench.peers $(if $(PART),--part $(PART),$(if $(CONTINUE),,--fresh))

peers-quick: $(VENV)/.dev $(PEERS)/.peers  ## Check that no ratio to other programs fell by a third: minutes
	$(BIN)/python -m tests.bench.peers --quick

quality: $(VENV)/.dev  ## Measure rankings of held-out documents beside scikit-learn (SOURCES="NAME=SOURCE ..")
	$(BIN)/python -m tests.bench.quality $(SOURCES)

# Podman keeps the health check only in images of docker's format.
image:  ## Build the image (BUILDER=podman|docker BASE=.. IMAGE=.. KERNEL_CPU=.. SOURCE=.. IMAGE_OPTIONS=..)
	$(BUILDER) build $(if $(findstring podman,$(BUILDER)),--format docker) --file deploy/image/Containerfile \
	  --tag $(IMAGE) --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	  $(BASE:%=--build-arg BASE=%) $(KERNEL_CPU:%=--build-arg KERNEL_CPU=%) $(SOURCE:%=--build-arg SOURCE=%) \
	  $(IMAGE_OPTIONS) .

image-base:  ## Make a base image from Debian's packages, where no registry can be reached (root, debootstrap)
	deploy/image/debian_base.sh $(BUILDER)

image-test: $(VENV)/.dev  ## Run the image: replay, workers and server, any user, read-only root (RUN_OPTIONS=..)
	WIRERANK_IMAGE=$(IMAGE) WIRERANK_BUILDER=$(BUILDER) WIRERANK_RUN_OPTIONS="$(RUN_OPTIONS)" \
	  $(BIN)/pytest -n 0 tests/deploy/test_image.py

sbom: $(VENV)/.audit  ## Write what an installation contains to sbom.json (CycloneDX)
	$(PYTHON) -m venv --clear $(VENV)/sbom
	$(VENV)/sbom/bin/pip --disable-pip-version-check --quiet install --require-hashes --requirement locks/deploy.txt
	$(VENV)/sbom/bin/pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation .
	$(VENV)/sbom/bin/pip --disable-pip-version-check --quiet uninstall --yes setuptools
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file sbom.json $(VENV)/sbom/bin/python

audit: $(VENV)/.audit  ## Check locks, versions and licences of dependencies, and known vulnerabilities
	$(BIN)/python -m tests.audit

# The versions that are locked stay, unless UPGRADE=1 is given. The first lock is the widest, and
# the others take their versions from it.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
  --no-header $(if $(UPGRADE),--upgrade)
lock: $(VENV)/.audit  ## Write locks/ again: versions and hashes of all dependencies (UPGRADE=1: newer ones)
	$(COMPILE) pyproject.toml locks/build.in --extra experiments --extra page --extra object-store --extra dev --output-file locks/dev.txt
	$(COMPILE) pyproject.toml locks/build.in --extra experiments --extra page --constraint locks/dev.txt --output-file locks/experiments.txt
	$(COMPILE) locks/bench.in --constraint locks/dev.txt --output-file locks/bench.txt
	$(COMPILE) pyproject.toml locks/build.in --extra page --extra object-store --constraint locks/dev.txt --output-file locks/deploy.txt
	$(COMPILE) locks/audit.in --constraint locks/dev.txt --output-file locks/audit.txt

release-check: $(VENV)/.audit  ## Check that this commit can be released: version, changelog, wheel, tests, audit
	$(BIN)/python -m tests.release
	$(MAKE) test
	$(MAKE) audit

clean:  ## Remove what was made
	rm -rf $(VENV) $(PEERS) demo build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
