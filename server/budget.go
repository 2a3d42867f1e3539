package server

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

const (
	// replyBytes is what a reply may have: a client's default limit, less what a session
	// puts around it.
	replyBytes = 4<<20 - 8<<10
	// leastItem is kept free for each item that is still to come: what the leanest
	// answer needs, with every name at its limit.
	leastItem = 3600
	// leanMessage is what a lean answer keeps of an error's message.
	leanMessage = 256
)

// budget shares the bytes of a reply among the items of a batch: whoever comes first
// may take what the rest does not need.
type budget struct {
	left int
	more int // items still to come
}

func newBudget(items int) *budget { return &budget{left: replyBytes, more: items} }

// room is what the next item may have.
func (b *budget) room() int {
	b.more--
	return b.left - b.more*leastItem
}

func (b *budget) take(n int) { b.left -= n + 8 } // with the tag and length around it

// fitClaim leaves out of an item's answer what the reply has no room for, the large
// things first, and marks what is missing.
func (b *budget) fitClaim(r *pb.ClaimItemResult) {
	room := b.room()
	for _, trim := range []func(*pb.ClaimItemResult){dropPayload, dropResults, dropTexts} {
		if proto.Size(r) <= room {
			break
		}
		trim(r)
	}
	b.take(proto.Size(r))
}

func (b *budget) fitError(e *pb.ItemError) {
	if proto.Size(e) > b.room() {
		e.Metadata = nil
	}
	b.take(proto.Size(e))
}

func dropPayload(r *pb.ClaimItemResult) {
	if c := r.GetResponse().GetClaim(); len(c.GetPayload()) > 0 {
		c.Payload, c.PayloadOmitted = nil, true
	}
}

func dropResults(r *pb.ClaimItemResult) {
	if c := r.GetResponse().GetClaim(); c != nil && len(c.GetEffects())+len(c.GetLateReports()) > 0 {
		c.Effects, c.LateReports, c.EffectsOmitted = nil, nil, true
	}
	if x := r.GetResponse().GetExisting(); len(x.GetResult()) > 0 || len(x.GetOutputs()) > 0 {
		x.Result, x.Outputs, x.ResultOmitted = nil, nil, true
	}
	if e := r.GetError(); e != nil {
		e.Metadata = nil
	}
}

func dropTexts(r *pb.ClaimItemResult) {
	if c := r.GetResponse().GetClaim(); c.GetPayloadRef() != "" {
		c.PayloadRef, c.PayloadOmitted = "", true
	}
	for _, e := range []*pb.ProcessingError{r.GetResponse().GetClaim().GetPreviousError(), r.GetResponse().GetExisting().GetError()} {
		if len(e.GetMessage()) > leanMessage {
			e.Message, e.MessageCut = cutText(e.GetMessage(), leanMessage), true
		}
	}
}
