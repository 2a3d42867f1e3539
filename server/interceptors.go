package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	grpcauth "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/auth"
	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// unaryDeadline bounds a call whatever its caller says: more than the longest wait,
// less than what a proxy in between usually allows.
const unaryDeadline = 75 * time.Second

// unaryInterceptors is the walk of a unary call, outermost first.
func (c *core) unaryInterceptors() []grpc.UnaryServerInterceptor {
	return []grpc.UnaryServerInterceptor{
		c.observeUnary, // what is seen from outside is the whole call, and whatever comes of it
		recovery.UnaryServerInterceptor(c.recovery()), // a fault in anything below ends one call, not the process
		c.refuseUnary, // errors get their form, and refused calls their line in the log
		deadlineUnary, // before the first thing that can take time
		grpcauth.UnaryServerInterceptor(c.access.authorize), // before the request is looked at: a stranger learns nothing of its faults
		c.validateUnary, // last: handlers see valid requests of callers who may ask
	}
}

// streamInterceptors is the walk of a stream. A session's commands walk the rest each
// for itself; its streams have no deadline.
func (c *core) streamInterceptors(d *drain) []grpc.StreamServerInterceptor {
	return []grpc.StreamServerInterceptor{
		recovery.StreamServerInterceptor(c.recovery()),
		c.refuseStream,
		d.endStream, // watches of the health service would hold up a stop
		grpcauth.StreamServerInterceptor(c.access.authorize),
	}
}

func (c *core) recovery() recovery.Option {
	return recovery.WithRecoveryHandlerContext(func(ctx context.Context, p any) error {
		return refuse(ctx, c.log, c.panicked(ctx, p))
	})
}

// panicked logs a panic with its stack and makes an error of it.
func (c *core) panicked(ctx context.Context, p any) error {
	c.log.ErrorContext(ctx, "panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return fmt.Errorf("panic: %v", p)
}

func (c *core) refuseUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	started := time.Now()
	resp, err := next(ctx, req)
	if err == nil {
		return resp, nil
	}
	if foreign(info.FullMethod) && isStatus(err) {
		return nil, err
	}
	r := refuse(ctx, c.log, err)
	msg, _ := req.(proto.Message)
	c.tellRefusal(ctx, c.methodName(info.FullMethod), msg, r, time.Since(started))
	return nil, r
}

func (c *core) refuseStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	started := time.Now()
	err := next(srv, stream)
	if err == nil || isStatus(err) {
		return err // the transport's own words about a broken stream
	}
	r := refuse(stream.Context(), c.log, err)
	c.tellRefusal(stream.Context(), c.methodName(info.FullMethod), nil, r, time.Since(started))
	return r
}

func deadlineUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, unaryDeadline)
	defer cancel()
	return next(ctx, req)
}

func (c *core) validateUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if msg, ok := req.(proto.Message); ok {
		if err := c.valid.request(msg); err != nil {
			return nil, err
		}
	}
	return next(ctx, req)
}

// foreign reports whether the method is not the contract's: health and reflection
// answer in their own words.
func foreign(method string) bool { return !strings.HasPrefix(method, contractPrefix) }

// callOther stands for methods that the contract does not have: their names come from callers.
const callOther = "other"

// methodName is a method's name in the log and as a label.
func (c *core) methodName(full string) string {
	if _, ok := c.access.roles[full]; !ok {
		return callOther
	}
	return full[strings.LastIndexByte(full, '/')+1:]
}
