package idemsvc

import (
	"context"

	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// RecordDeliveryAnswer notes what a provider was told about a delivery of up to 1000 events,
// where no completion carries it. Namespace and consumer that are empty are the client's. It
// decides nothing: the service writes it within a second, and may lose it in a crash.
//
// Servers whose features do not name "delivery_answers" answer that they do not know it.
func (c *Client) RecordDeliveryAnswer(ctx context.Context, r *pb.RecordDeliveryAnswerRequest) error {
	req := proto.CloneOf(r)
	if req.GetNamespace() == "" {
		req.Namespace = c.cfg.namespace
	}
	if req.GetConsumer() == "" {
		req.Consumer = c.cfg.consumer
	}
	_, err := c.idem.RecordDeliveryAnswer(ctx, req)
	return err
}
