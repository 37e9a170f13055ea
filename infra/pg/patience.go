package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds, from this side, how long a statement is waited for: PostgreSQL
// ends what takes longer than the statement timeout by itself, so a server that has
// said nothing for graceBeyond more hangs, or what is between here and there does.
// Without it a caller whose context has no end would wait for as long.
type patience struct{ within time.Duration }

// graceBeyond is what an answer may take beyond the statement timeout.
const graceBeyond = 2 * time.Second

type (
	patienceKey struct{} // of the cancel function of a statement that runs
	patientKey  struct{} // of a context that waits as long as it takes
)

// Patient gives a context whose statements are waited for as long as they take: for
// those that lift their own statement timeout.
func Patient(ctx context.Context) context.Context {
	return context.WithValue(ctx, patientKey{}, true)
}

func (p patience) start(ctx context.Context) context.Context {
	if ctx.Value(patientKey{}) != nil {
		return ctx
	}
	end := time.Now().Add(p.within + graceBeyond)
	if at, ok := ctx.Deadline(); ok && at.Before(end) {
		if ctx.Value(patienceKey{}) != nil { // within another one, which alone ends it
			return context.WithValue(ctx, patienceKey{}, nil)
		}
		return ctx
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	return context.WithValue(ctx, patienceKey{}, cancel)
}

func (p patience) end(ctx context.Context) {
	if cancel, ok := ctx.Value(patienceKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

// TraceQueryStart begins to wait for a statement.
func (p patience) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return p.start(ctx)
}

// TraceQueryEnd has its answer.
func (p patience) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	p.end(ctx)
}

// TraceBatchStart begins to wait for statements that were sent together.
func (p patience) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return p.start(ctx)
}

// TraceBatchQuery is called for each of them.
func (p patience) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd has all answers.
func (p patience) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	p.end(ctx)
}

// TracePrepareStart begins to wait for a statement that is prepared by itself, as one
// is when a connection is made: a pool makes those without any deadline, and has only
// so many places for them.
func (p patience) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return p.start(ctx)
}

// TracePrepareEnd has its answer.
func (p patience) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareEndData) {
	p.end(ctx)
}

// TraceCopyFromStart begins to wait for rows that are copied in.
func (p patience) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return p.start(ctx)
}

// TraceCopyFromEnd has their answer.
func (p patience) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromEndData) {
	p.end(ctx)
}
