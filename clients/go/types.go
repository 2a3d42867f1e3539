package idemsvc

import (
	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// The contract's messages that callers make or read. Each is documented where it is
// defined.
type (
	// Event is the event as its sender tells it.
	Event = pb.Event
	// EventRef names an event inside a namespace.
	EventRef = pb.EventRef
	// AcquiredEvent is an event that a worker has acquired.
	AcquiredEvent = pb.AcquiredEvent
	// Resource is the thing an event is about.
	Resource = pb.Resource
	// Delivery describes one arrival of an event.
	Delivery = pb.Delivery
	// DeliveryAnswer is what the receiver told the provider.
	DeliveryAnswer = pb.DeliveryAnswer
	// Ordering asks for one event at a time about a resource, never older after newer.
	Ordering = pb.Ordering
	// Version is the state number that an event carries.
	Version = pb.Version
	// Causation says what made an event happen.
	Causation = pb.Causation
	// ClaimItem is one event of a batch.
	ClaimItem = pb.ClaimItem
	// ReceiveItem is one event of a batch of receipts.
	ReceiveItem = pb.ReceiveItem
	// Advice is what to do with a delivery.
	Advice = pb.Advice
	// ClaimOutcome says why a claim was granted or not. Treat a value that you do not know by
	// the advice.
	ClaimOutcome = pb.ClaimOutcome
	// EventState is the state of an event for one consumer.
	EventState = pb.EventState
	// SubscribeRequest says what a [Subscription] has pushed.
	SubscribeRequest = pb.SubscribeRequest
	// SessionRequest is one command of a [Session].
	SessionRequest = pb.SessionRequest
	// SessionResponse is the answer to it.
	SessionResponse = pb.SessionResponse
)

// What the advice of an answer can be.
const (
	// Process: the event is the caller's until the claim ends.
	Process = pb.Advice_ADVICE_PROCESS
	// Acknowledge: nothing is left to do for this delivery.
	Acknowledge = pb.Advice_ADVICE_ACKNOWLEDGE
	// RepeatLater: not now.
	RepeatLater = pb.Advice_ADVICE_REPEAT_LATER
)

// Sequence is a version that is a counter.
func Sequence(n int64) *Version { return &Version{Value: &pb.Version_Sequence{Sequence: n}} }

// LatestWins orders events that carry the full state: older ones are superseded.
func LatestWins(v *Version) *Ordering {
	return &Ordering{Version: v, Mode: pb.OrderingMode_ORDERING_MODE_LATEST_WINS}
}

// Signal orders events that only say that something has changed: whoever is granted one
// fetches the state and completes with what it fetched ([WithAppliedVersion]). One grant
// carries all that were received before it. v is the version that the event tells of, nil
// where it tells of none.
func Signal(v *Version) *Ordering {
	return &Ordering{Version: v, Mode: pb.OrderingMode_ORDERING_MODE_SIGNAL}
}

// Sequential orders events that carry a change: each waits for the one before it.
func Sequential(v *Version) *Ordering {
	return &Ordering{Version: v, Mode: pb.OrderingMode_ORDERING_MODE_SEQUENTIAL}
}
