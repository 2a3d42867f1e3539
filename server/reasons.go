package server

import (
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

const reasonPrefix = "ERROR_REASON_"

// reasonName is the stable name of a reason, as it stands in ErrorInfo.
func reasonName(r pb.ErrorReason) string { return strings.TrimPrefix(r.String(), reasonPrefix) }

// reasonCodes are the gRPC codes that the contract attaches to the reasons.
var reasonCodes = sync.OnceValue(func() map[pb.ErrorReason]codes.Code {
	m := map[pb.ErrorReason]codes.Code{}
	values := pb.ErrorReason(0).Descriptor().Values()
	for i := range values.Len() {
		v := values.Get(i)
		if n, ok := grpcCode(v); ok {
			m[pb.ErrorReason(v.Number())] = n
		}
	}
	return m
})

func grpcCode(v protoreflect.EnumValueDescriptor) (codes.Code, bool) {
	n, ok := proto.GetExtension(v.Options(), pb.E_GrpcCode).(int32)
	if !ok || n <= 0 || n > int32(codes.Unauthenticated) {
		return 0, false
	}
	return codes.Code(n), true //nolint:gosec // checked
}

func reasonCode(r pb.ErrorReason) codes.Code {
	if c, ok := reasonCodes()[r]; ok {
		return c
	}
	return codes.Internal
}

// reasonOf is the reason with the given stable name.
func reasonOf(name string) (pb.ErrorReason, bool) {
	n, ok := pb.ErrorReason_value[reasonPrefix+name]
	return pb.ErrorReason(n), ok && n != 0
}
