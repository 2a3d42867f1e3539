package server

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// features are what a client may ask for before it uses it.
var features = []string{
	"acquire", "backfill", "batch", "consequences", "delivery_answers", "list", "ordering", "policies", "receive", "receive_batch", "replay", "resolve", "session", "side_effects", "signal", "stuck_after", "subscribe", "wait",
}

// operations serves people and their tools.
type operations struct {
	pb.UnimplementedOperationsServiceServer
	*core
	version  string
	features []string
	replays  *limiter
}

// GetEvent implements the contract's method.
func (s *operations) GetEvent(ctx context.Context, req *pb.GetEventRequest) (*pb.GetEventResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	found, err := s.store.Events(ctx, req.GetNamespace(), req.GetSource(), req.GetEventId())
	if err != nil {
		return nil, err
	}
	if len(found.Views) == 0 {
		return nil, &refusal{reason: pb.ErrorReason_ERROR_REASON_NOT_FOUND, message: "no such event"}
	}
	p := newPage(ctx, s.core, req)
	p.add(found.Views)
	p.resp.IndexLag = durationpb.New(found.Lag)
	p.resp.Truncated = p.resp.Truncated || found.Truncated
	return p.resp, nil
}

// GetServerInfo implements the contract's method.
func (s *operations) GetServerInfo(ctx context.Context, _ *pb.GetServerInfoRequest) (*pb.GetServerInfoResponse, error) {
	info, err := s.store.Info(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.GetServerInfoResponse{
		Version: s.version, SchemaVersion: info.Schema, RequiredSchemaVersion: info.RequiredSchema, Limits: limits(),
		Features: s.features, DatabaseTime: instant(info.Now), Epoch: info.Epoch, Storage: info.Storage,
		Retention: &pb.RetentionInfo{
			PassedAt: instant(info.Retention.PassedAt), Events: info.Retention.Events, Effects: info.Retention.Effects,
			Resources: info.Retention.Resources, Payloads: info.Retention.Payloads, Partitions: info.Retention.Partitions,
		},
	}, nil
}

// limits are those that the protos state and this package enforces.
func limits() *pb.Limits {
	return &pb.Limits{
		MaxKeyPartBytes: maxTokenPart, MaxIdentityBytes: 128, MaxPayloadBytes: 1 << 20, MaxResultBytes: 64 << 10,
		MaxMessageBytes: MaxMessageBytes, MaxBatchItems: 1000, MaxErrorMessageBytes: maxErrorMessage, MaxHeaders: 64, MaxOutputs: 64,
		MaxEffects: idem.MaxEffects, MaxEffectBytes: idem.MaxEffectBytes, MaxEffectIntentBytes: 4096,
		MinLease: durationpb.New(idem.MinLease), MaxLease: durationpb.New(idem.MaxLeaseCeiling), MaxWait: durationpb.New(maxWait),
		MaxRetryAfter: durationpb.New(30 * 24 * 60 * 60 * 1e9),
	}
}
