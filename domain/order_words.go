package domain

// Waiting is what an order that is accepted and not decided waits for.
type Waiting string

// What a queued order waits for.
const (
	// WaitingForRecorder: the gate holds it, the log has not recorded it yet.
	WaitingForRecorder Waiting = "recorder"
	// WaitingForGate: the gate is away, or is being built again from the log.
	WaitingForGate Waiting = "gate"
	// WaitingForLog: the log is away.
	WaitingForLog Waiting = "log"
	// WaitingForSale: the gate forgot it, and its sale is paused, or was a moment ago.
	WaitingForSale Waiting = "sale"
)

// words are one sentence in English and in Chinese.
type words struct{ en, zh string }

func (w words) in(language string) string {
	if language == "zh" {
		return w.zh
	}
	return w.en
}

// waitingWords is the one table of what is said of a queued order.
var waitingWords = map[Waiting]words{
	WaitingForRecorder: {"Your order is accepted and will be recorded in a moment.", "您的订单已受理，即将完成登记。"},
	WaitingForGate: {"Your order is not forgotten. The part that took it is being restored; please ask again in a moment, there is no need to buy again.",
		"您的订单没有丢失，受理系统正在恢复，请稍后再查询，无需重复下单。"},
	WaitingForLog: {"Your order is not forgotten. It is recorded as soon as our database is back; please ask again in a moment, there is no need to buy again.",
		"您的订单没有丢失，数据库恢复后即会登记，请稍后再查询，无需重复下单。"},
	WaitingForSale: {"The sale is paused. Your order is taken up when it goes on, if it can still be found; before that nobody can say. There is no need to buy again.",
		"活动已暂停。如仍能找到您的订单，恢复后将继续处理；在此之前无法确定结果，无需重复下单。"},
}

// Sentence says what the order waits for, "" for nothing.
func (w Waiting) Sentence(language string) string { return waitingWords[w].in(language) }

// reasonWords is the one table of what is said of a rejected order. None of them
// counts: the buyer may try again.
var reasonWords = map[Reason]words{
	RejectedGuard: {"We are sorry: more units were promised than there are, and yours could not be kept. You owe nothing and may try again.",
		"非常抱歉：受理的数量超出了库存，您的订单未能保留。您无需付款，可以再次尝试。"},
	RejectedDuplicate: {"You already have an order in this sale, and it is kept; this second one is not.", "您在本次活动中已有订单，该订单有效；本次重复下单未保留。"},
	RejectedLimit:     {"This order would have passed the limit per buyer, so it is not kept. You owe nothing for it.", "该订单超出每人限购数量，未予保留，您无需为其付款。"},
	RejectedPoison:    {"We are sorry: your order could not be recorded through a fault of ours. You owe nothing and may try again.", "非常抱歉：由于系统故障，您的订单未能登记。您无需付款，可以再次尝试。"},
	RejectedLost:      {"We are sorry: your order was accepted and then lost through a failure on our side. You owe nothing, it does not count, and you may try again.", "非常抱歉：您的订单受理后因系统故障丢失。您无需付款，该订单不计入限购，可以再次尝试。"},
}

// Sentence says why the order was rejected, "" for no reason.
func (r Reason) Sentence(language string) string { return reasonWords[r].in(language) }
