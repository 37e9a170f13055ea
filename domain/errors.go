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
	CodeBelowReserved       Code = "below_reserved"
	CodeNotEnded            Code = "not_ended"
	CodeNotReconciled       Code = "not_reconciled"
	CodeArchived            Code = "archived"
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

// Kind sorts codes by what a caller can do about them. Transports give each kind
// their own status.
type Kind int

// Kinds of refusals and errors.
const (
	KindBroken          Kind = iota // our fault
	KindInvalid                     // the request is wrong, and will be again
	KindUnauthenticated             // sign in
	KindForbidden                   // not for you
	KindNotFound                    // no such thing
	KindMethod                      // not asked for that way
	KindConflict                    // not as things stand
	KindGone                        // not any more
	KindEarly                       // not yet: the answer says when
	KindLimited                     // too often: wait
	KindUnavailable                 // not at the moment: try again
)

// codeText is what stands behind a code: its kind, a title, and a sentence in
// English and in Chinese.
type codeText struct {
	kind          Kind
	title, en, zh string
}

// codes is the one table of codes: a new one is a constant above and a line here.
var codes = map[Code]codeText{
	CodeInvalidRequest:      {KindInvalid, "Invalid request", "The request is not in the form we expect.", "请求的格式不正确。"},
	CodeUnauthenticated:     {KindUnauthenticated, "Not signed in", "Please sign in first.", "请先登录。"},
	CodeForbidden:           {KindForbidden, "Not allowed", "This needs a role that you do not have.", "您没有执行此操作的权限。"},
	CodeNotEligible:         {KindForbidden, "Not eligible", "This sale is not open to your account.", "您的账户不在本次活动的参与范围内。"},
	CodeTicketRequired:      {KindForbidden, "Ticket required", "This sale needs a purchase ticket; please get one first.", "本次活动需要购买资格券，请先领取。"},
	CodeTicketInvalid:       {KindForbidden, "Ticket invalid", "This ticket is not valid for you and this sale, or was used already.", "资格券无效或已被使用。"},
	CodeNotFound:            {KindNotFound, "Not found", "There is nothing at this address.", "该地址不存在。"},
	CodeMethodNotAllowed:    {KindMethod, "Method not allowed", "This address does not take that method.", "该地址不支持此请求方法。"},
	CodeSaleNotFound:        {KindNotFound, "No such sale", "There is no such sale.", "没有找到该活动。"},
	CodeSKUNotFound:         {KindNotFound, "No such item", "This sale has no such item.", "该活动中没有此商品。"},
	CodeOrderNotFound:       {KindNotFound, "No such order", "You have no such order.", "没有找到您的该订单。"},
	CodeSoldOut:             {KindConflict, "Sold out", "Sold out. Thank you for trying.", "已售罄，感谢您的参与。"},
	CodeLimitExceeded:       {KindConflict, "Limit exceeded", "This would pass the limit per buyer.", "超出每人限购数量。"},
	CodeInProgress:          {KindConflict, "Still being decided", "The same request is still being decided; please ask again in a moment.", "相同的请求正在处理中，请稍后再试。"},
	CodeSaleEnded:           {KindGone, "Sale ended", "The sale has ended.", "活动已结束。"},
	CodeIdempotencyMismatch: {KindInvalid, "Key used with another request", "This Idempotency-Key was used with another request.", "该 Idempotency-Key 已用于另一个请求。"},
	CodeTooEarly:            {KindEarly, "Too early", "The sale has not opened yet.", "活动尚未开始。"},
	CodeRateLimited:         {KindLimited, "Too many attempts", "Too many attempts; please wait a moment.", "操作过于频繁，请稍候再试。"},
	CodeBusy:                {KindUnavailable, "Busy", "We are very busy; please try again in a moment. Trying again never buys twice.", "系统繁忙，请稍后再试；重试不会重复下单。"},
	CodeNotReady:            {KindUnavailable, "Not ready", "This is not ready yet; please try again in a moment.", "尚未准备就绪，请稍后再试。"},
	CodePaused:              {KindUnavailable, "Paused", "The sale is paused for a moment.", "活动已暂停，请稍候。"},
	CodeWrongState:          {KindConflict, "Wrong state", "The order's state does not allow this.", "订单当前状态不支持此操作。"},
	CodeVersionConflict:     {KindConflict, "Changed in the meantime", "Somebody changed this in the meantime; please load it again.", "内容已被他人修改，请刷新后重试。"},
	CodeBelowReserved:       {KindConflict, "Not so many left", "Fewer units are left than you want to take back.", "剩余数量少于要撤回的数量。"},
	CodeArchived:            {KindGone, "Archived", "This was moved into an archive and is not shown here any more.", "相关记录已归档，此处不再显示。"},
	CodeNotEnded:            {KindConflict, "Not ended", "The sale is not over yet.", "活动尚未完全结束。"},
	CodeNotReconciled:       {KindConflict, "Not reconciled", "The books of the sale do not agree yet.", "该活动的账目尚未核对一致。"},
	CodeInternal:            {KindBroken, "Internal error", "Something broke on our side; the trace id helps us find it.", "系统内部错误，请提供追踪号以便排查。"},
}

// Kind gives the kind of a code; what is no code of ours is broken.
func (c Code) Kind() Kind { return codes[c].kind }

// Known tells whether c is one of ours.
func (c Code) Known() bool { return codes[c].title != "" }

// Title gives a few English words for a code.
func (c Code) Title() string { return c.text().title }

func (c Code) text() codeText {
	if t, ok := codes[c]; ok {
		return t
	}
	return codes[CodeInternal]
}

// Sentence says the code in a language, "zh" or else English.
func (c Code) Sentence(language string) string {
	if language == "zh" {
		return c.text().zh
	}
	return c.text().en
}

// Codes lists every code, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(codes)) }
