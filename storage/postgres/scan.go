package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/idem"
)

func instant(t *time.Time) idem.Instant {
	if t == nil {
		return 0
	}
	return idem.InstantOf(*t)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func uuid(u *[16]byte) idem.ID {
	if u == nil {
		return idem.ID{}
	}
	return *u
}

// epochs are what turns a stored lease into the one in force: a claim of an older epoch
// gets its whole lease again from the moment when the epoch began.
type epochs struct {
	epoch   int64
	started idem.Instant
}

func (ep epochs) base() int64 { return ep.epoch << 41 }

func (ep epochs) lease(fence int64, until idem.Instant, lease time.Duration) idem.Instant {
	if until != 0 && fence < ep.base() {
		return max(until, ep.started.Add(lease))
	}
	return until
}

// scanEvent reads an event's record. With an error and a record, the row is there and
// cannot be read; the record then knows its ID.
// before takes the columns that stand before the record's.
func scanEvent(rows pgx.Rows, ep epochs, before ...any) (*idem.Event, error) {
	var (
		e                                                idem.Event
		id                                               [16]byte
		nonce                                            *[16]byte
		created                                          time.Time
		until, granted, ended, due, waitingSince, notYet *time.Time
		facts, detail                                    []byte
		leaseUS                                          int64
		state                                            int16
	)
	err := rows.Scan(append(before, &id, &created, &e.Key.Namespace, &e.Key.Consumer, &e.Key.Source, &e.Key.EventID, &facts, &e.Version, &e.Fence, &nonce,
		&until, &leaseUS, &granted, &ended, &due, &waitingSince, &notYet, &e.Total, &e.Effects, &state, &e.ByExpiry, &detail, &e.Result)...)
	if err != nil {
		return nil, err
	}
	e.Identify(id)
	e.CreatedAt = idem.InstantOf(created)
	e.Nonce = uuid(nonce)
	e.Lease = time.Duration(leaseUS) * time.Microsecond
	e.LeaseUntil = ep.lease(e.Fence, instant(until), e.Lease)
	e.GrantedAt, e.EndedAt, e.DueAt = instant(granted), instant(ended), instant(due)
	e.WaitingSince, e.NotYetSince = instant(waitingSince), instant(notYet)
	e.State = idem.State(state) //nolint:gosec // a checked column
	if err := decodeFacts(facts, &e.Facts); err != nil {
		return &e, err
	}
	err = decodeDetail(detail, &e)
	return &e, err
}

func scanResource(rows pgx.Rows) (*idem.Resource, error) {
	var (
		r                idem.Resource
		id               [16]byte
		owner, appliedBy *[16]byte
		coveredBy        *[16]byte
		kind, mode       int16
		gap              *time.Time
		machine, state   *string
	)
	err := rows.Scan(&id, &r.Key.Namespace, &r.Key.Consumer, &r.Key.Type, &r.Key.Name, &r.Version, &kind, &mode, &r.Owned, &r.Applied,
		&r.Epoch, &r.Value, &r.Start, &owner, &r.OwnerFence, &r.LaneFence, &appliedBy, &gap, &machine, &state, &r.Print, &r.Covered, &coveredBy)
	r.Kind, r.Mode = idem.VersionKind(kind), idem.Mode(mode) //nolint:gosec // written from the same types
	r.Owner, r.AppliedBy, r.CoveredBy = uuid(owner), uuid(appliedBy), uuid(coveredBy)
	r.GapSince = instant(gap)
	r.Machine, r.State = text(machine), text(state)
	return &r, err
}

func scanEffect(rows pgx.Rows) (*idem.Effect, error) {
	var (
		f               idem.Effect
		id              [16]byte
		keyEvent, event *[16]byte
		scope, state    int16
		until           *time.Time
		since           time.Time
		detail          []byte
	)
	err := rows.Scan(&id, &f.Key.Namespace, &scope, &f.Key.Consumer, &keyEvent, &f.Key.Key, &f.Version, &state, &event, &f.Fence,
		&until, &since, &f.Bytes, &detail, &f.Result)
	if err != nil {
		return nil, err
	}
	f.Key.Scope, f.State = idem.Scope(scope), idem.EffectState(state) //nolint:gosec // checked columns
	f.Key.Event, f.Event = uuid(keyEvent), uuid(event)
	f.LeaseUntil, f.Since = instant(until), idem.InstantOf(since)
	if err := decodeEffect(detail, &f); err != nil {
		return &f, err
	}
	if f.Generation == 0 {
		f.Generation = 1
	}
	return &f, nil
}

func scanAttempt(rows pgx.Rows) (idem.Attempt, error) {
	var (
		a                   idem.Attempt
		event, nonce        [16]byte
		granted, ended, due *time.Time
		detail              []byte
	)
	if err := rows.Scan(&event, &a.Fence, &nonce, &granted, &ended, &due, &detail); err != nil {
		return a, err
	}
	a.Event, a.Nonce = event, nonce
	a.GrantedAt, a.EndedAt, a.DueAt = instant(granted), instant(ended), instant(due)
	err := decodeAttempt(detail, &a)
	return a, err
}

func scanMember(rows pgx.Rows, ep epochs, now idem.Instant, policy Policies) (idem.MemberEvent, error) {
	var (
		m                      idem.MemberEvent
		e                      idem.Event
		resource, event        [16]byte
		ns, consumer, src, eid *string
		version, fence, lease  *int64
		until                  *time.Time
		state                  *int16
		byExpiry               *bool
		detail                 []byte
	)
	err := rows.Scan(&resource, &m.Epoch, &m.Value, &event, &ns, &consumer, &src, &eid, &version, &fence, &until, &lease, &state, &byExpiry, &detail)
	m.Resource, m.Event = resource, event
	if err != nil || version == nil {
		return m, err
	}
	e.Key = idem.EventKey{EventRef: idem.EventRef{Namespace: *ns, Source: *src, EventID: *eid}, Consumer: *consumer}
	e.Fence, e.Lease, e.ByExpiry = *fence, time.Duration(*lease)*time.Microsecond, *byExpiry
	e.LeaseUntil = ep.lease(e.Fence, instant(until), e.Lease)
	e.State = idem.State(*state) //nolint:gosec // a checked column
	if err := decodeDetail(detail, &e); err != nil {
		return m, err
	}
	m.Key = e.Key
	m.State = idem.Settled(&e, now, policy(e.Key, e.Facts.Type)).State
	return m, nil
}
