# What people and CI run. Every target works on a clean checkout.
.DEFAULT_GOAL := build
.PHONY: build demo test lint unit race fuzz bench bench-rebuild bench-rehydrate accounts reconcile-soak buckets-soak overload crowd refusals bench-gate bench-postgres bench-sales bench-strategies bench-recorders cases tools broker kafka

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

FUZZTIME ?= 5s
# With this tag the points at which a test may kill the process are built in.
TAGS := -tags crashpoints

build: ## the program, as bin/seckill
	go build -o bin/seckill .

demo: tools ## one sale with 50,000 buyers on this machine
	go run . demo $(ARGS)

tools: ## installs PostgreSQL and Redis where they are missing (Debian)
	@.ci/install

broker: tools ## fetches Apache Kafka for tests into the user's cache, once, and installs Chromium (Debian)
	@.ci/kafka
	@command -v chromium >/dev/null || .ci/install chromium

test: broker ## everything that a change must pass; ends with the tests
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory fuzz
	$(MAKE) --no-print-directory bench
	$(MAKE) --no-print-directory race
	$(MAKE) --no-print-directory unit

lint: ## form and suspicious code
	@.ci/lint

unit: broker ## all tests
	go test -count=1 -timeout 45m $(TAGS) ./...

race: broker ## the tests again with the race detector, the long ones left out
	@command -v cc >/dev/null || .ci/install gcc libc6-dev
	CGO_ENABLED=1 go test -count=1 -timeout 45m -race -short $(TAGS) ./...

kafka: broker ## what concerns Kafka alone, on a real broker and an imitated one
	CI=true go test -count=1 -timeout 45m $(TAGS) ./infra/bus ./infra/testenv ./projections ./infra/cli/e2e \
		-run 'Kafka|B37|B38|B43|B60|B81|Bus|Broker|Envelope|Partitions|Group|Member|Outsiders|PublicRelay|ViewsEndExact|StartsAgain|CannotBeRead|TheTopic|ATopic|TooLarge|Unreachable'

fuzz: ## every fuzz target for FUZZTIME
	@.ci/fuzz $(FUZZTIME)

bench: broker ## every benchmark once
	go test -count=1 -timeout 45m -run '^$$' -bench . -benchtime 1x ./...

EVENTS ?= 1000000
bench-rebuild: tools ## a rebuild against the same fold as SQL, and the processor time of an event from relay to rows
	go test -count=1 -timeout 60m -run '^$$' -bench '^Benchmark(Rebuild|RelayCPU)$$' -benchtime 1x ./projections -args -rebuild.events $(EVENTS)

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

refusals: tools ## purchases refused a second and processor time of each, beside a bare Echo handler, by wrk; accepted ones beside a refused crowd
	@command -v wrk >/dev/null || .ci/install wrk
	go test -count=1 -timeout 45m -run '^$$' -bench '^Benchmark(RefusalsBesideABareHandler|AcceptedBesideRefused)$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -refusals.for 10s -refusals.rounds 5 $(ARGS)

bench-gate: tools ## reservations and sold-out answers of the gate beside redis-benchmark on a plain script, in turns on one Redis
	@command -v redis-benchmark >/dev/null || .ci/install redis-tools
	go test -count=1 -timeout 45m -run '^$$' -bench '^BenchmarkGateBesideAPlainScript$$' -benchtime 1x -v ./infra/redisgate \
		-args -gate.purchases 500000 -gate.rounds 5 $(ARGS)

bench-strategies: tools ## the three strategies under the same load over HTTP, in turns: throughput and times of answers
	go test -count=1 -timeout 60m -run '^$$' -bench '^BenchmarkStrategies$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -strategies.buyers 20000 -strategies.rate 200 -strategies.for 10s -strategies.rounds 3 $(ARGS)

bench-sales: tools ## purchases recorded a second with 1, 1,000 and 10,000 live sales, and what looking after them takes
	go test -count=1 -timeout 120m -run '^$$' -bench '^BenchmarkLiveSales$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -sales.live 1,1000,10000 -sales.purchases 100000 -sales.rounds 3 $(ARGS)

bench-recorders: tools ## purchases recorded a second by 1, 2, 4 and 8 recorder processes out of journals that are full
	go test -count=1 -timeout 60m -run '^$$' -bench '^BenchmarkRecorders$$' -benchtime 1x -v ./infra/cli/e2e \
		-args -recorders.counts 1,2,4,8 -recorders.purchases 100000 $(ARGS)

bench-postgres: tools ## purchases of a sale with strategy postgres beside one naive UPDATE for each, in turns on one durable PostgreSQL
	go test -count=1 -timeout 45m -run '^$$' -bench '^BenchmarkDirectBesideNaive$$' -benchtime 1x -v ./commands \
		-args -direct.for 10s -direct.rounds 5 $(ARGS)

cases: broker ## the tests that carry the number of a case, such as B17
	go test -count=1 -timeout 45m $(TAGS) -v ./... | grep -E '^ *--- [A-Z]+: .*B[0-9]{2}|^(FAIL|panic)'
