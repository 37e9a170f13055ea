package config

import (
	"net/url"
	"strings"
)

const hidden = "xxxxx"

// Secret is a text that does not show itself. Convert it to string to use it.
type Secret string

// String is empty for an empty secret, else says only that there is one.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString keeps %#v from showing the secret.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText keeps JSON and log handlers from showing the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// URL is an address, or several separated by commas, that shows itself without
// its passwords. Convert it to string to use it.
type URL string

// String hides passwords, and everything if it is no URL.
func (u URL) String() string {
	if u == "" {
		return ""
	}
	parts := strings.Split(string(u), ",")
	for i, part := range parts {
		if parts[i] = redact(part); parts[i] == hidden {
			return hidden // a comma inside a password looks like that
		}
	}
	return strings.Join(parts, ",")
}

// GoString keeps %#v from showing passwords.
func (u URL) GoString() string { return `"` + u.String() + `"` }

// MarshalText keeps JSON and log handlers from showing passwords.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// redact shows of one address what cannot be a password: scheme, user, host
// and path. Of the query it shows names only.
func redact(address string) string {
	p, err := url.Parse(address)
	if err != nil || p.Opaque != "" || (p.Host == "" && p.Path == "") || p.Scheme == "" {
		// A further server of a cluster, or the last one with what stands behind it.
		if host, rest, more := strings.Cut(address, "?"); hostPort.MatchString(strings.TrimSuffix(host, "/0")) {
			if more && rest != "" {
				host += "?" + hidden
			}
			return host
		}
		return hidden
	}
	if strings.Contains(address, "@") && p.User == nil || strings.Contains(p.Path+p.RawQuery+p.Fragment, "@") {
		return hidden // a password with a slash, a question mark or a hash in it, or too few slashes before it
	}
	if _, has := p.User.Password(); has {
		p.User = url.UserPassword(p.User.Username(), hidden)
	}
	q := p.Query()
	for name := range q {
		q.Set(name, hidden)
	}
	p.RawQuery = q.Encode()
	p.Fragment = ""
	return p.String()
}
