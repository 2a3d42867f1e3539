package server

import (
	"context"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// RecordDeliveryAnswer implements the contract's method.
func (s *idempotency) RecordDeliveryAnswer(ctx context.Context, req *pb.RecordDeliveryAnswerRequest) (*pb.RecordDeliveryAnswerResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	keys := make([]idem.EventKey, len(req.GetEventIds()))
	for i, id := range req.GetEventIds() {
		keys[i] = idem.EventKey{
			EventRef: idem.EventRef{Namespace: req.GetNamespace(), Source: req.GetSource(), EventID: id}, Consumer: req.GetConsumer(),
		}
	}
	s.store.RecordAnswer(keys, req.GetRequestId(), toAnswered(req.GetAnswer()))
	return &pb.RecordDeliveryAnswerResponse{}, nil
}
