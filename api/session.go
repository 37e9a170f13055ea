package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/golang-jwt/jwt/v5"
	"github.com/labstack/echo/v4"

	"seckill/api/console"
	"seckill/domain"
)

const (
	pathSignIn  = console.Path + "/session"
	pathSession = "/api/v1/admin/session"

	// sessionCookie holds the token of an operator who signed in at the console. Its
	// path is that of the routes of operators, so no other route is ever sent it.
	sessionCookie = "seckill_operator"
	sessionPath   = "/api/v1/admin"

	// headerConsole goes with all that the console asks by cookie. A page of another
	// origin cannot send it: the browser would ask us first, and nothing here says yes.
	headerConsole = "X-Seckill-Console"
)

const signInDescription = "For browsers: keeps the token of an operator in a cookie that no script reads (`HttpOnly`, `SameSite=Strict`, `Secure` where the page came by https, " +
	"with the path of the routes of operators) and that ends with the token. Send a token, or the code of an address that signs in, which is good once. " +
	"This and whatever is asked by cookie needs the header `X-Seckill-Console: 1` and comes from a page of this origin, or is 403; reading needs the header too. " +
	"A request with an Authorization header is judged by that alone."

// SignInBody is what an operator signs in with: one of both.
type SignInBody struct {
	Token string `json:"token,omitempty" minLength:"1" maxLength:"3800" doc:"A token of the role admin"`
	Code  string `json:"code,omitempty" minLength:"1" maxLength:"64" doc:"Of an address that signs in, as seckill demo prints it"`
}

// SessionView is who is signed in.
type SessionView struct {
	Who       string     `json:"who" doc:"Under this name every action is recorded"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"When the token of the cookie ends; left out without a cookie"`
}

type signInRequest struct {
	Origin string `header:"Origin" doc:"As browsers send it"`
	Body   SignInBody
}

type sessionRequest struct {
	Cookie string `cookie:"seckill_operator"`
}

type signInAnswer struct {
	Cookie string `header:"Set-Cookie"`
	Body   SessionView
}

type sessionAnswer struct {
	Body SessionView
}

// sessionRoutes are the lines of the table for signing in and out.
func (s *Server) sessionRoutes() []route {
	in := described(op(http.MethodPost, pathSignIn, "sign-in", "Sign in at the console", 401, 403), signInDescription)
	out := op(http.MethodDelete, pathSignIn, "sign-out", "Sign out of the console: the cookie ends, the token does not", 403)
	out.Responses = map[string]*huma.Response{"204": {Description: "Signed out"}}
	return []route{
		{Operation: in, body: s.consoleBody, add: typed(s.signIn)},
		{Operation: out, add: plain(s.signOut)},
		{Operation: op(http.MethodGet, pathSession, "session", "Who is signed in", 401, 403), access: admin, add: typed(s.session)},
	}
}

// consoleBody takes a body that the console sent.
func (s *Server) consoleBody(c echo.Context, asked *call) error {
	if err := s.checkedBody(false)(c, asked); err != nil {
		return err
	}
	c.Response().Header()[echo.HeaderCacheControl] = noStore
	return fromConsole(c.Request())
}

// fromConsole refuses what a page of somebody else may have made a browser send.
// Browsers tell the relation of the page to us (Sec-Fetch-Site), or at least, of
// all that changes something, whose page it is (Origin).
func fromConsole(r *http.Request) error {
	site, origin := r.Header["Sec-Fetch-Site"], r.Header["Origin"]
	good := len(r.Header[headerConsole]) == 1 && len(site) <= 1 && len(origin) <= 1
	switch {
	case len(site) == 1:
		good = good && site[0] == "same-origin"
	case len(origin) == 1:
		_, host, ok := strings.Cut(origin[0], "://")
		good = good && ok && strings.EqualFold(host, r.Host)
	default:
		good = good && r.Method == http.MethodGet
	}
	if good {
		return nil
	}
	refused := refuse(domain.CodeForbidden)
	refused.says = notTheConsole
	return refused
}

// credential gives the token that a request carries: for the routes of operators the
// one of the console's cookie too, where there is no Authorization header at all and
// the console itself asks.
func credential(r *http.Request, a access) (token string, err error) {
	if token, ok := bearer(r.Header); ok {
		return token, nil
	}
	if a != admin || len(r.Header[echo.HeaderAuthorization]) > 0 {
		return "", refuse(domain.CodeUnauthenticated)
	}
	found := r.CookiesNamed(sessionCookie)
	if len(found) != 1 || found[0].Value == "" { // of several, who knows who set which
		return "", refuse(domain.CodeUnauthenticated)
	}
	return found[0].Value, fromConsole(r)
}

// signIn puts the token of an operator into the cookie.
func (s *Server) signIn(ctx context.Context, in *signInRequest) (*signInAnswer, error) {
	token := in.Body.Token
	if (token == "") == (in.Body.Code == "") {
		return nil, wrong(domain.FieldError{Field: "token", Reason: tokenOrCode})
	}
	if in.Body.Code != "" {
		linked, ok, err := s.Links.redeem(in.Body.Code)
		if err != nil {
			return nil, err
		}
		if token = linked; !ok {
			refused := refuse(domain.CodeUnauthenticated)
			refused.says = linkOver
			return nil, refused
		}
	}
	caller, err := s.callerOf(ctx, token, admin)
	if err != nil {
		return nil, err
	}
	until, ok := endOf(token)
	if !ok {
		return nil, refuse(domain.CodeUnauthenticated)
	}
	s.Log.InfoContext(ctx, "operator signed in", "trace_id", callOf(ctx).trace, "buyer_id", caller.Buyer)
	cookie := newSession(token, strings.HasPrefix(in.Origin, "https://"))
	cookie.Expires = until
	cookie.MaxAge = max(1, int(until.Sub(s.Now()).Seconds()))
	return &signInAnswer{Cookie: cookie.String(), Body: SessionView{Who: caller.Buyer, ExpiresAt: &until}}, nil
}

// signOut ends the cookie.
func (s *Server) signOut(c echo.Context) error {
	if err := fromConsole(c.Request()); err != nil {
		return err
	}
	cookie := newSession("", strings.HasPrefix(c.Request().Header.Get(echo.HeaderOrigin), "https://"))
	cookie.MaxAge = -1
	c.SetCookie(cookie)
	return c.NoContent(http.StatusNoContent)
}

// newSession makes the cookie. Which scheme the page came by only the browser knows:
// before this process may stand one that ends TLS.
func newSession(token string, secure bool) *http.Cookie {
	return &http.Cookie{Name: sessionCookie, Value: token, Path: sessionPath, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
}

// session tells who is signed in.
func (s *Server) session(ctx context.Context, in *sessionRequest) (*sessionAnswer, error) {
	view := SessionView{Who: callOf(ctx).caller.Buyer}
	if until, ok := endOf(in.Cookie); ok {
		view.ExpiresAt = &until
	}
	return &sessionAnswer{Body: view}, nil
}

// endOf reads when a token that was verified ends.
func endOf(token string) (time.Time, bool) {
	var c claims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &c); err != nil || c.ExpiresAt == nil {
		return time.Time{}, false
	}
	return c.ExpiresAt.UTC(), true
}
