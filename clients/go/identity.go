package idemsvc

import (
	"crypto/rand"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// NewClaimant is a random name for one execution of a claim call. Reuse it only to
// repeat that very call: two executions with one claimant would share one claim.
func NewClaimant() string { return rand.Text() }

// telling is the length from which a name inside a claimant is no accident.
const telling = 8

// checkIdentity refuses a claimant that names a job, an event or a host instead of one
// execution. It would work until a queue hands a job out twice: then both executions
// would be given the same claim.
func checkIdentity(req any) error {
	switch r := req.(type) {
	case *pb.ClaimEventRequest:
		return checkClaimant(r.GetClaimant(), r.GetConsumer(), r.GetEvent(), r.GetDelivery())
	case *pb.AcquireEventsRequest:
		return checkClaimant(r.GetClaimant(), r.GetConsumer(), nil, nil)
	case *pb.ClaimEventsRequest:
		for _, item := range r.GetItems() {
			d := item.GetDelivery()
			if d == nil {
				d = r.GetDelivery()
			}
			if err := checkClaimant(r.GetClaimant(), r.GetConsumer(), item.GetEvent(), d); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkClaimant(claimant, consumer string, e *pb.Event, d *pb.Delivery) error {
	for _, name := range []struct{ what, value string }{
		{"the event's ID", e.GetEventId()},
		{"the correlation ID", e.GetCorrelationId()},
		{"the delivery's request ID", d.GetRequestId()},
		{"the consumer", consumer},
		{"the host", hostname()},
	} {
		if v := name.value; v != "" && (v == claimant || len(v) >= telling && strings.Contains(claimant, v)) {
			return &Error{
				Code: codes.InvalidArgument, Reason: ErrInvalidArgument, Field: "claimant",
				Message: "the claimant names " + name.what + ": two executions with one claimant would share one claim; make one with NewClaimant for each execution",
			}
		}
	}
	return nil
}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // without it, only this check is missing
	return name
})
