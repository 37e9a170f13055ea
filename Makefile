# What people and CI run. Every target works on a clean checkout.
.DEFAULT_GOAL := build
.PHONY: build demo test deployment lint unit race fuzz bench bench-once performance profiles soak bench-rebuild bench-trace bench-rehydrate accounts reconcile-soak buckets-soak overload crowd simulate refusals rehearse bench-unit bench-gate bench-postgres bench-sales bench-strategies bench-recorders bench-console screenshots chaos cases attack properties mutants tools broker kafka

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

FUZZTIME ?= 2s
# With this tag the points at which a test may kill the process are built in.
TAGS := -tags crashpoints

build: ## the program, as bin/seckill
	go build -o bin/seckill .

demo: tools ## one sale with 50,000 buyers on this machine
	go run . demo $(ARGS)

tools: ## installs PostgreSQL and Redis where they are missing (Debian)
	@.ci/install

broker: tools ## fetches Apache Kafka for tests into the user's cache, once, and installs what else they need: Chromium, Node.js, shells, groff, spin (Debian)
	@.ci/kafka
	@command -v chromium >/dev/null || .ci/install chromium
	@{ command -v node && command -v npm; } >/dev/null || .ci/install nodejs npm
	@{ command -v zsh && command -v fish && command -v groff; } >/dev/null || .ci/install zsh fish groff-base
	@{ command -v spin && command -v cc; } >/dev/null || .ci/install spin gcc libc6-dev

test: broker ## everything that a change must pass; ends with the tests
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory deployment
	$(MAKE) --no-print-directory fuzz
	$(MAKE) --no-print-directory bench-once
	$(MAKE) --no-print-directory race
	$(MAKE) --no-print-directory unit

lint: ## form and suspicious code
	@.ci/lint

deployment: ## compose.yaml, image, manifests, unit and workflows: a module of its own, deploy/check
	@command -v systemd-analyze >/dev/null || .ci/install systemd
	go -C deploy/check vet ./...
	go -C deploy/check test -count=1 -timeout 20m ./...

unit: broker ## all tests
	go test -count=1 -timeout 45m $(TAGS) ./...

race: broker ## the tests again with the race detector, the long ones left out
	@command -v cc >/dev/null || .ci/install gcc libc6-dev
	CGO_ENABLED=1 go test -count=1 -timeout 45m -race -short $(TAGS) ./...

kafka: broker ## what concerns Kafka alone, on a real broker and an imitated one
	CI=true go test -count=1 -timeout 45m $(TAGS) ./infra/bus ./infra/testenv ./projections ./infra/cli/e2e \
		-run 'Kafka|B37|B38|B43|B60|B81|Bus|Broker|Envelope|Partitions|Group|Member|Outsiders|PublicRelay|ViewsEndExact|StartsAgain|CannotBeRead|TheTopic|ATopic|TooLarge|Unreachable'

fuzz: tools ## every fuzz target for FUZZTIME; ONLY=Token for those whose names say so; KEEP=6 keeps so many inputs of each that reached something new
	@.ci/fuzz $(FUZZTIME) '$(ONLY)' '$(KEEP)'

bench: tools ## every figure of docs/performance.md beside its yardstick, 40 minutes on a machine that does nothing else; SHORT=1: a few minutes, says nothing; ARGS="-only refusals,gate"
	@command -v wrk >/dev/null || .ci/install wrk
	@command -v redis-benchmark >/dev/null || .ci/install redis-tools
	go run ./infra/figures/gather $(if $(SHORT),-short) $(ARGS)

performance: ## docs/performance.md anew out of docs/performance.json
	go run ./infra/figures/gather -render

profiles: tools ## processor time, allocations and waiting of each stage of a purchase, as text in docs/performance, and each step in docs/performance.md
	@command -v wrk >/dev/null || .ci/install wrk
	go run ./infra/figures/gather -profiles $(if $(SHORT),-short) $(ARGS)

soak: tools ## two hours of mixed load with restarts (ARGS="-soak.for 8h -soak.file samples.tsv"): memory, goroutines, files, connections, keys and tables must stay flat
	go test -count=1 -timeout 0 ./infra/cli/e2e -run '^TestHoursOfMixedLoadLeaveEverythingFlat$$' -v -args $(or $(ARGS),-soak.for 2h)

bench-once: broker ## every benchmark once, small: that it runs
	@{ command -v wrk && command -v redis-benchmark; } >/dev/null || .ci/install wrk redis-tools
	go test -count=1 -timeout 45m -run '^$$' -bench . -benchtime 1x ./...

EVENTS ?= 1000000
bench-rebuild: tools ## a rebuild against the same fold as SQL, and the processor time of an event from relay to rows
	go test -count=1 -timeout 60m -run '^$$' -bench '^Benchmark(Rebuild|RelayCPU)$$' -benchtime 1x ./projections -args -rebuild.events $(EVENTS)

TRACED ?= 10000000
bench-trace: tools ## from an order, a trace id or a buyer to the whole story, in a log of ten million events (TRACED)
	go test -count=1 -timeout 120m -run '^$$' -bench '^BenchmarkTrace$$' -benchtime 5x ./infra/cli/e2e -args -trace.events $(TRACED)
	go test -count=1 -run '^$$' -bench '^Benchmark(Receipt|RefusedDocument)$$' ./domain ./api

PURCHASES ?= 100000
accounts: tools ## purchases, cancels, payments and expiries at random while processes are killed and Redis falls back; the books must balance
	go test -count=1 -timeout 120m $(TAGS) -v ./infra/cli/e2e -run '^TestAccountsBalanceWhateverDies$$' -accounts.purchases $(PURCHASES) $(ARGS)

ORDERS ?= 100000,300000,1000000
bench-rehydrate: tools ## the gate of a large sale built again from its log, on an emptied Redis
	go test -count=1 -timeout 60m -run '^$$' -bench '^BenchmarkRehydrate$$' -benchtime 1x ./infra/cli/e2e -args -rehydrate.orders $(ORDERS)

RUNS ?= 1000
reconcile-soak: tools ## RUNS reconciliations while everything happens to a sale at full rate: none may find anything
	go test -count=1 -timeout 180m ./infra/cli/e2e -run '^TestReconciliationUnderFullLoadFindsNothing$$' -v \
		-args -reconcile.runs $(RUNS) -reconcile.stock 5000

.PHONY: model
model: ## the protocol between gate and log as a formal model, also within the larger bounds; ONLY="LANES=2 MOVES=1" one model with these bounds
	@{ command -v spin && command -v cc; } >/dev/null || .ci/install spin gcc libc6-dev
	CI=true go test -count=1 -timeout 600m ./docs/model -v -model.large -model.defines "$(ONLY)"

.PHONY: linearizability
linearizability: tools ## histories over HTTP under faults, checked with porcupine; ARGS="-histories.runs 200 -histories.seed S" for how many rounds and which
	go test -count=1 -timeout 600m ./infra/cli/linearizability -v -histories.runs 50 $(ARGS)

buckets-soak: RUNS = 100
buckets-soak: STOCK = 10000
buckets-soak: tools ## RUNS sales of STOCK units in 16 buckets to the buyers of two, processes killed: exactly STOCK are sold
	go test -count=1 -timeout 600m ./infra/cli/e2e -run '^TestEveryUnitOfManyBucketsIsSoldAlthoughProcessesAreKilled$$' -v \
		-args -buckets.runs $(RUNS) -buckets.stock $(STOCK) -buckets.of 16

overload: tools ## ten times what a node takes, for 30 s: refused in time, bounded memory, well within 2 s; wants a machine that does nothing else
	go test -count=1 -timeout 45m ./infra/cli/e2e -run '^TestANodeThatIsOfferedTenTimes' -v -args -overload.for 30s -overload.strict $(ARGS)

BUYERS ?= 1000000
crowd: tools ## BUYERS distinct buyers who come too late and as many ids of no sale: memory of node and Redis, lines of log
	go test -count=1 -timeout 180m ./infra/cli/e2e -run '^TestMemoryDoesNotDependOn' -v -args -crowd.buyers $(BUYERS) -crowd.junk $(BUYERS) $(ARGS)

simulate: ## the whole of it in virtual time, by seeds: ARGS="-sim.seeds N -sim.seed S"; with one seed its trace is printed (docs/simulation.md)
	go test -count=1 -timeout 600m ./infra/simulation -run '^TestEverySeedKeepsEveryPromise$$' -v -args -sim.seeds 3000 $(ARGS)

refusals: tools ## purchases refused a second and processor time of each, beside a bare Echo handler, by wrk; accepted ones beside a refused crowd
	@command -v wrk >/dev/null || .ci/install wrk
	go test -count=1 -timeout 45m -run '^$$' -bench '^Benchmark(RefusalsBesideABareHandler|AcceptedBesideRefused)$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -refusals.for 10s -refusals.rounds 5 $(ARGS)

rehearse: tools ## a spike of a sale over HTTP, on an installation of its own unless ARGS name one; see docs/bench.md
	go run . bench spike $(ARGS)

bench-unit: tools ## what single things cost on this machine, for `seckill plan`
	go run . bench unit $(ARGS)

bench-gate: tools ## reservations and sold-out answers of the gate beside redis-benchmark on a plain script, in turns on one Redis
	@command -v redis-benchmark >/dev/null || .ci/install redis-tools
	go test -count=1 -timeout 45m -run '^$$' -bench '^BenchmarkGateBesideAPlainScript$$' -benchtime 1x -v ./infra/redisgate \
		-args -gate.purchases 100000 -gate.rounds 9 $(ARGS)

bench-strategies: tools ## the three strategies under the same load over HTTP, in turns: throughput and times of answers
	go test -count=1 -timeout 60m -run '^$$' -bench '^BenchmarkStrategies$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -strategies.buyers 20000 -strategies.rate 200 -strategies.for 10s -strategies.rounds 3 $(ARGS)

bench-sales: tools ## purchases recorded a second with 1, 1,000, 10,000 and again 1 live sales, and what looking after them takes; sales made a second over HTTP
	go test -count=1 -timeout 120m -run '^$$' -bench '^Benchmark(CreatingSales|LiveSales)$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -sales.live 1,1000,10000,1 -sales.purchases 100000 -sales.rounds 3 -creating.sales 500 $(ARGS)

bench-recorders: tools ## purchases recorded a second by 1, 2, 4 and 8 recorder processes out of journals that are full
	go test -count=1 -timeout 60m -run '^$$' -bench '^BenchmarkRecorders$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -recorders.counts 1,2,4,8 -recorders.purchases 100000 $(ARGS)

bench-postgres: tools ## purchases of a sale with strategy postgres beside one naive UPDATE for each, in turns on one durable PostgreSQL
	go test -count=1 -timeout 45m -run '^$$' -bench '^BenchmarkDirectBesideNaive$$' -benchtime 1x -v ./commands \
		-args -direct.for 10s -direct.rounds 5 $(ARGS)

PAIRS ?= 9
bench-console: tools ## what open consoles cost a sale at full rate: pairs of runs with and without them
	go test -count=1 -timeout 60m -run '^$$' -bench '^BenchmarkConsole$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -console.buyers 20000 -console.watchers 3 -console.idle 30s -console.pairs $(PAIRS) $(ARGS)

screenshots: tools ## docs/img anew, by the browser test
	go test -count=1 -timeout 10m -run '^TestTheDocumentsShowThePagesAsTheyAre$$' ./infra/cli/browser -args -update-screenshots

chaos: broker ## every role and store broken in every way under load (ARGS="-chaos.only redis/*" for a row, "-chaos.update" writes docs/reliability.md); half an hour, as root, else disks and networks are left out
	@command -v ip >/dev/null || .ci/install iproute2
	CI=true go test -count=1 -timeout 240m $(TAGS) ./infra/cli/chaos -run '^TestFaultMatrix$$' -v -args -chaos.only all $(ARGS)

cases: broker ## the tests of the faults that docs/cases.md lists, case by case; ONLY=B16 for one of them
	CI=true go run ./infra/testenv/suite $(TAGS) -only '$(ONLY)' docs/cases.md

attack: broker ## the tests of the threats that docs/threats.md lists, threat by threat; ONLY=ticket for those that say so
	CI=true go run ./infra/testenv/suite $(TAGS) -only '$(ONLY)' docs/threats.md

properties: tools ## random programs over a whole installation; ARGS="-rapid.checks 1000 -rapid.seed 7", see docs/properties.md
	go test -count=1 -timeout 600m -v ./infra/cli/properties -run '^TestRandomProgramsDoWhatTheContractSays$$' -args -rapid.checks 300 -properties.steps 60 $(ARGS)

mutants: tools ## builds that are broken on purpose, one line each: every one must be caught; ARGS="-mutants.named NAME" for some
	go test -count=1 -timeout 60m -v ./infra/mutants -run '^TestBrokenBuildsAreCaught$$' -args -mutants.all $(ARGS)
