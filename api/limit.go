package api

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/domain"
)

// Limits says who asks too often, by who is signed in and never by an address.
type Limits interface {
	// Take counts a request of a buyer at an endpoint, one of LimitedEndpoints. It may
	// pass if wait is 0, else another one may after wait. It must answer soon,
	// whatever store is away.
	Take(ctx context.Context, endpoint, buyer string) (wait time.Duration)
	// Look shows the limits of this node, and whom any node refused.
	Look(ctx context.Context) LimitsView
}

// noLimits is used where nothing is limited.
type noLimits struct{}

func (noLimits) Take(context.Context, string, string) time.Duration { return 0 }

func (noLimits) Look(context.Context) LimitsView {
	return LimitsView{Endpoints: []EndpointLimit{}, Marked: []LimitMark{}}
}

// Endpoints with limits.
const (
	limitPurchases = "purchases"
	limitPolls     = "polls"
)

// LimitedEndpoints lists the endpoints that have limits.
func LimitedEndpoints() []string { return []string{limitPurchases, limitPolls} }

// LimitsView is what operators see of the limits of one node, and of whom all nodes
// refused.
type LimitsView struct {
	Node      string          `json:"node" doc:"Which process answers"`
	Endpoints []EndpointLimit `json:"endpoints" nullable:"false"`
	Shared    bool            `json:"shared" doc:"false: the store of limits is away, and each node holds the limits by itself"`
	AllNodes  bool            `json:"all_nodes" doc:"false: only the marks of the node that answers are known"`
	Marked    []LimitMark     `json:"marked" nullable:"false" doc:"Buyers who were refused in the last ten minutes, most refused first, by each node the most refused 200; nothing but the limit itself holds them"`
	Unlisted  int64           `json:"unlisted" doc:"Refusals at the node that answers that found no room in its list"`
}

// EndpointLimit is what one endpoint takes in a second.
type EndpointLimit struct {
	Endpoint string `json:"endpoint" enum:"purchases,polls"`
	PerBuyer int64  `json:"per_buyer" doc:"0: as many as they like"`
	PerNode  int64  `json:"per_node" doc:"Of all buyers together at one node; 0: as many as come"`
}

// LimitMark is a buyer who asked too often.
type LimitMark struct {
	BuyerID  string    `json:"buyer_id"`
	Node     string    `json:"node" doc:"Which process refused"`
	Endpoint string    `json:"endpoint" enum:"purchases,polls"`
	Refused  int64     `json:"refused" doc:"Requests refused since first_at"`
	FirstAt  time.Time `json:"first_at"`
	LastAt   time.Time `json:"last_at"`
	Until    time.Time `json:"until" doc:"When this is forgotten if nothing more is refused"`
}

// limit refuses who asks too often, with a time to come again: not before it helps,
// and not all at once.
func (s *Server) limit(c echo.Context, endpoint, buyer string) error {
	wait := s.Limits.Take(c.Request().Context(), endpoint, buyer)
	if wait <= 0 {
		return nil
	}
	r := refuse(domain.CodeRateLimited)
	r.wait = wait + rand.N(retryMost-retryLeast)
	return r
}

const pathLimits = "/api/v1/admin/limits"

const limitsDescription = "The limits of the node that answers, and the buyers whom any node refused in the last ten minutes, as it told within the last second. A mark blocks nothing: it says whom to look at."

type limitsAnswer struct {
	Body LimitsView
}

func (s *Server) showLimits(ctx context.Context, _ *struct{}) (*limitsAnswer, error) {
	return &limitsAnswer{Body: s.Limits.Look(ctx)}, nil
}

// limitsOperation describes the operators' look at the limits.
func limitsOperation() huma.Operation {
	return described(op(http.MethodGet, pathLimits, "show-limits", "Limits, and who passed them", 401, 403), limitsDescription)
}
