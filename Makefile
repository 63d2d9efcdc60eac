# make run and make test set up everything that a fresh machine needs; the other targets are their parts.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
TARGET := $(or $(CARGO_TARGET_DIR),target)
HOME_DIR ?= .
PORT ?= 8002
MODELS_DIR := $(or $(MINICLAW_MODELS),$(or $(XDG_DATA_HOME),$(HOME)/.local/share)/miniclaw/models)
WEIGHTS := $(MODELS_DIR)/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf

.PHONY: help run build frontend model embedder embedder-use test test-build test-rust test-frontend test-model test-model-build bench fuzz kills cluster cluster-faults cluster-bench everyday thorough soak interop eval eval-cross processors release fmt lint openapi

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

run: build ## Build everything, get a model if none is configured, and start on http://127.0.0.1:8002
	@if $(TARGET)/release/miniclaw doctor --home $(HOME_DIR) --needs-model; then \
	  echo "No model is configured or found: building the small embedded one. A provider's key in .env gives you a better model; see README.md."; \
	  $(MAKE) --no-print-directory model || echo "The small model could not be installed (see above); starting without it."; fi
	@python3 scripts/get-model.py --model e5 --once --yes --dir "$(MODELS_DIR)" || echo "The embedding model could not be downloaded (see above): search uses words only."
	@echo "Open http://127.0.0.1:$(PORT)"
	@exec $(TARGET)/release/miniclaw serve --home $(HOME_DIR) --port $(PORT)

build: frontend ## Build the web UI and the server
	cargo build --release --locked --bin miniclaw

frontend: frontend/dist/index.html ## Build the web UI

frontend/node_modules/.installed: frontend/package-lock.json
	cd frontend && npm ci --no-audit --no-fund
	@touch $@

frontend/dist/index.html: frontend/node_modules/.installed $(shell find frontend/src frontend/public frontend/scripts frontend/index.html frontend/vite.config.ts -type f 2>/dev/null)
	cd frontend && npm run build

model: ## Build the embedded model's server and get its weights (1.1 GB)
	@scripts/install-tools.sh model
	sh crates/llm/cargo.sh build --release --locked -p miniclaw-llm
	@python3 scripts/get-model.py --yes --dir "$(MODELS_DIR)"

embedder: ## Get the weights of the embedding model multilingual-e5-small, for search by meaning (91 MB)
	@python3 scripts/get-model.py --model e5 --yes --dir "$(MODELS_DIR)"

embedder-use: ## Get the weights of a smaller embedding model that finds less, Universal Sentence Encoder (32 MB; selected in config.yml)
	@python3 scripts/get-model.py --model use --yes --dir "$(MODELS_DIR)"

# The compiler leaves a core idle at times, which the tests without a browser use. The server's tests leave one idle, too, so the
# embedded model is compiled meanwhile.
test: ## Install what the tests need and run all of them
	@$(MAKE) --no-print-directory --output-sync=target -j2 test-frontend test-build
	@scripts/install-tools.sh model
	@$(MAKE) --no-print-directory -j2 test-rust test-model-build
	@$(MAKE) --no-print-directory test-model

fmt: ## Format all code
	cargo fmt --all
	cd frontend && npm run format

lint: frontend/node_modules/.installed ## Check format and lints
	cargo fmt --all --check
	cargo clippy --locked --all-targets -- -D warnings
	cd frontend && npm run lint && npm run typecheck

openapi: ## Write the OpenAPI description and the UI's types generated from it
	cargo run --locked --quiet --bin miniclaw -- openapi > frontend/openapi.json
	cd frontend && npm run gen:api

test-frontend: frontend/dist/index.html ## Tests of the web UI without a browser
	cd frontend && npm run lint && npm run typecheck && npm test

test-build: frontend/dist/index.html
	cargo test --locked --no-run

# The browser tests drive the binary that cargo test built for its own. The other tests wait for a third of their time, so there
# are three of them for two cores.
test-rust: frontend/dist/index.html ## Tests of the server, and of the web UI in a real browser
	@$(MAKE) --no-print-directory embedder
	@$(MAKE) --no-print-directory embedder-use
	@scripts/install-tools.sh browser
	@scripts/install-tools.sh disk
	@scripts/install-tools.sh sandbox
	@scripts/install-tools.sh postgres
	cargo fmt --all --check
	python3 scripts/test_get_model.py
	TOOLS="$(abspath $(TARGET))/tools/postgres" python3 scripts/test_get_postgres.py
	python3 scripts/test_release.py Packed
	MINICLAW_POSTGRES_BIN="$(abspath $(TARGET))/tools/postgres/bin" RUST_TEST_THREADS="$$(( ($$(nproc) * 3 + 1) / 2 ))" cargo test --locked
	MINICLAW_MODELS="$(MODELS_DIR)" cargo test --locked --test use_multilingual --test e5_small --test embedder
	cd frontend && MINICLAW_BIN="$(abspath $(TARGET))/debug/miniclaw" npm run e2e
	cd frontend && MINICLAW_BIN="$(abspath $(TARGET))/debug/miniclaw" npm run budgets

test-model-build: LOG = $(TARGET)/test-model-build.log
test-model-build:
	@mkdir -p $(TARGET)
	@for step in build "test --no-run"; do \
	  nice -n 19 sh crates/llm/cargo.sh $$step --release --locked -p miniclaw-llm >$(LOG) 2>&1 || { cat $(LOG); exit 1; }; done

test-model: model ## Tests of the embedded model, with the real weights
	sh crates/llm/cargo.sh test --release --locked -p miniclaw-llm
	MINICLAW_TEST_MODEL="$(WEIGHTS)" sh crates/llm/cargo.sh test --release --locked -p miniclaw-llm --test model
	MINICLAW_TEST_MODEL="$(WEIGHTS)" MINICLAW_TEST_LLM="$(abspath $(TARGET))/release/miniclaw-llm" \
	  cargo test --locked --test embedded_model -- --nocapture

# The programs are installed into a folder of their own, in environments that do not disturb each other.
INTEROP := $(abspath $(TARGET))/interop
PROTOCOL_TESTS := $(addprefix tests/interop/,test_mcp.py test_mcp_server.py test_mcp_client_conformance.py test_mcp_server_conformance.py test_acp.py test_acpx.py test_websocket.py test_metrics.py test_haproxy.py test_coding_agents.py)

interop: export MINICLAW_BIN = $(abspath $(TARGET))/debug/miniclaw
interop: export MCP_PROBE = $(abspath $(TARGET))/debug/examples/mcp_probe
interop: export INTEROP_NODE_MODULES = $(INTEROP)/node/node_modules
interop: export INTEROP_AIDER = $(INTEROP)/aider/bin/aider
interop: export INTEROP_SERVERS = $(INTEROP)/servers
interop: export INTEROP_OLDER_SERVERS = $(INTEROP)/older-servers
interop: export PYTHONDONTWRITEBYTECODE = 1
interop: frontend/dist/index.html ## Try the server with programs of others: the SDKs of Anthropic and OpenAI, llm, aider, Codex, opencode, Continue, Claude Code, the gateway LiteLLM, MCP servers, a WebSocket client, HAProxy, the parser of OpenMetrics, clients of MCP and ACP, and the conformance tests of MCP
	@scripts/install-tools.sh cluster
	cargo build --locked --bin miniclaw --example mcp_probe
	for name in clients aider protocols servers older-servers; do \
	  python3 -m venv "$(INTEROP)/$$name"; \
	  "$(INTEROP)/$$name/bin/pip" install --quiet --disable-pip-version-check -r "tests/interop/requirements-$$name.txt"; done
	mkdir -p "$(INTEROP)/node" && cp tests/interop/package.json "$(INTEROP)/node/"
	npm install --prefix "$(INTEROP)/node" --no-audit --no-fund --silent
	"$(INTEROP)/clients/bin/python" -m pytest -q -p no:cacheprovider tests/interop $(PROTOCOL_TESTS:%=--ignore=%)
	"$(INTEROP)/protocols/bin/python" -m pytest -q -p no:cacheprovider $(PROTOCOL_TESTS)

# Not linked as `make build` does, so that it also runs with a glibc from before 2022; the crate is compiled once more.
release: frontend embedder ## Pack the program for other machines, in target/dist, and try it in an empty root
	@scripts/install-tools.sh sandbox
	MINICLAW_OLD_GLIBC=1 cargo build --release --locked --bin miniclaw
	python3 scripts/release.py --binary $(TARGET)/release/miniclaw --models "$(MODELS_DIR)" --dist $(TARGET)/dist
	DIST="$(abspath $(TARGET))/dist" python3 scripts/test_release.py

eval: build ## Measure retrieval on the data sets of an evaluation kit: make eval KIT=DIR
	@test -n "$(KIT)" || { echo "Set KIT to the folder of the kit: make eval KIT=DIR"; exit 2; }
	$(TARGET)/release/miniclaw eval --kit "$(KIT)" --runs "$(TARGET)/eval-runs"

eval-cross: build ## Measure retrieval on questions asked in another language than the notes
	rm -rf "$(TARGET)/eval-cross" && cp -r eval/cross-language "$(TARGET)/eval-cross"
	$(TARGET)/release/miniclaw eval --home "$(TARGET)/eval-cross"

# QEMU emulates the instructions of Haswell (AVX2, no AVX-512), of Nehalem (neither), and of aarch64.
ON := CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER
ARM := aarch64-unknown-linux-gnu
ON_ARM := CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU
COMPARED := MINICLAW_MODELS="$(MODELS_DIR)" cargo test --locked --test processors
SHOWN := -- --nocapture

processors: frontend/dist/index.html embedder embedder-use ## Compare what searches find on this processor and on emulated ones
	@scripts/install-tools.sh processors
	$(COMPARED) $(SHOWN)
	$(ON)="qemu-x86_64-static -cpu Haswell" $(COMPARED) $(SHOWN)
	$(ON)="qemu-x86_64-static -cpu Nehalem" $(COMPARED) $(SHOWN)
	$(ON_ARM)_LINKER=aarch64-linux-gnu-gcc $(ON_ARM)_RUNNER="qemu-aarch64-static -L /usr/aarch64-linux-gnu" \
	  $(COMPARED) --target $(ARM) $(SHOWN)

# Measures a copy, because building the driver overwrites the binary with one that has tokio's test features.
bench: build ## Run the benchmarks and write docs/benchmarks.md
	@scripts/install-tools.sh browser
	cp $(TARGET)/release/miniclaw $(TARGET)/miniclaw-measured
	MINICLAW_BIN="$(abspath $(TARGET))/miniclaw-measured" cargo bench --locked --bench driver -- --write

# The fuzz build has overflow checks; the release build does not.
FUZZ_BUILD := cargo test --release --locked --config 'profile.release.package.miniclaw.overflow-checks=true' \
  --config 'profile.release.package.miniclaw-embed.overflow-checks=true' --lib --test it --no-run --message-format=json
FUZZ_SECONDS ?= 900

fuzz: frontend/dist/index.html ## Run every property with as many cases as fit into FUZZ_SECONDS (900) and print their number
	@programs="$$($(FUZZ_BUILD) | python3 -c 'import json, sys; found = [json.loads(line) for line in sys.stdin]; print(*[m["executable"] for m in found if m.get("executable") and m["profile"]["test"]])')" && \
	  python3 scripts/fuzz.py --seconds $(FUZZ_SECONDS) $$programs
	cd frontend && FUZZ_CASES=$(or $(FUZZ_CASES),1000000) npx --no-install vitest run test/unit/citation-any.test.ts

KILLS ?= 200

kills: frontend/dist/index.html ## Kill the server KILLS (200) times at work, while it waits for an answer, while it applies what a command changed, while that command runs, and while people register, upload and change projects, and check what is left
	MINICLAW_KILLS=$(KILLS) cargo test --locked --test it -- --nocapture kill_loses_nothing_acknowledged kill_while_asking_loses_no_answer \
	  kill_while_changes_are_applied_is_completed_and_undone kill_while_a_command_runs_leaves_all_or_nothing \
	  killed_registration_leaves_a_whole_account_or_none killed_commit_leaves_a_whole_project_or_the_upload \
	  killed_changes_of_projects_are_whole killed_adoption_and_release_are_completed \
	  killed_promotion_into_a_linked_folder_is_completed

cluster: build ## Run three servers on one PostgreSQL, behind HAProxy, on http://localhost:8080 until Ctrl-C; for trying it
	@scripts/install-tools.sh cluster
	@python3 scripts/cluster.py --binary "$(TARGET)/release/miniclaw" --postgres "$(TARGET)/tools/postgres/bin"

cluster-faults: frontend/dist/index.html ## Kill, freeze and cut off the servers of a cluster, KILLS (200) and CUTS (500) times and for MINUTES (10), and check what is left
	@scripts/install-tools.sh cluster
	MINICLAW_POSTGRES_BIN="$(abspath $(TARGET))/tools/postgres/bin" MINICLAW_KILLS=$(KILLS) MINICLAW_CUTS=$(or $(CUTS),500) \
	MINICLAW_MINUTES=$(MINUTES) MINICLAW_HOMES=$(or $(HOMES),100) \
	  cargo test --locked --test it -- --nocapture cluster_

cluster-bench: build ## Measure homes in PostgreSQL and several servers on them, and print the figures
	@scripts/install-tools.sh postgres
	cp $(TARGET)/release/miniclaw $(TARGET)/miniclaw-measured
	MINICLAW_POSTGRES_BIN="$(abspath $(TARGET))/tools/postgres/bin" MINICLAW_BIN="$(abspath $(TARGET))/miniclaw-measured" \
	  cargo bench --locked --bench driver -- --only cluster

everyday: frontend/dist/index.html ## Do fifty-one everyday works, count the questions that a person is asked, and take each work back
	MINICLAW_EVERYDAY=1 cargo test --locked --test it -- --nocapture everyday

thorough: frontend/dist/index.html model ## Try every case of the tests that usually try a sample: cut journals, failing file operations, hostile repositories, fifty people, questions to the embedded model, and all browser tests in all looks
	MINICLAW_THOROUGH=1 cargo test --locked --test it -- --nocapture facts_before_a_cut_are_kept flipped_bit_costs_only_later_facts \
	  each_operation_fails_once hostile_repository many_people_at_once_see_nothing_of_each_other
	@scripts/install-tools.sh browser
	MINICLAW_THOROUGH=1 MINICLAW_TEST_MODEL="$(WEIGHTS)" sh crates/llm/cargo.sh test --release --locked -p miniclaw-llm --test model router
	cd frontend && MINICLAW_THOROUGH=1 MINICLAW_BIN="$(abspath $(TARGET))/debug/miniclaw" npm run e2e

MINUTES ?= 10

soak: build ## Run 50 agents with 1,000 open streams for MINUTES (10); print memory, lost events and /health latency
	cp $(TARGET)/release/miniclaw $(TARGET)/miniclaw-measured
	MINICLAW_BIN="$(abspath $(TARGET))/miniclaw-measured" cargo bench --locked --bench driver -- --only soak --minutes $(MINUTES)
