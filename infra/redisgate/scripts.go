package redisgate

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
)

//go:embed scripts/common.lua
var common string

//go:embed scripts/reserve.lua
var reserveLua string

//go:embed scripts/resolve.lua
var resolveLua string

//go:embed scripts/order.lua
var orderLua string

//go:embed scripts/apply_stock.lua
var applyStockLua string

//go:embed scripts/apply_sale.lua
var applySaleLua string

//go:embed scripts/close_lane.lua
var closeLaneLua string

//go:embed scripts/open_lane.lua
var openLaneLua string

//go:embed scripts/peek.lua
var peekLua string

//go:embed scripts/inspect.lua
var inspectLua string

//go:embed scripts/records.lua
var recordsLua string

//go:embed scripts/uses.lua
var usesLua string

//go:embed scripts/stubs.lua
var stubsLua string

//go:embed scripts/open_hashes.lua
var openHashesLua string

//go:embed scripts/new_sale.lua
var newSaleLua string

//go:embed scripts/reset_stock.lua
var resetStockLua string

//go:embed scripts/open_preheated.lua
var openPreheatedLua string

//go:embed scripts/hold.lua
var holdLua string

//go:embed scripts/remove_sale.lua
var removeSaleLua string

//go:embed scripts/keep_sale.lua
var keepSaleLua string

//go:embed scripts/cut_journal.lua
var cutJournalLua string

//go:embed scripts/sold_out.lua
var soldOutLua string

//go:embed scripts/withdraw.lua
var withdrawLua string

//go:embed scripts/levels.lua
var levelsLua string

//go:embed scripts/check.lua
var checkLua string

// script is a script with the name that metrics call it by.
type script struct {
	name string
	text string
	sha  string
}

func newScript(name, text string) script {
	text = common + text
	sum := sha1.Sum([]byte(text))
	return script{name: name, text: text, sha: hex.EncodeToString(sum[:])}
}

// scripts is every script of the gate.
type scripts struct {
	reserve, soldOut, resolve, order script
	applyStock, applySale, hold      script
	closeLane, openLane, peek, check script
	stubs, openHashes                script
	newSale, reset, openPreheated    script
	records, uses, inspect           script
	removeSale, keepSale, cutJournal script
	withdraw, levels                 script
}

func newScripts() scripts {
	return scripts{
		reserve: newScript("reserve", reserveLua), soldOut: newScript("sold_out", soldOutLua), resolve: newScript("resolve", resolveLua), order: newScript("order", orderLua),
		applyStock: newScript("apply_stock", applyStockLua), applySale: newScript("apply_sale", applySaleLua), hold: newScript("hold", holdLua),
		closeLane: newScript("close_lane", closeLaneLua), openLane: newScript("open_lane", openLaneLua),
		peek: newScript("peek", peekLua), check: newScript("check", checkLua),
		stubs: newScript("stubs", stubsLua), openHashes: newScript("open_hashes", openHashesLua),
		newSale: newScript("new_sale", newSaleLua), reset: newScript("reset_stock", resetStockLua),
		openPreheated: newScript("open_preheated", openPreheatedLua),
		records:       newScript("records", recordsLua), uses: newScript("uses", usesLua), inspect: newScript("inspect", inspectLua),
		removeSale: newScript("remove_sale", removeSaleLua), cutJournal: newScript("cut_journal", cutJournalLua),
		keepSale: newScript("keep_sale", keepSaleLua), withdraw: newScript("withdraw", withdrawLua), levels: newScript("levels", levelsLua),
	}
}

// all lists every script.
func (s scripts) all() []script {
	return []script{s.reserve, s.resolve, s.order, s.applyStock, s.applySale, s.hold, s.closeLane, s.openLane,
		s.peek, s.check, s.stubs, s.openHashes, s.newSale, s.reset, s.openPreheated, s.records, s.uses, s.inspect, s.removeSale, s.keepSale, s.cutJournal, s.withdraw, s.levels, s.soldOut}
}

// ScriptNames lists the scripts by the names that OnCall reports, for metrics
// that must exist from the start.
func ScriptNames() []string {
	var names []string
	for _, s := range newScripts().all() {
		names = append(names, s.name)
	}
	return names
}
