package api

import (
	"regexp"
	"strconv"
	"strings"

	"seckill/domain"
)

// Reasons that several checks give.
const (
	unknownField = "is not known here"
	twice        = "stands twice"
	tooDeep      = "is nested too deeply: want at most 16 objects and lists inside each other"
	missing      = "is missing"
	wantWhole    = "want a whole number, written without fraction or exponent"
	wantAmount   = "want a decimal amount as a text, such as \"19.90\""
	wantCurrency = "want a currency of three capital letters, such as CNY"
	// wantOnce is said of a header.
	wantOnce = "want it once"
	// wantSub is said to who shows a token that is good but for its sub.
	wantSub = "The sub of this token cannot name a buyer: want 1 to 128 visible ASCII characters."
)

// humaReason is one form of what huma says of a field, and how we say it. What
// the form holds in parentheses stands for %s.
type humaReason struct {
	form *regexp.Regexp
	ours string
}

func form(text, ours string) humaReason {
	return humaReason{regexp.MustCompile("^(?:" + text + ")$"), ours}
}

// humaReasons say what huma finds in our words.
var humaReasons = []humaReason{
	form("unexpected property", unknownField),
	form("required \\w+ parameter is missing", missing),
	form("expected number >= (.+)", "want at least %s"),
	form("expected number <= (.+)", "want at most %s"),
	form("expected length >= (.+)", "want at least %s characters"),
	form("expected length <= (.+)", "want at most %s characters"),
	form("expected array length >= (.+)", "want at least %s of them"),
	form("expected array length <= (.+)", "want at most %s of them"),
	form("expected value to be one of \"(.+)\"", "want one of %s"),
	form("expected boolean|invalid boolean", "want true or false"),
	form("expected integer|expected number|invalid integer", wantWhole),
	form("expected string", "want a text"),
	form("expected array", "want a list"),
	form("expected object", "want an object"),
}

// ofHuma gives what is wrong with a field in our words, from huma's.
func ofHuma(location, message string) domain.FieldError {
	field := location
	for _, place := range []string{"body.", "query.", "path.", "header."} {
		field = strings.TrimPrefix(field, place)
	}
	if m := requiredProperty.FindStringSubmatch(message); m != nil {
		return domain.FieldError{Field: strings.TrimPrefix(field+"."+m[1], "body."), Reason: missing}
	}
	for _, r := range humaReasons {
		m := r.form.FindStringSubmatch(message)
		switch {
		case m == nil:
			continue
		case len(m) > 1:
			return domain.FieldError{Field: field, Reason: strings.Replace(r.ours, "%s", plainNumber(m[1]), 1)}
		}
		return domain.FieldError{Field: field, Reason: r.ours}
	}
	return domain.FieldError{Field: field, Reason: "is not in the form we expect"}
}

var requiredProperty = regexp.MustCompile(`^expected required property (\w+) to be present$`)

// plainNumber undoes that huma writes a bound of 2147483647 as 2.147483647e+09.
func plainNumber(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// reasonIn says a reason in a language. One that no line of ours knows stays
// English.
func reasonIn(language, reason string) string {
	if language != "zh" {
		return reason
	}
	if list, ok := strings.CutPrefix(reason, "want one of "); ok {
		return "应为以下之一：" + list
	}
	zh, ok := chinese[digits.ReplaceAllString(reason, "#")]
	if !ok {
		return reason
	}
	for _, n := range digits.FindAllString(reason, -1) {
		zh = strings.Replace(zh, "#", n, 1)
	}
	return zh
}

var digits = regexp.MustCompile(`\d+`)

// chinese holds the reasons a person may see, every number in them written #, in
// the same order.
var chinese = map[string]string{
	"is no switch":                           "不是已知的开关",
	"this switch is flipped everywhere only": "此开关只能全局切换",
	unknownField:                             "不是已知的字段",
	twice:                                    "重复出现",
	missing:                                  "缺失",
	notInTime:                                "所依赖的部分没有应答或未及时应答，请稍后再试。",
	perhapsDone:                              "所要求的更改可能已经生效。",
	streamsTaken:                             "此节点的数据流读者已满；请直接查询 overview。",
	streamsPaused:                            "开关 pause_noncore 打开期间，控制台的数据流已停用；请直接查询 overview。",
	notTheConsole:                            "凭控制台 Cookie 的请求必须来自控制台本身：带有 X-Seckill-Console，且页面同源；否则请使用 bearer 令牌。",
	notSetAside:                              "没有搁置的事件。",
	linkOver:                                 "此链接已失效：每个链接只能使用一次，且有时限。请用令牌登录。",
	tokenOrCode:                              "应提供 token 或 code，二者取一",
	wantOnce:                                 "只能出现一次",
	digits.ReplaceAllString(wantSub, "#"):    "此令牌的 sub 不能作为买家标识：应为 # 至 # 个可见 ASCII 字符。",
	wantWhole:                                "应为整数，不带小数或指数",
	digits.ReplaceAllString(wantAmount, "#"): "应为文本形式的十进制金额，例如 \"#.#\"",
	wantCurrency:                             "应为三个大写字母的货币代码，例如 CNY",
	"want at least #":                        "应不小于 #",
	"want at most #":                         "应不大于 #",
	"want at least # characters":             "应至少 # 个字符",
	"want at most # characters":              "应至多 # 个字符",
	"want at least # of them":                "应至少有 # 项",
	"want at most # of them":                 "应至多有 # 项",
	"want true or false":                     "应为 true 或 false",
	"want a text":                            "应为文本",
	"want a list":                            "应为列表",
	"want an object":                         "应为对象",
	"is not in the form we expect":           "格式不正确",
	"want a whole number from # to #":        "应为 # 至 # 的整数",
	"want a decimal amount and a currency of three capital letters": "应为十进制金额与三个大写字母的货币代码",
	"want postgres, redis-sync or redis-async":                      "应为 postgres、redis-sync 或 redis-async",
	"times limit_per_buyer is more than we can count":               "乘以 limit_per_buyer 后超出可表示的范围",
	"each tranche needs a time and a quantity of at least #":        "每一批都要有时间与至少 # 件的数量",
	"a tranche after closes_at would never be sold":                 "晚于 closes_at 的批次永远不会售出",
	"a tranche before opens_at is part of the first stock":          "早于 opens_at 的批次属于首批库存",
	"the tranches come one after another, each at its own time":     "各批须按时间先后排列，且时间各不相同",
	"want at most # tranches":                                       "至多 # 批",
	"the tranches hold more units than the stock":                   "各批之和超过库存",
	"want # to # lines":                                             "应有 # 至 # 行",
	"want # to # items":                                             "应有 # 至 # 项",
	"want # to #":                                                   "应为 # 至 #",
	"want # to the stock":                                           "应为 # 至库存数量",
	"want at least #, or at most -#":                                "应不小于 #，或不大于 -#",
	"want at least -#":                                              "应不小于 -#",
	"would pass # units of this item in all":                        "该商品合计将超过 # 件",
	"want # second to # days":                                       "应为 # 秒至 # 天",
	"want at most # units in all":                                   "合计至多 # 件",
	"want # to # characters, not all of them blank":                 "应为 # 至 # 个字符，且不能全为空白",
	"want # to # characters, not all of them blank, and none that controls how text is shown": "应为 # 至 # 个字符，不能全为空白，也不能含有控制文本显示方式的字符",
	"want a text of # to # letters, digits, '.', '_' or '-'":                                  "应为 # 至 # 个字母、数字、“.”、“_”或“-”",
	"want # to # letters, digits, '.', '_' or '-'":                                            "应为 # 至 # 个字母、数字、“.”、“_”或“-”",
	"want it once, with # to # visible ASCII characters":                                      "只能出现一次，且为 # 至 # 个可见 ASCII 字符",
	"want an RFC # time with a zone, such as #-#-#T#:#:#+#:#":                                 "应为带时区的 RFC # 时间，例如 #-#-#T#:#:#+#:#",
	"want a duration from #s to #s, such as #s":                                               "应为 #s 至 #s 的时长，例如 #s",
	"want a year up to # and an offset below # hours":                                         "年份不超过 #，时区偏移小于 # 小时",
	"must be later than opens_at":                                                             "必须晚于 opens_at",
	"must be later than now":                                                                  "必须晚于当前时间",
	"must not be negative":                                                                    "不能为负",
	"must not hold a NUL character":                                                           "不能含有 NUL 字符",
	"is nested too deeply: want at most # objects and lists inside each other":                "嵌套过深：对象与列表最多可嵌套 # 层",
	"stands twice in this purchase":                                                           "在本次购买中重复出现",
	"want 1 to 64 characters without commas, and no blanks around them":                       "应为 1 至 64 个字符，不含逗号，首尾不含空白",
	"stands twice in this sale":                                                               "在本次活动中重复出现",
	"all items of a sale have one currency":                                                   "同一活动的商品必须使用同一货币",
	"is required where a buyer may have several orders":                                       "允许多张订单的活动必须提供",
	"was not given by us":                                                                     "不是由本系统给出的",
	"is settled when the sale is scheduled":                                                   "在活动创建时即已确定，不能修改",
	"is not changed here: release units instead":                                              "不能在此修改：请使用追加库存",
	"cannot change any more: the sale has opened":                                             "活动已开始，不能再修改",
	"is over: to end the sale at once, change nothing else":                                   "已经过去：如需立即结束活动，请不要同时修改其他内容",
	"want # to # visible ASCII characters":                                                    "应为 # 至 # 个可见 ASCII 字符",
	"was used for another order":                                                              "已用于另一张订单",
	"want an amount of money":                                                                 "应为金额",
	"is required":                                                                             "必须提供",
	// Notes that follow the sentence of a code.
	wantSignature: "该消息的签名不符：签名缺失、不在最近五分钟内，或不是以双方共享的密钥对原始字节生成的。",
	noProvider:    "此处没有该名称的支付服务商。",
	noSuchOrder:   "没有此编号的订单，重发该消息也无济于事。",
	notYetThere:   "该订单仍在登记中，消息尚未受理，请稍后重发。",
	notHeardNow:   "消息未受理，请稍后重发。",
	noneOfThisID:  "没有此编号的订单。",
	stillRecorded: "订单仍在登记中，请稍后再试。",
	stoppedNow:    "闸口已停止本节点所知的售卖，但尚未登记：请重复此操作，直至登记成功；若未登记，PostgreSQL 恢复应答数秒后将恢复售卖。",
	"The address and the headers are over # KiB.":               "请求地址与请求头合计超过 # KiB。",
	"It is still being recorded; please try again in a moment.": "订单仍在登记中，请稍后再试。",
	"It is paid.":      "订单已支付。",
	"It is cancelled.": "订单已取消。",
	"It expired, because it was not paid in time.": "订单未在期限内支付，已过期。",
	"It was rejected.": "订单已被拒绝。",
	"Preheat the sale first: no preheat of these terms has found everything as the log says.": "请先预热：当前条款尚无一次预热确认闸口与日志完全一致。",
	"It was cleaned up, so the gate does not hold it any more.":                               "该活动已清理，闸口不再保留其数据。",
	"Please send application/json.":                                                           "请发送 application/json。",
	noCompression:                                                                             "不接受压缩的请求体：请原样发送，不带 Content-Encoding。",
	"The body is over # KiB.":                                                                 "请求体超过 # KiB。",
	"The body is not JSON, or something follows it.":                                          "请求体不是 JSON，或其后还有内容。",
	"The body did not arrive whole.":                                                          "请求体没有完整到达。",
	"The body took too long to arrive.":                                                       "请求体到达太慢。",
	"Please send " + mediaNDJSON + ".":                                                        "请发送 application/x-ndjson。",
	"want at least one buyer":                                                                 "至少应有一名买家",
	"line #: want a JSON text, or an object with buyer_id alone":                              "第 # 行：应为 JSON 文本，或仅含 buyer_id 的对象",
	"line #: want # to # visible ASCII characters":                                            "第 # 行：应为 # 至 # 个可见 ASCII 字符",
	"line #: is longer than # bytes":                                                          "第 # 行：超过 # 字节",
	"is required: solve the challenge first":                                                  "必须提供：请先完成验证",
	"want the base64 text of a solved challenge":                                              "应为已完成验证的 base64 文本",
	"does not solve a challenge of yours for this sale":                                       "与您在本次活动中的验证不符",
	"came too late: solve a new challenge":                                                    "已过期：请重新完成验证",
	"is not ready":                                                                            "尚未就绪",
	"is shutting down":                                                                        "正在停止",
}
