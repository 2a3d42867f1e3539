package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// What one batch of a report may hold.
const (
	reportRows  = 100
	reportBytes = 2 << 20 // below the contract's 4 MiB
)

// Reported is what a report has come to.
type Reported struct {
	// Told events are known to the service as processed now, by this report or before.
	Told int
	// Left are those that the service could not take now: another claim is running, the next
	// attempt is not due, or it is away. They are for the next report.
	Left int
	// Refused are those that it will never take as they are, such as those of a namespace that
	// the client may not use. They stay; why is in Errs.
	Refused int
	// Differs are those that the service had settled in another way, such as holding them for a
	// person: they are processed here and not there. They are reported once.
	Differs []Difference
	// Errs are why events were refused, the first of each batch.
	Errs []error
}

// Difference is an event that was processed here, and settled otherwise by the service.
type Difference struct {
	Source  string
	EventID string
	// Outcome is what the service answered to the claim.
	Outcome idemsvc.ClaimOutcome
}

// debt is a marker that is to be reported.
type debt struct {
	id      []byte
	item    *idemsvc.ClaimItem
	result  Result
	size    int
	outcome idemsvc.ClaimOutcome
}

// Report tells the service what was processed by the marker alone: it claims and completes
// each event with the stored result, in batches. Call it from time to time where
// [EnforceOrLocal] is used, and before moving from the marker alone to a higher rung. It
// needs the client of one of the options.
//
// It may be repeated, and run by several processes at once: an event that is known already is
// not counted as another attempt. An error means that the service or the database could not be
// asked; what was told until then is told.
func (b *Inbox[Tx]) Report(ctx context.Context) (Reported, error) {
	var r Reported
	if b.client == nil {
		return r, errors.New("inbox: there is no client to report with: use Observe, Enforce or EnforceOrLocal")
	}
	ctx = idemsvc.WithTrail(ctx, idemsvc.Trail{}) // the events belong to no story that runs here
	for after := []byte{}; ; {
		debts, last, err := b.debts(ctx, after)
		if err != nil || last == nil {
			return r, err
		}
		for len(debts) > 0 {
			n := fitting(debts)
			if err := b.tell(ctx, debts[:n], &r); err != nil {
				return r, err
			}
			debts = debts[n:]
		}
		after = last
	}
}

// debts are the next markers to report, and where to go on; nil if there are none.
func (b *Inbox[Tx]) debts(ctx context.Context, after []byte) (out []*debt, last []byte, err error) {
	err = b.inTx(ctx, func(tx Tx) error {
		return b.db.Query(ctx, tx, func(scan func(...any) error) error {
			var report []byte
			var outputs string
			d := &debt{item: &idemsvc.ClaimItem{}}
			if err := scan(&d.id, &report, &d.result.Body, &d.result.ContentType, &outputs); err != nil {
				return err
			}
			if d.result.Outputs, err = parseOutputs(outputs); err != nil {
				return err
			}
			if err := proto.Unmarshal(report, d.item); err != nil {
				return fmt.Errorf("column report of %x is damaged: %w", d.id, err)
			}
			d.size = len(report) + len(d.result.Body) + len(outputs)
			out, last = append(out, d), d.id
			return nil
		}, `SELECT id, report, result, content_type, coalesce(outputs::text, '') FROM `+b.table+`
WHERE report IS NOT NULL AND id > $1::bytea AND namespace = $2::text AND consumer = $3::text ORDER BY id LIMIT $4::bigint`,
			after, b.namespace, b.consumer, int64(reportRows))
	})
	if err != nil {
		return nil, nil, fmt.Errorf("inbox: look for what is to be reported: %w", err)
	}
	return out, last, nil
}

// fitting is how many of the debts go into one call.
func fitting(debts []*debt) int {
	size := 0
	for i, d := range debts {
		if size += d.size; size > reportBytes && i > 0 {
			return i
		}
	}
	return len(debts)
}

// tell claims and completes a batch.
func (b *Inbox[Tx]) tell(ctx context.Context, debts []*debt, r *Reported) error {
	items := make([]*idemsvc.ClaimItem, len(debts))
	for i, d := range debts {
		items[i] = d.item
	}
	answers, err := b.client.ClaimAll(ctx, items, idemsvc.ForNamespace(b.namespace), idemsvc.ForConsumer(b.consumer))
	if err != nil {
		return fmt.Errorf("inbox: report: %w", err)
	}
	var paid, open []*debt
	var claims []*idemsvc.Claim
	refused := false
	for i, a := range answers {
		d := debts[i]
		switch {
		case a.Err != nil:
			if _, again := idemsvc.Repeatable(a.Err); again {
				r.Left++
				continue
			}
			r.Refused++
			if !refused {
				r.Errs = append(r.Errs, fmt.Errorf("inbox: report %s/%s: %w", d.item.GetEvent().GetSource(), d.item.GetEvent().GetEventId(), a.Err))
			}
			refused = true
		case a.Advice() == idemsvc.Process:
			a.Claim.CompleteWith(d.result.complete())
			claims, open = append(claims, a.Claim), append(open, d)
		case a.Advice() != idemsvc.Acknowledge:
			r.Left++
		default:
			paid = append(paid, d)
			if a.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_ALREADY_PROCESSED {
				d.outcome = a.GetOutcome()
			}
		}
	}
	if len(claims) > 0 {
		errs, err := b.client.CompleteAll(ctx, claims)
		if err != nil {
			return errors.Join(fmt.Errorf("inbox: report: %w", err), b.pay(ctx, paid, r))
		}
		for i, err := range errs {
			if err != nil { // another one has it now, or it comes again when the lease is over
				r.Left++
				continue
			}
			paid = append(paid, open[i])
		}
	}
	return b.pay(ctx, paid, r)
}

// pay notes that the service knows.
func (b *Inbox[Tx]) pay(ctx context.Context, paid []*debt, r *Reported) error {
	if len(paid) == 0 {
		return nil
	}
	// All that report at once take the locks in one order.
	slices.SortFunc(paid, func(x, y *debt) int { return slices.Compare(x.id, y.id) })
	err := b.inTx(ctx, func(tx Tx) error {
		places, args := make([]string, len(paid)), make([]any, len(paid))
		for i, d := range paid {
			places[i], args[i] = "$"+strconv.Itoa(i+1)+"::bytea", d.id
		}
		in := strings.Join(places, ", ")
		_, err := b.db.Exec(ctx, tx, `WITH told AS MATERIALIZED (SELECT id FROM `+b.table+` WHERE id IN (`+in+`) ORDER BY id FOR UPDATE)
UPDATE `+b.table+` m SET report = NULL FROM told WHERE m.id = told.id`, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("inbox: note what was reported: %w", err)
	}
	for _, d := range paid {
		if d.outcome == 0 {
			r.Told++
			continue
		}
		r.Differs = append(r.Differs, Difference{Source: d.item.GetEvent().GetSource(), EventID: d.item.GetEvent().GetEventId(), Outcome: d.outcome})
	}
	return nil
}
