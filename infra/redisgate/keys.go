package redisgate

import (
	"strconv"
	"strings"

	"seckill/domain"
)

// Layout of the keys. All keys of a lane share the hash tag {s<store>l<lane>}:
//
//	<ns>:{…}:lane                          hash: layout, epoch, n, digest, open, run_id, replid, opened_at (µs);
//	                                       cut, cut_digest once the journal was cut: the last entry that went
//	<ns>:{…}:journal                       stream: ids epoch-n, fields b (body) and d (digest after it)
//	<ns>:{…}:sale:<sale>:<bucket>          hash: state, applied, terms, opens, closes (µs), limit, orders_per_buyer,
//	                                       rebuy, paused, closed, waits (for a confirmation; absent: it does not),
//	                                       hold, token; and
//	                                       o:<order> = letter|entry|items|buyer (A accepted, E ended, T tombstone, R refused),
//	                                       b:<buyer> = order ids in the order of their entries,
//	                                       k:<key>   = order|body hash,
//	                                       t:<ticket> = the order that used it up
//	<ns>:{…}:stock:<sale>:<sku>:<bucket>   hash: state, applied, available, token; and
//	                                       h:<order, withdrawal or move> = letter|quantity|buyer (T taken, R returned, X refused)
//
// A buyer's net units are summed over the holds of the live orders in b:<buyer>;
// no counter of them exists that could go wrong.
//
// scripts/common.lua carries the layout's version.
type keys struct {
	namespace string
	store     uint8
}

func (k keys) tag(lane int) string {
	return k.namespace + ":{s" + strconv.Itoa(int(k.store)) + "l" + strconv.Itoa(lane) + "}:"
}

// laneOf gives the lane of a key that keys has made.
func laneOf(key string) int {
	_, tag, _ := strings.Cut(key, ":{s")
	_, tag, _ = strings.Cut(tag, "l")
	digits, _, _ := strings.Cut(tag, "}")
	lane, err := strconv.Atoi(digits)
	if err != nil || lane < 0 || lane >= domain.Lanes {
		panic("a key without a lane: " + key)
	}
	return lane
}

func (k keys) lane(lane int) string { return k.tag(lane) + "lane" }

func (k keys) journal(lane int) string { return k.tag(lane) + "journal" }

func (k keys) check(lane int) string { return k.tag(lane) + "check" }

func (k keys) sale(p domain.Place) string {
	return k.tag(p.Lane()) + "sale:" + p.Sale + ":" + strconv.Itoa(p.Bucket)
}

func (k keys) stock(p domain.Place, sku string) string {
	return k.tag(p.Lane()) + "stock:" + p.Sale + ":" + sku + ":" + strconv.Itoa(p.Bucket)
}

func (k keys) stocks(p domain.Place, skus []string) []string {
	all := make([]string, len(skus))
	for i, sku := range skus {
		all[i] = k.stock(p, sku)
	}
	return all
}
