# The two commands of the README are `make run` and `make test`; `make` alone lists them all.
# Python and make are all that must be there: each target installs what it needs, once.

PYTHON ?= python3
WORKERS ?= 2
SPREAD := -n $(WORKERS) --dist worksteal
PY := .venv/bin/python
MATRIX := .venv-matrix/bin/python
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run test test-matrix check format bench screenshots trials clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 14

run: .venv/installed ## drain the plan that ships with the repository and go on serving; ONCE=1 stops then, PORT=
	$(PY) manage.py demo $(if $(ONCE),--once) $(if $(PORT),--port $(PORT))

test: check ## lint, types, migrations, and the whole suite on SQLite and on PostgreSQL
	TEST_DATABASE=sqlite $(PY) -m pytest $(SPREAD)
	TEST_DATABASE=postgresql $(PY) -m pytest $(SPREAD)

test-matrix: .venv-matrix/installed ## the suite on Python 3.13 and Django 6, both databases
	$(MATRIX) -c 'import sys, django; print("Python", sys.version.split()[0], "with Django", django.__version__)'
	DJANGO_SETTINGS_MODULE=tests.settings $(MATRIX) manage.py makemigrations --check --dry-run
	TEST_DATABASE=sqlite $(MATRIX) -m pytest $(SPREAD)
	TEST_DATABASE=postgresql $(MATRIX) -m pytest $(SPREAD)

check: .venv/installed ## format, lint, types, migrations, system checks
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	DJANGO_SETTINGS_MODULE=tests.settings $(PY) manage.py makemigrations --check --dry-run
	DJANGO_SETTINGS_MODULE=tests.settings $(PY) manage.py check --fail-level WARNING

format: .venv/installed ## put the code into its shape
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

bench: .venv/installed ## how fast it is, beside raw SQL that writes the same rows
	$(PY) -m benchmarks

screenshots: .venv/installed ## take the pictures of the pages anew; chromium must be on the path
	$(PY) -m docs.screenshots

trials: .venv/installed ## the long runs of the randomised tests, both databases
	TRIALS=long TEST_DATABASE=sqlite $(PY) -m pytest $(SPREAD)
	TRIALS=long TEST_DATABASE=postgresql $(PY) -m pytest $(SPREAD)

clean: ## take away what was installed and cached; var/ with its database stays
	rm -rf .venv .venv-matrix .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: installed again only when what is to be installed has changed.

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tasksite needs Python 3.11 or newer; give one with PYTHON=…")'
	$(PYTHON) -m venv --clear .venv
	$(PY) $(PIP_INSTALL) --constraint constraints.txt --editable '.[dev]'
	touch $@

.venv-matrix/installed: pyproject.toml constraints-matrix.txt
	@python=$$(sh .ci/find-python 3.13) && set -x && "$$python" -m venv --clear .venv-matrix
	$(MATRIX) $(PIP_INSTALL) --constraint constraints-matrix.txt --editable '.[dev]'
	touch $@
