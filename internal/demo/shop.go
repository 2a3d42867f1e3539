package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Names of the delivery's headers.
const (
	headerID       = "Webhook-Id"
	headerSource   = "Webhook-Source"
	headerType     = "Webhook-Type"
	headerResource = "Webhook-Resource"
	headerVersion  = "Webhook-Version"
	headerAttempt  = "Webhook-Attempt"
)

// request is the delivery as it arrives at a consumer.
type request struct {
	event
	attempt int32 // of the provider, 1 for the first
}

// headers say about a delivery what is not in its body.
func (d *request) headers() http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	for name, value := range map[string]string{
		headerID: d.id, headerSource: d.source, headerType: d.kind, headerResource: d.resource,
		headerVersion: strconv.FormatInt(d.version, 10), headerAttempt: strconv.Itoa(int(d.attempt)),
	} {
		h.Set(name, url.PathEscape(value)) // folders and IDs may hold what a header cannot
	}
	return h
}

func readRequest(r *http.Request) (*request, error) {
	var faults []error
	get := func(name string) string {
		v, err := url.PathUnescape(r.Header.Get(name))
		if err == nil && v == "" {
			err = errors.New("is missing")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("header %s: %w", name, err))
		}
		return v
	}
	d := &request{event: event{source: get(headerSource), id: get(headerID), kind: get(headerType), resource: get(headerResource)}}
	version, err := strconv.ParseInt(get(headerVersion), 10, 64)
	faults = append(faults, err)
	attempt, err := strconv.ParseInt(get(headerAttempt), 10, 32)
	faults = append(faults, err)
	d.version, d.attempt = version, int32(attempt) //nolint:gosec // of 32 bits
	d.body, err = io.ReadAll(io.LimitReader(r.Body, maxFileBytes+1))
	return d, errors.Join(append(faults, err)...)
}

// shop is the business that both handlers do, and its way to the outside world.
type shop struct {
	db      *pgxpool.Pool
	outside string // its URL
	http    *http.Client
}

// lookUp asks the provider for more about the event, as many handlers have to.
func (s *shop) lookUp(ctx context.Context, d *request) error {
	return s.call(ctx, "lookup", d, "")
}

// email tells the customer. The key lets the other side recognise a second try; empty:
// none is sent.
func (s *shop) email(ctx context.Context, d *request, key string) error {
	return s.call(ctx, "email", d, key)
}

// charge takes the customer's money.
func (s *shop) charge(ctx context.Context, d *request, key string) error {
	return s.call(ctx, "charge", d, key)
}

func (s *shop) call(ctx context.Context, what string, d *request, key string) error {
	body, err := json.Marshal(outsideCall{Source: d.source, Event: d.id})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.outside+"/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body) // the connection is used again
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the other side answers %s", what, resp.Status)
	}
	return nil
}

const insertLedger = `INSERT INTO ledger (source, event, kind, resource, version, payload) VALUES ($1, $2, $3, $4, $5, $6)`

// book writes the event's row.
func book(ctx context.Context, tx pgx.Tx, d *request) error {
	_, err := tx.Exec(ctx, insertLedger, d.source, d.id, d.kind, d.resource, d.version, d.body)
	return err
}
