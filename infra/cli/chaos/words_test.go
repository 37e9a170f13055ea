package chaos

// pageHead begins the page; it wants the command, the machine, versions and loads.
const pageHead = `# What breaks, what it does, and how long

<!-- Written by make chaos ARGS=-chaos.update, from reliability.json. Do not edit. -->

Every role and every store of an installation was broken in every way below, each in the middle of three sales
under a steady load over HTTP. **Nothing that was acknowledged was lost, and no unit was sold twice, in any cell that
shows a time.** Orders that ended rejected after a 202 ` + "`queued`" + ` whose outcome nobody could see at the time have a column of their own,
` + "`refused later`" + `. ` + "`✗`" + ` is a cell in which something was found.

` + "```sh" + `
make chaos                                                   # the whole matrix; about half an hour alone on two cores
make chaos ARGS="-chaos.only redis/sigstop"                  # one cell; redis/*,api/sigkill and the like too
make chaos ARGS="-chaos.only kafka/* -chaos.update"          # and write their results into this page
make chaos ARGS="-chaos.hold 20s -chaos.stop 60s -chaos.rate 100"
` + "```" + `

| | |
|---|---|
| last run | ` + "`%s`" + ` |
| machine | %s |
| versions | %s |
| load average when the cells began | %s |

The machine did other work at the same time where the load average says so: times are upper bounds then, and the
answers are those of a busy machine. What is lost does not depend on it.

## At one look

How long after the end of the fault all was as before: buyers served, and what they bought recorded, published and in
the views within the usual time.

`

// pageCuts comes before the table of partitions.
const pageCuts = `
Partitions: one process of a role lives in a network namespace of its own, and packets between it and a store vanish
without a word in either direction (` + "`one_way`" + `: what it sends vanishes, what stores send arrives).

`

// pageReading says how to read the tables.
const pageReading = `
## How to read it

**The installation.** Two API processes, two recorders, one relay, one projector, one scheduler: a fault of a role is a
fault of one process, and of relay, projector and scheduler there is no other that could take over. PostgreSQL (fsync
off, since only processes die here), Redis (append-only file, fsync every second, noeviction) and Kafka, one of each.

**The load.** An open loop: buyers come at a fixed rate whether or not others are served, each asks for one unit under an
idempotency key and waits three seconds at most. Who gets no answer asks the other API process at once with the same
key. Three sales at once: by ` + "`redis-async`" + ` in four buckets with plenty, by ` + "`redis-sync`" + ` in two and by
` + "`postgres`" + `, both of which sell out soon after the fault, so that a unit too many or too few shows.

**A cell.** The load runs until everybody is served; the fault begins; after the time in the second column it ends; when all
is as before the load ends. Then everybody who was told to come again, or nothing, comes again with the same key, the
scarce sales are sold out, and everything is checked.

| column | says |
|---|---|
| ` + "`redis-async` · `redis-sync` · `postgres`" + ` | what buyers were told, by strategy of the sale, from the beginning of the fault until all was as before. ` + "`no answer`" + `: a connection that was refused, broke, or was silent for three seconds |
| slowest answer | the class of the longest wait for one; above 2 s is what was given up after three |
| acknowledged | orders that a buyer was told of (202, 201, 200) in the whole cell |
| lost | of these, orders that are nowhere. None: that is what the page is for |
| refused later | of these, orders that ended rejected with a reason: the answer was 202 ` + "`queued`" + ` because nobody could say what became of it, and then it became nothing ([acknowledgement.md](acknowledgement.md)). On a machine that is busy many times over Redis answers too late now and then without any fault (150 ms, ` + "`SECKILL_REDIS_TIMEOUT`" + `); an idle one is expected to show few |
| as before | time from the end of the fault until, in this order: each sale gives good answers within a second, several in a row; no acknowledged order older than two seconds waits for its record; the relay has published all that is older; the views show all that is older |

The time that a killed store takes to start is in it; the first to notice that one is back looks every 100 ms.

**Found would be**, and the cell ` + "`✗`" + `: an acknowledged order that is not decided exactly once; one that is rejected
although an answer said that it only waits for its record, or has it; a live order that nobody was told of, after all have
come again; two orders of one buyer; a scarce sale of which not exactly all units are sold; an answer other than an order,
` + "`sold_out`, 503 or 429" + `; stock rule, limits, gate, views, positions, versions or hash chain that disagree (the standing
checks C1 to C6 with a reconciliation and an audit); not as before within a minute and a half; a fault that did not happen (nothing was lost, cut
or full, or nobody saw the clock move; that of Kafka, which tells its time to nobody, is taken on trust).

**Not here**: whole machines that die, power cuts (a killed process leaves its file as it was written), failovers of a Redis
Cluster, of Sentinel or of a PostgreSQL standby; those have tests of their own in ` + "`infra/cli/e2e`" + `.

## Row by row
`

// pageFoot ends the page.
const pageFoot = `
Rehearsing a few of these at your own stores: [drill.md](drill.md). What operators do when one happens:
[runbook.md](runbook.md).
`
