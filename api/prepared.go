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
type preparedProblems map[preparedProblem][]byte

type preparedProblem struct {
	code     domain.Code
	language string
}

func prepareProblems() (preparedProblems, error) {
	all := preparedProblems{}
	for _, code := range domain.Codes() {
		for _, language := range languages {
			p := refuse(code).document(language, "")
			p.RetryAfterMS = 0
			text, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			all[preparedProblem{code, language}] = bytes.TrimSuffix(text, []byte(`"}`))
		}
	}
	return all, nil
}

// plain tells whether r says nothing beyond its code and a time to wait.
func (r *refusal) plain() bool {
	return r.status == 0 && r.order == "" && r.state == nil && r.says == "" && r.Note == "" && len(r.Fields) == 0 && r.opensAt.IsZero()
}

// body gives the JSON of p, the document of r in a language.
func (all preparedProblems) body(r *refusal, p *Problem, language string) ([]byte, error) {
	head, ok := all[preparedProblem{r.Code, language}]
	if !ok || !r.plain() {
		return json.Marshal(p)
	}
	text := make([]byte, 0, len(head)+len(p.TraceID)+len(`","retry_after_ms":18446744073709551615}`))
	text = append(text, head...)
	text = append(text, p.TraceID...) // hexadecimal digits
	text = append(text, '"')
	if p.RetryAfterMS > 0 {
		text = append(text, `,"retry_after_ms":`...)
		text = strconv.AppendInt(text, p.RetryAfterMS, 10)
	}
	return append(text, '}'), nil
}
