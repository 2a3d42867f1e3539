package idemsvc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// transferFormat is the version of the form below. Later ones may add to it.
const transferFormat = 1

// transfer is a claim on its way to another process.
type transfer struct {
	Format        int             `json:"format"`
	Namespace     string          `json:"namespace"`
	Consumer      string          `json:"consumer"`
	Event         json.RawMessage `json:"event"`
	Claim         json.RawMessage `json:"claim"`
	FirstTrace    string          `json:"first_delivery_trace,omitempty"`
	PreviousTrace string          `json:"previous_attempt_trace,omitempty"`
	CauseTrace    string          `json:"cause_trace,omitempty"`
}

// Serialize puts a claim into JSON, for another process that goes on with it; see
// [Client.Resume]. It holds the claim's token, which is worth a password, and neither
// payload: hand that on beside it, or fetch it.
//
// Whoever resumes the claim works under it. A queue that hands one job to two workers
// would let both work at once: put the event itself into such a queue and let the workers
// claim, which is what [Client.Process] is for.
func (c *Claim) Serialize() ([]byte, error) {
	event, claim := proto.CloneOf(c.event), proto.CloneOf(c.Claim)
	if event.GetPayload() != nil {
		event.Body = nil
	}
	claim.Payload = nil
	t := transfer{Format: transferFormat, Namespace: c.namespace, Consumer: c.consumer, FirstTrace: c.firstTrace, PreviousTrace: c.previousTrace, CauseTrace: c.causeTrace}
	var err error
	if t.Event, err = protojson.Marshal(event); err != nil {
		return nil, fmt.Errorf("idemsvc: serialize the event: %w", err)
	}
	if t.Claim, err = protojson.Marshal(claim); err != nil {
		return nil, fmt.Errorf("idemsvc: serialize the claim: %w", err)
	}
	return json.Marshal(t)
}

// Resume goes on with a claim that another process serialized. It extends the claim, which
// also revives one whose lease is over as long as nobody else has taken the event, so a
// claim that comes back is live. [ErrClaimLost] means that the event is another's now,
// [ErrAlreadyEnded] that the job was done before: both are to be dropped.
//
// From here on only one process may work under the claim.
func (c *Client) Resume(ctx context.Context, serialized []byte) (*Claim, error) {
	claim, err := c.parse(serialized)
	if err != nil {
		return nil, fmt.Errorf("idemsvc: not a serialized claim: %w", err)
	}
	if _, err := claim.Extend(ctx, 0); err != nil {
		return nil, err
	}
	return claim, nil
}

func (c *Client) parse(serialized []byte) (*Claim, error) {
	var t transfer
	if err := json.Unmarshal(serialized, &t); err != nil {
		return nil, err
	}
	if t.Format < 1 || t.Format > transferFormat {
		return nil, fmt.Errorf("format %d is not known here", t.Format)
	}
	event, claim := &pb.Event{}, &pb.Claim{}
	lenient := protojson.UnmarshalOptions{DiscardUnknown: true}
	if err := lenient.Unmarshal(t.Event, event); err != nil {
		return nil, err
	}
	if err := lenient.Unmarshal(t.Claim, claim); err != nil {
		return nil, err
	}
	if len(claim.GetToken()) == 0 {
		return nil, errors.New("there is no token in it")
	}
	return &Claim{
		Claim: claim, client: c, namespace: t.Namespace, consumer: t.Consumer, event: event, firstTrace: t.FirstTrace, previousTrace: t.PreviousTrace, causeTrace: t.CauseTrace,
	}, nil
}
