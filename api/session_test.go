package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/domain"
)

// fromThePage are the headers that the console's own page sends.
func (h *house) fromThePage(more ...string) []string {
	return append([]string{"Authorization", "", headerConsole, "1", "Origin", h.url}, more...)
}

// signIn signs in and gives the cookie as it is sent back.
func (h *house) signIn(t *testing.T, body string) (cookie *http.Cookie, header string) {
	t.Helper()
	got := h.ask(http.MethodPost, "/ops/session", body, h.fromThePage()...)
	set := (&http.Response{Header: got.Header}).Cookies()
	if got.Status != http.StatusOK || len(set) != 1 {
		t.Fatalf("got %d %s with cookies %v, want to be signed in", got.Status, got.Body, set)
	}
	return set[0], set[0].Name + "=" + set[0].Value
}

const switchOn = `{"on":true,"reason":"test"}`

func TestTheCookieOfTheConsoleIsOfOperatorsAndEndsWithTheToken(t *testing.T) {
	h := newHouse(t, nil)
	set, cookie := h.signIn(t, `{"token":"`+tokenOf(t, "boss", RoleAdmin)+`"}`)
	if !set.HttpOnly || set.SameSite != http.SameSiteStrictMode || set.Path != sessionPath || set.Secure || set.Domain != "" {
		t.Errorf("got cookie %s, want it for our site, no script and the routes of operators", set.Raw)
	}
	if d := time.Until(set.Expires); d < 55*time.Minute || d > time.Hour || set.MaxAge < 3300 || set.MaxAge > 3600 {
		t.Errorf("got cookie %s, want it to end with the token, within the hour", set.Raw)
	}
	if got := h.ask(http.MethodGet, pathSession, "", h.fromThePage("Cookie", cookie)...); got.Status != http.StatusOK || !strings.Contains(got.Body, `"who":"boss","expires_at"`) {
		t.Errorf("got %d %s, want to be boss until the token ends", got.Status, got.Body)
	}
	if got := h.ask(http.MethodPut, "/api/v1/admin/switches/force_ended", switchOn, h.fromThePage("Cookie", cookie)...); got.Status != http.StatusOK {
		t.Errorf("got %d %s, want it turned", got.Status, got.Body)
	}
	for _, path := range []string{"/api/v1/orders?sale=" + testSale, "/api/v1/orders/" + testOrder} {
		h.ask(http.MethodGet, path, "", h.fromThePage("Cookie", cookie)...).problem(401, domain.CodeUnauthenticated)
	}
	h.buy(oneShoe, h.fromThePage("Cookie", cookie)...).problem(401, domain.CodeUnauthenticated)
}

func TestBehindTLSTheCookieIsSecure(t *testing.T) {
	h := newHouse(t, nil)
	got := h.ask(http.MethodPost, "/ops/session", `{"token":"`+tokenOf(t, "boss", RoleAdmin)+`"}`, h.fromThePage("Origin", "https://shop.example", "Sec-Fetch-Site", "same-origin")...)
	if set := got.Header.Get("Set-Cookie"); got.Status != http.StatusOK || !strings.Contains(set, "; Secure") {
		t.Errorf("got %d with cookie %q, want it Secure", got.Status, set)
	}
}

func TestNobodyActsByTheCookieButTheConsoleItself(t *testing.T) {
	h := newHouse(t, nil)
	_, cookie := h.signIn(t, `{"token":"`+tokenOf(t, "boss", RoleAdmin)+`"}`)
	forged := map[string][]string{
		"without the header":            {"Authorization", "", "Cookie", cookie, "Origin", h.url},
		"from another origin":           h.fromThePage("Cookie", cookie, "Origin", "https://evil.example"),
		"from no origin":                h.fromThePage("Cookie", cookie, "Origin", "null"),
		"from another port":             h.fromThePage("Cookie", cookie, "Origin", h.url+"1"),
		"from another site":             h.fromThePage("Cookie", cookie, "Sec-Fetch-Site", "cross-site"),
		"from another host of the site": h.fromThePage("Cookie", cookie, "Sec-Fetch-Site", "same-site"),
		"from who knows where":          h.fromThePage("Cookie", cookie, "Origin", ""),
	}
	for name, headers := range forged {
		got := h.ask(http.MethodPut, "/api/v1/admin/switches/force_ended", switchOn, headers...)
		if got.Status != http.StatusForbidden || !strings.Contains(got.Body, headerConsole) {
			t.Errorf("%s: got %d %s, want 403", name, got.Status, got.Body)
		}
		if out := h.ask(http.MethodDelete, "/ops/session", "", headers...); out.Status != http.StatusForbidden {
			t.Errorf("signing out %s: got %d, want 403", name, out.Status)
		}
		in := h.ask(http.MethodPost, "/ops/session", `{"token":"`+tokenOf(t, "mallory", RoleAdmin)+`"}`, headers...)
		if in.Status != http.StatusForbidden || in.Header.Get("Set-Cookie") != "" {
			t.Errorf("signing in %s: got %d with cookie %q, want 403 and none", name, in.Status, in.Header.Get("Set-Cookie"))
		}
	}
	h.switches.mu.Lock()
	if by := h.switches.actor.By; by != "" {
		t.Errorf("a switch was turned, by %q", by)
	}
	h.switches.mu.Unlock()
	h.ask(http.MethodGet, "/api/v1/admin/switches", "", "Authorization", "", "Cookie", cookie).problem(403, domain.CodeForbidden)
	h.ask(http.MethodGet, pathOverviewStream, "", h.fromThePage("Cookie", cookie, "Sec-Fetch-Site", "same-site")...).problem(403, domain.CodeForbidden)
	if got := h.ask(http.MethodGet, "/api/v1/admin/switches", "", h.fromThePage("Cookie", cookie, "Origin", "")...); got.Status != http.StatusOK {
		t.Errorf("got %d for reading, of which browsers tell no origin; want 200", got.Status)
	}
}

func TestOnlyATokenOfAnOperatorThatIsStillGoodIsKept(t *testing.T) {
	h := newHouse(t, nil)
	buying, over := tokenOf(t, "alice", ""), signed(t, jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"sub": "boss", "role": RoleAdmin, "exp": time.Now().Add(-time.Second).Unix()})
	for body, want := range map[string]struct {
		status int
		code   domain.Code
	}{
		`{"token":"` + buying + `"}`: {403, domain.CodeForbidden},
		`{"token":"` + over + `"}`:   {401, domain.CodeUnauthenticated},
		`{"token":"x.y.z"}`:          {401, domain.CodeUnauthenticated},
		`{"code":"NOTHING"}`:         {401, domain.CodeUnauthenticated},
		`{}`:                         {422, domain.CodeInvalidRequest},
		`{"token":"a","code":"b"}`:   {422, domain.CodeInvalidRequest},
		`{"token":"` + strings.Repeat("a", 3801) + `"}`: {422, domain.CodeInvalidRequest},
	} {
		got := h.ask(http.MethodPost, "/ops/session", body, h.fromThePage()...)
		got.problem(want.status, want.code)
		if set := got.Header.Get("Set-Cookie"); set != "" {
			t.Errorf("%.40s: got cookie %q", body, set)
		}
	}
	for token, status := range map[string]int{buying: 403, over: 401, "": 401} {
		got := h.ask(http.MethodGet, "/api/v1/admin/switches", "", h.fromThePage("Cookie", sessionCookie+"="+token)...)
		if got.Status != status {
			t.Errorf("got %d for a cookie with %.8q, want %d", got.Status, token, status)
		}
	}
	boss := sessionCookie + "=" + tokenOf(t, "boss", RoleAdmin)
	for name, headers := range map[string][]string{
		"two cookies":                    h.fromThePage("Cookie", boss+"; "+boss),
		"a bearer token beside it":       h.fromThePage("Cookie", boss, "Authorization", "Bearer x.y.z"),
		"another kind of sign-in beside": h.fromThePage("Cookie", boss, "Authorization", "Basic eA=="),
	} {
		if got := h.ask(http.MethodGet, "/api/v1/admin/switches", "", headers...); got.Status != http.StatusUnauthorized {
			t.Errorf("%s: got %d, want 401", name, got.Status)
		}
	}
	if got := h.admin(http.MethodGet, "/api/v1/admin/switches", "", "Cookie", sessionCookie+"=x.y.z"); got.Status != http.StatusOK {
		t.Errorf("got %d for a bearer token beside an old cookie, want 200", got.Status)
	}
}

func TestSigningOutEndsTheCookie(t *testing.T) {
	h := newHouse(t, nil)
	got := h.ask(http.MethodDelete, "/ops/session", "", h.fromThePage()...)
	set := (&http.Response{Header: got.Header}).Cookies()
	if got.Status != http.StatusNoContent || len(set) != 1 || set[0].MaxAge >= 0 || set[0].Path != sessionPath || set[0].Value != "" {
		t.Errorf("got %d with %v, want the cookie to end", got.Status, got.Header.Values("Set-Cookie"))
	}
}

func TestALinkSignsInOnceAndNotForLong(t *testing.T) {
	now := time.Now()
	links := NewLinks(testSecret, func() time.Time { return now })
	h := newHouse(t, func(d *Deps, _ *Options) { d.Links = links })
	code := func(who string) string {
		path, code, ok := strings.Cut(links.Path(who), "#in=")
		if path != "/ops" || !ok || len(code) < 26 {
			t.Fatalf("got %s#in=%s, want an address with a code that nobody guesses", path, code)
		}
		return `{"code":"` + code + `"}`
	}
	first := code("visitor")
	_, cookie := h.signIn(t, first)
	if got := h.ask(http.MethodGet, pathSession, "", h.fromThePage("Cookie", cookie)...); !strings.Contains(got.Body, `"who":"visitor"`) {
		t.Errorf("got %d %s, want to be the visitor", got.Status, got.Body)
	}
	h.ask(http.MethodPost, "/ops/session", first, h.fromThePage()...).problem(401, domain.CodeUnauthenticated)
	late := code("visitor")
	now = now.Add(LinkFor)
	h.ask(http.MethodPost, "/ops/session", late, h.fromThePage()...).problem(401, domain.CodeUnauthenticated)
}
