//go:build linux

package faults_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// sort is what an event of the inbox is like, told by its number.
type sort int64

const (
	anyOrder     sort = iota // may be worked on again when its worker vanished
	onHold                   // must not: left to a person
	latestWins               // versions of a resource of which the newest counts
	inSequence               // versions of which each counts
	performOnce              // with an operation that must not be performed twice, whatever is known of it
	performAgain             // with one that may be, until it is known to be done
	sorts
)

func (s sort) String() string {
	return [...]string{"any order", "on hold", "latest wins", "in sequence", "perform once", "perform again"}[s]
}

// fate is what the work on an event comes to, beside crashes and failures by chance.
type fate int

const (
	succeeds fate = iota
	curable       // is rejected until an operator has it run again
	rejected      // is always rejected
	failing       // fails each time
)

const (
	inboxConsumer  = "inbox"
	inboxResources = 4 // of each of the two sorts
	inboxAttempts  = 4
)

// inboxPlan says what each event is, from its number alone.
type inboxPlan struct{ campaignID }

func (p inboxPlan) sort(event int64) sort { return sort(event % int64(sorts)) }

// version is the place of an ordered event in its resource, from 1 on.
func (p inboxPlan) version(event int64) int64 { return event/int64(sorts)/inboxResources + 1 }

func (p inboxPlan) resource(event int64) string {
	return fmt.Sprintf("i%x-%d-%d", p.Seed, event%int64(sorts), event/int64(sorts)%inboxResources)
}

func (p inboxPlan) ordered(event int64) bool {
	s := p.sort(event)
	return s == latestWins || s == inSequence
}

func (p inboxPlan) fate(event int64) fate {
	s := p.sort(event)
	switch n := rand.New(rand.NewPCG(p.Seed, uint64(event))).IntN(100); { //nolint:gosec // numbers are not negative
	case n >= 12:
		return succeeds
	case n >= 6 || s == inSequence: // one that never succeeds would stop its resource
		return curable
	case n >= 3 || s == onHold: // each of its runs is to be somebody's decision
		return rejected
	default:
		return failing
	}
}

func (p inboxPlan) id(event int64) string { return fmt.Sprintf("i%x-%d", p.Seed, event) }

func numberOf(id string) int64 {
	_, text, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (p inboxPlan) ref(event int64) *pb.EventRef {
	return &pb.EventRef{Source: source, EventId: p.id(event)}
}

func (p inboxPlan) payload(event int64) string { return "payload of " + p.id(event) }

// effectKey is of the event alone for one sort, and of the namespace for the other.
func (p inboxPlan) effectKey(event int64) string {
	if p.sort(event) == performOnce {
		return "charge"
	}
	return "charge " + p.id(event)
}

// effectID names the record of the event's operation.
func (p inboxPlan) effectID(event int64) [16]byte {
	k := idem.EffectKey{Scope: idem.NamespaceScope, Namespace: namespace, Key: p.effectKey(event)}
	if p.sort(event) == performOnce {
		ref := idem.EventRef{Namespace: namespace, Source: source, EventID: p.id(event)}
		k.Scope, k.Consumer, k.Event = idem.EventScope, inboxConsumer, idem.EventKey{EventRef: ref, Consumer: inboxConsumer}.ID()
	}
	return [16]byte(k.ID())
}

// item is the event as its provider sends it.
func (p inboxPlan) item(event int64) *pb.ReceiveItem {
	item := &pb.ReceiveItem{Event: &pb.Event{
		Source: source, EventId: p.id(event), Type: p.sort(event).String(), ContentType: "text/plain",
		Body: &pb.Event_Payload{Payload: []byte(p.payload(event))},
	}}
	if p.ordered(event) {
		item.Event.Resource = &pb.Resource{Type: "thing", Id: p.resource(event)}
		item.Ordering = &pb.Ordering{Mode: pb.OrderingMode_ORDERING_MODE_LATEST_WINS, Version: &pb.Version{Value: &pb.Version_Sequence{Sequence: p.version(event)}}}
	}
	if p.sort(event) == inSequence {
		item.Ordering.Mode = pb.OrderingMode_ORDERING_MODE_SEQUENTIAL
	}
	return item
}

// policies make failures quick. Deliveries come in any order, so a sequence begins with 1,
// and waits for a version that failed until an operator has mended it.
func (p inboxPlan) policies() []*pb.Policy {
	return []*pb.Policy{
		{
			Match: &pb.PolicyMatch{Consumer: inboxConsumer}, MaxAttempts: proto.Int32(inboxAttempts),
			BackoffBase: durationpb.New(50 * time.Millisecond), BackoffCap: durationpb.New(500 * time.Millisecond),
			SequenceStart: proto.Int64(1), DeadPredecessor: pb.DeadPredecessorRule_DEAD_PREDECESSOR_RULE_WAIT,
		},
		{Match: &pb.PolicyMatch{Consumer: inboxConsumer, Type: onHold.String()}, StaleClaim: pb.StaleClaim_STALE_CLAIM_HOLD},
	}
}
