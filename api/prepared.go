package api

import (
	"bytes"
	"encoding/json"
	"strconv"

	"seckill/domain"
)

// languages are those we answer in.
var languages = [...]string{"en", "zh"}

// preparedProblems are the problem documents that say nothing of one request but its
// trace and a time to wait, up to the trace id: nine answers in ten are one of them.
type preparedProblems map[domain.Code]inLanguages

// inLanguages is a text in each of the languages, in their order.
type inLanguages [len(languages)][]byte

// in gives the text in one of the languages, nil for any other.
func (t inLanguages) in(language string) []byte {
	for i := range languages {
		if languages[i] == language {
			return t[i]
		}
	}
	return nil
}

func prepareProblems() (preparedProblems, error) {
	all := preparedProblems{}
	for _, code := range domain.Codes() {
		var texts inLanguages
		for i, language := range languages {
			p := refuse(code).document(language, "")
			p.RetryAfterMS = 0
			text, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			texts[i] = bytes.TrimSuffix(text, []byte(`"}`))
		}
		all[code] = texts
	}
	return all, nil
}

// plain tells whether r says nothing beyond its code and a time to wait.
func (r *refusal) plain() bool {
	return r.status == 0 && r.order == "" && r.state == nil && r.says == "" && r.Note == "" && len(r.Fields) == 0 && r.opensAt.IsZero()
}

// rendered gives the document of r for a language and a trace: what its headers and
// status say of it, and its JSON.
func (all preparedProblems) rendered(r *refusal, language, trace string) (Problem, []byte, error) {
	head := all[r.Code].in(language)
	if head == nil || !r.plain() {
		p := r.document(language, trace)
		body, err := json.Marshal(p)
		return *p, body, err
	}
	const most = len(`","retry_after_ms":18446744073709551615,"receipt":""}`) + domain.ReceiptLength
	p := Problem{Status: r.answer().status, RetryAfterMS: r.retryAfter().Milliseconds(), challenge: r.challenge}
	body := make([]byte, 0, len(head)+len(trace)+most)
	body = append(body, head...)
	body = append(body, trace...) // hexadecimal digits
	body = append(body, '"')
	if p.RetryAfterMS > 0 {
		body = append(body, `,"retry_after_ms":`...)
		body = strconv.AppendInt(body, p.RetryAfterMS, 10)
	}
	return p, append(r.attested(body), '}'), nil
}

// attested appends the receipt of r, where it has one, as a member.
func (r *refusal) attested(body []byte) []byte {
	if r.refused == nil {
		return body
	}
	signed, ok := r.receipts.Append(append(body, `,"receipt":"`...), r.refused)
	if !ok {
		return body
	}
	return append(signed, '"')
}
