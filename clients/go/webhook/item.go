package webhook

import (
	"net/http"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// Quality says where an item's ID comes from, and so how far its sameness can be trusted.
type Quality = pb.KeyQuality

// What the quality of an ID can be.
const (
	// ProviderID is the provider's own ID, the same on every redelivery.
	ProviderID = pb.KeyQuality_KEY_QUALITY_PROVIDER_ID
	// Composite is put together from several fields, because the provider gives no ID.
	Composite = pb.KeyQuality_KEY_QUALITY_COMPOSITE
	// PayloadHash is a hash: two honest events with equal content share it.
	PayloadHash = pb.KeyQuality_KEY_QUALITY_PAYLOAD_HASH
)

// Item is one event of a request, as its provider tells it. Do not change it.
type Item struct {
	// ID is the event's. One of several parts is their list with lengths, such as
	// "4:shop2:42"; one of more than 512 bytes is a hash.
	ID string
	// Quality says where the ID comes from.
	Quality Quality
	// Type is the provider's name for the kind of event, such as "invoice.paid".
	Type string
	// Resource is the thing the event is about; nil if the provider does not say.
	Resource *idemsvc.Resource
	// OccurredAt is when it happened by the provider's clock; zero if it does not say.
	OccurredAt time.Time
	// Version is the provider's hint at the order of events about the resource; nil if there
	// is none. See [WithOrdering].
	Version *idemsvc.Version
	// Body is the event exactly as it arrived: the whole body, or its part of an array.
	Body []byte
	// ContentType is the body's.
	ContentType string
	// Fingerprint is a hash of the body without what differs between two tries; nil where
	// nothing does.
	Fingerprint []byte
	// Attempt is the provider's count of its tries, 1 for the first; 0 if it does not tell.
	Attempt int
	// Replay is set when the provider says that a person asked it to send again.
	Replay bool
	// Header is the request's.
	Header http.Header
}

// event is the item in the contract's words. The body goes along if it is to be kept.
func (i *Item) event(source string, keep bool) *idemsvc.Event {
	e := &idemsvc.Event{
		Source: source, EventId: i.ID, KeyQuality: i.Quality, Type: fitting(i.Type), Resource: i.Resource, Fingerprint: i.Fingerprint,
	}
	if len(i.ContentType) <= maxContentType {
		e.ContentType = i.ContentType
	}
	if !i.OccurredAt.IsZero() {
		e.OccurredAt = timestamp(i.OccurredAt)
	}
	if keep {
		e.Body = &pb.Event_Payload{Payload: i.Body}
	} else {
		e.PayloadHash = sum(i.Body)
	}
	return e
}

// kind is why the item arrived, as far as the provider tells.
func (i *Item) kind() pb.DeliveryKind {
	switch {
	case i.Replay:
		return pb.DeliveryKind_DELIVERY_KIND_PROVIDER_REPLAY
	case i.Attempt == 1:
		return pb.DeliveryKind_DELIVERY_KIND_PROVIDER_FIRST
	case i.Attempt > 1:
		return pb.DeliveryKind_DELIVERY_KIND_PROVIDER_RETRY
	default:
		return pb.DeliveryKind_DELIVERY_KIND_UNSPECIFIED
	}
}
