package domain

import (
	"fmt"
	"maps"
	"slices"
)

// Code is what a program reads in a refusal or an error. Codes never change.
type Code string

// Codes of refusals and errors a person may see.
const (
	CodeInvalidRequest      Code = "invalid_request"
	CodeUnauthenticated     Code = "unauthenticated"
	CodeForbidden           Code = "forbidden"
	CodeNotEligible         Code = "not_eligible"
	CodeTicketRequired      Code = "ticket_required"
	CodeTicketInvalid       Code = "ticket_invalid"
	CodeNotFound            Code = "not_found"
	CodeMethodNotAllowed    Code = "method_not_allowed"
	CodeSaleNotFound        Code = "sale_not_found"
	CodeSKUNotFound         Code = "sku_not_found"
	CodeOrderNotFound       Code = "order_not_found"
	CodeSoldOut             Code = "sold_out"
	CodeLimitExceeded       Code = "limit_exceeded"
	CodeInProgress          Code = "in_progress"
	CodeSaleEnded           Code = "sale_ended"
	CodeIdempotencyMismatch Code = "idempotency_mismatch"
	CodeTooEarly            Code = "too_early"
	CodeRateLimited         Code = "rate_limited"
	CodeBusy                Code = "busy"
	CodeNotReady            Code = "not_ready"
	CodePaused              Code = "paused"
	CodeWrongState          Code = "wrong_state"
	CodeVersionConflict     Code = "version_conflict"
	CodeInternal            Code = "internal"
)

// Problem is an error that a person may see: a code, and the field errors where
// there are some. Its sentences, in English and Chinese, stand in one table.
type Problem struct {
	Code   Code
	Fields []FieldError
	// Note is an extra sentence for this one case, already fit for people.
	Note string
}

// Error gives the English sentence.
func (p *Problem) Error() string {
	s := p.Code.Sentence("en")
	if p.Note != "" {
		s += " " + p.Note
	}
	for _, f := range p.Fields {
		s += fmt.Sprintf(" %s: %s.", f.Field, f.Reason)
	}
	return s
}

// Invalid makes the problem of a request whose fields are wrong.
func Invalid(fields ...FieldError) *Problem {
	return &Problem{Code: CodeInvalidRequest, Fields: fields}
}

// sentences says each code to a person: English, then Chinese.
var sentences = map[Code][2]string{
	CodeInvalidRequest:      {"The request is not in the form we expect.", "请求的格式不正确。"},
	CodeUnauthenticated:     {"Please sign in first.", "请先登录。"},
	CodeForbidden:           {"This needs a role that you do not have.", "您没有执行此操作的权限。"},
	CodeNotEligible:         {"This sale is not open to your account.", "您的账户不在本次活动的参与范围内。"},
	CodeTicketRequired:      {"This sale needs a purchase ticket; please get one first.", "本次活动需要购买资格券，请先领取。"},
	CodeTicketInvalid:       {"This ticket is not valid for you and this sale, or was used already.", "资格券无效或已被使用。"},
	CodeNotFound:            {"There is nothing at this address.", "该地址不存在。"},
	CodeMethodNotAllowed:    {"This address does not take that method.", "该地址不支持此请求方法。"},
	CodeSaleNotFound:        {"There is no such sale.", "没有找到该活动。"},
	CodeSKUNotFound:         {"This sale has no such item.", "该活动中没有此商品。"},
	CodeOrderNotFound:       {"You have no such order.", "没有找到您的该订单。"},
	CodeSoldOut:             {"Sold out. Thank you for trying.", "已售罄，感谢您的参与。"},
	CodeLimitExceeded:       {"This would pass the limit per buyer.", "超出每人限购数量。"},
	CodeInProgress:          {"The same request is still being decided; please ask again in a moment.", "相同的请求正在处理中，请稍后再试。"},
	CodeSaleEnded:           {"The sale has ended.", "活动已结束。"},
	CodeIdempotencyMismatch: {"This Idempotency-Key was used with another request.", "该 Idempotency-Key 已用于另一个请求。"},
	CodeTooEarly:            {"The sale has not opened yet.", "活动尚未开始。"},
	CodeRateLimited:         {"Too many attempts; please wait a moment.", "操作过于频繁，请稍候再试。"},
	CodeBusy:                {"We are very busy; please try again in a moment. Nothing was bought.", "系统繁忙，请稍后再试，本次未产生订单。"},
	CodeNotReady:            {"The sale is being made ready; please try again in a moment.", "活动正在准备中，请稍后再试。"},
	CodePaused:              {"The sale is paused for a moment.", "活动已暂停，请稍候。"},
	CodeWrongState:          {"The order's state does not allow this.", "订单当前状态不支持此操作。"},
	CodeVersionConflict:     {"Somebody changed this in the meantime; please load it again.", "内容已被他人修改，请刷新后重试。"},
	CodeInternal:            {"Something broke on our side; the trace id helps us find it.", "系统内部错误，请提供追踪号以便排查。"},
}

// Sentence says the code in a language, "zh" or else English.
func (c Code) Sentence(language string) string {
	pair, ok := sentences[c]
	if !ok {
		pair = sentences[CodeInternal]
	}
	if language == "zh" {
		return pair[1]
	}
	return pair[0]
}

// Codes lists every code, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(sentences)) }
