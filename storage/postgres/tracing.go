package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Trace gives the pool's statements spans below a span that is recorded: round trips of
// batches and single statements, without their text and parameters. Work that nobody records
// gets none.
func Trace(c *pgxpool.Config, p trace.TracerProvider) {
	c.ConnConfig.Tracer = &tracer{
		tracer: p.Tracer("github.com/idemsvc/idemsvc/storage/postgres"),
		about: trace.WithAttributes(
			attribute.String("db.system.name", "postgresql"), attribute.String("db.namespace", c.ConnConfig.Database),
			attribute.String("server.address", c.ConnConfig.Host), attribute.Int("server.port", int(c.ConnConfig.Port)),
		),
	}
}

type tracer struct {
	tracer trace.Tracer
	about  trace.SpanStartEventOption
}

var (
	_ pgx.BatchTracer = (*tracer)(nil)
	_ pgx.QueryTracer = (*tracer)(nil)
)

// statementKey holds the span of a statement or batch.
type statementKey struct{}

func (t *tracer) start(ctx context.Context, name string, more ...attribute.KeyValue) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	_, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), t.about, trace.WithAttributes(more...))
	return context.WithValue(ctx, statementKey{}, span)
}

func (t *tracer) end(ctx context.Context, err error) {
	span, ok := ctx.Value(statementKey{}).(trace.Span)
	if !ok {
		return
	}
	if err != nil {
		span.SetStatus(codes.Error, "") // its text may show what was stored
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
			span.SetAttributes(attribute.String("db.response.status_code", pg.Code), attribute.String("error.type", pg.Code))
		} else {
			span.SetAttributes(attribute.String("error.type", "connection"))
		}
	}
	span.End()
}

// TraceBatchStart implements pgx.BatchTracer.
func (t *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return t.start(ctx, "BATCH", attribute.String("db.operation.name", "BATCH"), attribute.Int("db.operation.batch.size", data.Batch.Len()))
}

// TraceBatchQuery implements pgx.BatchTracer.
func (t *tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (t *tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	t.end(ctx, data.Err)
}

// TraceQueryStart implements pgx.QueryTracer.
func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	name, _, _ := strings.Cut(strings.TrimSpace(data.SQL), " ")
	name = strings.ToUpper(name)
	return t.start(ctx, name, attribute.String("db.operation.name", name))
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	t.end(ctx, data.Err)
}
