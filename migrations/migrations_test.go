package migrations_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"testing"

	"seckill/migrations"
)

// firstWithWord is the first migration that says which programs may work on it.
const firstWithWord = 9

var (
	says = regexp.MustCompile(`(?i)insert\s+into\s+schema_compatibility\s*\(version,\s*oldest_program\)\s*values\s*\((\d+),\s*(\d+)\)`)
	// takes finds what an older program may stumble over: things that go, get other
	// names, types or bounds, and rights that are taken.
	takes = regexp.MustCompile(`(?i)\bdrop\s+(table|column|view|function|type|schema)\b|\brename\b|\balter\s+column\b|\badd\s+(constraint|check|unique|foreign|primary)\b|\brevoke\b|` +
		`\badd\s+(column\s+)?\w+\s+[^,;]*\bnot\s+null\b`)
	comment = regexp.MustCompile(`--[^\n]*`)
	// kept: a column with a default may be left out by who does not know it.
	defaulted = regexp.MustCompile(`(?i)\badd\s+(column\s+)?\w+\s+[^,;]*\bdefault\b[^,;]*`)
)

// wrong says what is wrong with what migration number n says of itself, "" for nothing.
func wrong(n int, sql string) string {
	sql = comment.ReplaceAllString(sql, "")
	word := says.FindStringSubmatch(sql)
	if word == nil {
		return "it does not say which programs may work on it: insert into schema_compatibility (version, oldest_program)"
	}
	version, _ := strconv.Atoi(word[1])
	oldest, _ := strconv.Atoi(word[2])
	if version != n {
		return fmt.Sprintf("it speaks of version %d", version)
	}
	if found := takes.FindString(defaulted.ReplaceAllString(sql, "")); found != "" && oldest < n {
		return fmt.Sprintf("programs older than it may work on it, it says, but it has %q", found)
	}
	return ""
}

func TestEveryMigrationSaysWhichProgramsMayWorkOnIt(t *testing.T) {
	names, err := fs.Glob(migrations.Files(), "*.sql")
	if err != nil || len(names) < firstWithWord {
		t.Fatalf("%d migrations, %v", len(names), err)
	}
	for i, name := range names {
		sql, err := fs.ReadFile(migrations.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		if n := i + 1; n >= firstWithWord {
			if why := wrong(n, string(sql)); why != "" {
				t.Errorf("%s: %s", name, why)
			}
		}
	}
}

func TestAMigrationThatTakesSomethingAwayIsForNewProgramsAlone(t *testing.T) {
	for sql, good := range map[string]bool{
		"create table t (a int not null);":                                       true,
		"alter table t add column b int;":                                        true,
		"alter table t add column b int not null default 0;":                     true,
		"alter table t add b int not null default 0, add c text;":                true,
		"create index on t (a);":                                                 true,
		"alter table t drop column a;":                                           false,
		"alter table t rename to u;":                                             false,
		"alter table t alter column a type bigint;":                              false,
		"alter table t add column b int not null;":                               false,
		"alter table t add column b int not null default 0, add c int not null;": false,
		"alter table t add constraint c check (a > 0);":                          false,
		"drop table t;":                     false,
		"revoke insert on t from {{.app}};": false,
	} {
		older := sql + " insert into schema_compatibility (version, oldest_program) values (12, 9);"
		if why := wrong(12, older); (why == "") != good {
			t.Errorf("%s for programs from 9 on: %q, want it good: %t", sql, why, good)
		}
		if why := wrong(12, sql+" insert into schema_compatibility (version, oldest_program) values (12, 12);"); why != "" {
			t.Errorf("%s for programs from 12 on: %s", sql, why)
		}
		if wrong(12, sql) == "" || wrong(13, older) == "" {
			t.Errorf("%s: a migration that says nothing, or speaks of another, passes", sql)
		}
	}
}
