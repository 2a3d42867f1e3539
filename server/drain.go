package server

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// drain tells streams that the server is stopping: begun is closed when they should
// leave, over when they must have.
type drain struct {
	begin, end  func()
	begun, over chan struct{}
}

func newDrain() *drain {
	d := &drain{begun: make(chan struct{}), over: make(chan struct{})}
	d.begin = sync.OnceFunc(func() { close(d.begun) })
	d.end = sync.OnceFunc(func() { close(d.over) })
	return d
}

// endStream ends the context of a stream when the server stops, except for sessions,
// which say goodbye.
func (d *drain) endStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if info.FullMethod == pb.IdempotencyService_Session_FullMethodName {
		return next(srv, stream)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	go func() {
		select {
		case <-d.begun:
			cancel()
		case <-ctx.Done():
		}
	}()
	return next(srv, &streamContext{ServerStream: stream, ctx: ctx})
}

// during is the context until the server stops.
func (d *drain) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := make(chan struct{})
	go func() {
		select {
		case <-d.begun:
			cancel()
		case <-stop:
		}
	}()
	return ctx, sync.OnceFunc(func() {
		close(stop)
		cancel()
	})
}

// streamContext is a stream with another context.
type streamContext struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *streamContext) Context() context.Context { return s.ctx }
