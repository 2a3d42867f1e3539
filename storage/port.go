// Package storage is the port between the rules of idem and a place that remembers:
// one write entry that decides and stores a batch of commands, a reader, and the
// batcher that turns many callers into few batches.
//
// The rules decide, a backend stores. A backend never answers more than a durable
// commit holds, never lets a command happen in part, and never lets one bad command
// spoil its neighbours.
package storage

import (
	"context"
	"errors"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// Result is what became of one command of a batch. With an Err that is an
// [*idem.Error] the rules refused the command; any other error is the backend's, and
// says nothing about whether the command took effect: it is safe to repeat.
type Result struct {
	Answer idem.Answer
	Err    error
	TxID   int64 // of the database transaction that wrote it, as its logs name it; 0 where nothing was written or there is none
}

// Backend stores. All methods are safe for concurrent use.
type Backend interface {
	// Apply decides and stores a batch: one result for each command, in order. Each
	// command happens whole or not at all, and all that results report is durable when
	// Apply returns. Commands of a batch that share a record happen in some order; those
	// given first tend to be first.
	Apply(ctx context.Context, batch []idem.Command) []Result

	// RecordDeliveries stores records of deliveries that decided nothing; those that were
	// granted are part of their grant. A repeated record is kept once.
	RecordDeliveries(ctx context.Context, batch []Delivery) error

	// StoreReplayRun stores a run of replays if there is none of its request yet, and returns
	// the one that is stored.
	StoreReplayRun(ctx context.Context, run ReplayRun) (ReplayRun, error)

	// Take finds events that could be granted now, for whoever acquires them.
	Take(ctx context.Context, q TakeQuery) (Taken, error)

	// Rest says when events that were taken and not granted are offered again.
	Rest(ctx context.Context, list []Rest) error

	// Listen calls f when events may have become due that others have written, with what tells
	// whether they may be of a group, until the context ends. It is no more than a hint: a
	// backend that cannot tell returns at once, and f may be called too often or too late. f
	// must not call the backend.
	Listen(ctx context.Context, f func(about func(Group) bool))

	// Clock is the database's time as near as can be told without asking.
	Clock() idem.Instant

	// Secret is the key under which tokens are sealed: 32 bytes, the same for every
	// replica of one database.
	Secret(ctx context.Context) ([]byte, error)

	Reader
	Policies
}

// Reader answers questions about what is stored.
type Reader interface {
	// Events finds the records of an event for all its consumers. An empty source finds
	// it under every source, through the lookup index, whose lag is in the answer.
	Events(ctx context.Context, namespace, source, eventID string) (Found, error)
	// Facts are what the first deliveries of several events said, whichever consumers they were
	// for, of those events that are known.
	Facts(ctx context.Context, refs []idem.EventRef) (map[idem.EventRef]*idem.Facts, error)
	// Lookup finds events by a value of the given kind.
	Lookup(ctx context.Context, q Query) (Found, error)
	// List pages through events by a filter that an index serves: see [ListQuery.Way].
	List(ctx context.Context, q ListQuery) (Listed, error)
	// ReplayRun is the run that a request has begun; ok is false for none.
	ReplayRun(ctx context.Context, namespace, requestID string) (run ReplayRun, ok bool, err error)
	// Records are event records, of those IDs that have one: views without what hangs on them.
	Records(ctx context.Context, ids []idem.ID) (map[idem.ID]View, error)
	// Payload is the stored payload of an event; ok is false where none is stored.
	Payload(ctx context.Context, ref idem.EventRef) (payload []byte, ok bool, err error)
	// Payloads are the stored payloads of several events, of those that have one.
	Payloads(ctx context.Context, refs []idem.EventRef) (map[idem.EventRef][]byte, error)
	// Info describes the backend.
	Info(ctx context.Context) (Info, error)
}

// Found is a set of records and how far behind the index was that found them.
type Found struct {
	Views     []View
	Lag       time.Duration
	Truncated bool
}

// View is all that is stored about one event key.
type View struct {
	Event      *idem.Event // settled as of Now
	Now        idem.Instant
	Attempts   []idem.Attempt // earlier ones, oldest first
	Effects    []*idem.Effect
	Resources  []*idem.Resource
	LaneOwners map[idem.ID]idem.EventKey // names of the events in Resources' Owner and AppliedBy, and of those that Event names, where known
	Deliveries []Delivery                // beside the first one, which the record's facts hold; at most the newest 200
	// DeliveriesOmitted is how many there are beside these.
	DeliveriesOmitted int64

	Since   idem.Instant // since when it is in its state, as far as the list of unfinished work tells; else zero
	Damaged bool         // part of what is stored about it cannot be read; its key can
}

// Delivery is the record of one arrival, or of what its provider was told: that has Answered,
// and the arrival's request ID to find it by.
type Delivery struct {
	Event       idem.ID
	Key         idem.EventKey
	Identity    idem.ID // a repeat of the same call is the same delivery
	RequestID   string
	Kind        idem.DeliveryKind
	Attempt     int32
	Signature   idem.Signature
	Headers     []idem.Header
	ReceivedAt  int64 // nanoseconds since 1970 UTC by the receiver's clock
	PayloadHash []byte
	TraceParent string
	Disposition idem.Disposition
	Outcome     idem.Outcome
	Anomalies   []idem.Anomaly
	Answered    idem.DeliveryAnswer
	RecordedAt  idem.Instant
}

// IsAnswer reports whether the record is of what a provider was told.
func (d *Delivery) IsAnswer() bool { return d.Answered.HTTPStatus != 0 }

// QueryKind says what a lookup's value is.
type QueryKind uint8

// What events can be looked up by.
const (
	ByEventID     QueryKind = 1
	ByCorrelation QueryKind = 2
	ByRequestID   QueryKind = 3
	ByResource    QueryKind = 4 // Value is the type, Name the ID
	ByOutput      QueryKind = 5
	ByEffectKey   QueryKind = 6
	ByCause       QueryKind = 7 // Value is the cause's source, Name its event ID
)

// Query looks events up by a value.
type Query struct {
	Namespace string
	Kind      QueryKind
	Value     string
	Name      string
	Limit     int
}

// Info describes a backend.
type Info struct {
	Storage        string // "postgres" or "memory"
	Schema         int64
	RequiredSchema int64
	Now            idem.Instant
	Epoch          int64
	Lag            time.Duration // of the lookup index
	Retention      Retention
}

// Retention is what was removed because its time was over, since the store exists.
type Retention struct {
	PassedAt   idem.Instant // when all that is stored had last been looked through, 0 for never
	Events     int64        // records, each with its attempts and its own side effects
	Effects    int64        // side effects of wider scopes
	Resources  int64
	Payloads   int64 // removed one by one, before their partition went
	Partitions int64
}

// Errors of a backend, wrapped around their cause.
var (
	// ErrUnavailable: the database cannot be reached or refuses work for now.
	ErrUnavailable = errors.New("storage unavailable")
	// ErrFull: the database has no space left.
	ErrFull = errors.New("storage full")
	// ErrOverloaded: the queue is full; nothing was tried.
	ErrOverloaded = errors.New("too many commands are waiting")
	// ErrContended: the rows a command needs stayed locked by others.
	ErrContended = errors.New("rows are locked by others")
	// ErrClosed: the service is shutting down; nothing was tried.
	ErrClosed = errors.New("storage closed")
	// ErrRestored: a token carries a fence that this database has not drawn, so it is an
	// older copy of itself; an operator must begin a new epoch.
	ErrRestored = errors.New("the database is an older copy of itself")
	// ErrSchema: the database's schema is older than this program needs.
	ErrSchema = errors.New("schema outdated")
)
