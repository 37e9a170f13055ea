package api

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"time"

	"seckill/commands"
)

//go:embed statement.html
var statementHTML string

// StatementPage gives a closing statement as one page to read and to print: no
// script, nothing loaded from elsewhere.
func StatementPage(told *commands.Statement, signed *commands.SignedStatement) ([]byte, error) {
	page, err := template.New("statement").Funcs(template.FuncMap{
		"time":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") },
		"share": func(rate string) string { return map[bool]string{true: "–", false: rate + " %"}[rate == ""] },
	}).Parse(statementHTML)
	if err != nil {
		return nil, fmt.Errorf("read the page of a statement: %w", err)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, map[string]any{"S": told, "X": signed}); err != nil {
		return nil, fmt.Errorf("write the page of a statement: %w", err)
	}
	return b.Bytes(), nil
}
