package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// MainDatabase is the name of the database of DatabaseURL. Where no other is
// configured nobody needs it.
const MainDatabase = "main"

// DatabaseURLs are addresses of further databases, NAME=URL with spaces between, such
// as "b=postgres://h:5432/seckill c=postgres://i:5432/seckill". It shows itself without
// passwords. Call Named to use it.
type DatabaseURLs string

// NamedURL is the address of the database of a name.
type NamedURL struct {
	Name string
	URL  URL
}

// Database is one event store with its read models, as it is configured. Owner is the
// same database as its owner; Views a replica of it that views are read from, "" for
// none.
type Database struct {
	Name              string
	URL, Owner, Views URL
}

var (
	databaseForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,30}$`)
	// errDatabases is what is wrong with a text that is no DatabaseURLs.
	errDatabases = errors.New("must be a list of NAME=URL with spaces between, such as b=postgres://user:password@host:5432/database, each name once: a small letter, then at most 30 small letters, digits, dashes and underscores")
)

// Named reads the text. The error is the rest of a sentence that begins with the name
// of the setting, and repeats nothing of it.
func (d DatabaseURLs) Named() ([]NamedURL, error) {
	var all []NamedURL
	for _, field := range strings.Fields(string(d)) {
		name, url, ok := strings.Cut(field, "=")
		taken := slices.ContainsFunc(all, func(n NamedURL) bool { return n.Name == name })
		if !ok || !databaseForm.MatchString(name) || taken || !hasScheme(url, "postgres", "postgresql") {
			return nil, errDatabases
		}
		all = append(all, NamedURL{name, URL(url)})
	}
	return all, nil
}

// String hides passwords, and everything if it cannot be read.
func (d DatabaseURLs) String() string {
	if d == "" {
		return ""
	}
	all, err := d.Named()
	if err != nil {
		return hidden
	}
	shown := make([]string, len(all))
	for i, n := range all {
		shown[i] = n.Name + "=" + n.URL.String()
	}
	return strings.Join(shown, " ")
}

// GoString keeps %#v from showing passwords.
func (d DatabaseURLs) GoString() string { return `"` + d.String() + `"` }

// MarshalText keeps JSON and log handlers from showing passwords.
func (d DatabaseURLs) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// EventStores lists the databases, main first and then in the order of the setting.
// Settings that are not valid give what can be read of them.
func (s Settings) EventStores() []Database {
	all := []Database{{Name: MainDatabase, URL: s.DatabaseURL, Owner: s.OwnerDatabaseURL, Views: s.ViewsDatabaseURL}}
	further, _ := s.Databases.Named() // Validate tells what is wrong
	owners, _ := s.OwnerDatabases.Named()
	views, _ := s.ViewsDatabases.Named()
	of := func(list []NamedURL, name string, otherwise URL) URL {
		for _, n := range list {
			if n.Name == name {
				return n.URL
			}
		}
		return otherwise
	}
	for _, n := range further {
		all = append(all, Database{Name: n.Name, URL: n.URL, Owner: of(owners, n.Name, n.URL), Views: of(views, n.Name, "")})
	}
	return all
}

// Several tells whether sales live on more than one database.
func (s Settings) Several() bool { return s.Databases != "" }

// On gives these settings as if d were the only database.
func (s Settings) On(d Database) Settings {
	s.DatabaseURL, s.OwnerDatabaseURL, s.ViewsDatabaseURL = d.URL, d.Owner, d.Views
	s.Databases, s.OwnerDatabases, s.ViewsDatabases = "", "", ""
	return s
}

// databases checks the lists of databases against each other; no address is repeated.
func (p *problems) databases(s Settings) {
	p.database("SECKILL_VIEWS_DATABASE_URL", s.ViewsDatabaseURL)
	p.check(s.ViewsDatabaseURL == "" || s.DatabaseURL != "",
		"SECKILL_VIEWS_DATABASE_URL is set, but SECKILL_DATABASE_URL is not: a private database has no replica.")
	further, err := s.Databases.Named()
	p.check(err == nil, "SECKILL_DATABASES %v.", err)
	p.check(s.Databases == "" || s.RedisURL != "",
		"SECKILL_DATABASES is set, but SECKILL_REDIS_URL is not: sales on several databases need a Redis that is there for all.")
	p.check(s.Databases == "" || s.DatabaseURL != "",
		"SECKILL_DATABASES is set, but SECKILL_DATABASE_URL is not: it is the first of several, called %s.", MainDatabase)
	for _, n := range further {
		p.check(n.Name != MainDatabase, "SECKILL_DATABASES must not name %s: that is the database of SECKILL_DATABASE_URL.", MainDatabase)
		p.check(n.URL != s.DatabaseURL, "SECKILL_DATABASES gives %s the address of SECKILL_DATABASE_URL: it is one database.", n.Name)
	}
	for _, list := range []struct {
		setting string
		urls    DatabaseURLs
	}{{"SECKILL_OWNER_DATABASES", s.OwnerDatabases}, {"SECKILL_VIEWS_DATABASES", s.ViewsDatabases}} {
		named, err := list.urls.Named()
		p.check(err == nil, "%s %v.", list.setting, err)
		for _, n := range named {
			p.check(slices.ContainsFunc(further, func(f NamedURL) bool { return f.Name == n.Name }),
				"%s names %s, which SECKILL_DATABASES does not.", list.setting, n.Name)
		}
	}
}
