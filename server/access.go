package server

import (
	"context"
	"strings"
	"sync"
	"time"

	grpcauth "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/auth"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/server/auth"
)

// healthPrefix begins the methods that need no token: probes have none.
const healthPrefix = "/grpc.health.v1.Health/"

// contractPrefix begins the methods of the contract.
const contractPrefix = "/idemsvc.v1."

// access says who calls, and whether he may.
type access struct {
	table     *auth.Table    // nil: everybody is the anonymous one
	anonymous *auth.Identity // nil: tokens only
	roles     map[string]pb.Role
}

// methodRoles are the roles that the contract states, by full method name. A method
// without one is refused to everybody.
var methodRoles = sync.OnceValue(func() map[string]pb.Role {
	roles := map[string]pb.Role{}
	for _, f := range []protoreflect.FileDescriptor{
		pb.File_idemsvc_v1_idempotency_service_proto, pb.File_idemsvc_v1_operations_service_proto, pb.File_idemsvc_v1_testing_service_proto,
	} {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				m := s.Methods().Get(j)
				r, _ := proto.GetExtension(m.Options(), pb.E_RequiredRole).(pb.Role)
				roles["/"+string(s.FullName())+"/"+string(m.Name())] = r
			}
		}
	}
	return roles
})

type identityKey struct{}

func withIdentity(ctx context.Context, id *auth.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// identityOf is the caller. Every method but the health checks has one.
func identityOf(ctx context.Context) *auth.Identity {
	id, _ := ctx.Value(identityKey{}).(*auth.Identity)
	return id
}

// authorize finds out who calls and whether the role allows the method. It is the
// function of the auth interceptor.
func (a *access) authorize(ctx context.Context) (context.Context, error) {
	method, _ := grpc.Method(ctx)
	if strings.HasPrefix(method, healthPrefix) {
		return ctx, nil
	}
	id, err := a.identify(ctx)
	if err != nil {
		return nil, err
	}
	return a.admit(ctx, id, method)
}

// admit lets a caller in whose role allows the method.
func (a *access) admit(ctx context.Context, id *auth.Identity, method string) (context.Context, error) {
	need, ours := a.roles[method]
	if !ours {
		need = pb.Role_ROLE_ANY // reflection, and what nobody serves, such as methods of a later contract
	}
	if !allows(id.Role(), need) {
		return nil, &refusal{
			reason: pb.ErrorReason_ERROR_REASON_PERMISSION_DENIED, message: "the token's role does not allow " + printable(method),
		}
	}
	return withIdentity(ctx, id), nil
}

// identify finds out who calls.
func (a *access) identify(ctx context.Context) (*auth.Identity, error) {
	if a.anonymous != nil {
		return a.anonymous, nil
	}
	token, err := grpcauth.AuthFromMD(ctx, "bearer")
	if err == nil {
		if id, ok := a.table.Identify(token, time.Now()); ok {
			return id, nil
		}
	}
	return nil, &refusal{
		reason: pb.ErrorReason_ERROR_REASON_UNAUTHENTICATED, message: "the bearer token is missing, unknown or expired",
	}
}

func allows(have auth.Role, need pb.Role) bool {
	switch need {
	case pb.Role_ROLE_ANY:
		return true
	case pb.Role_ROLE_CONSUMER:
		return have.Includes(auth.Consumer)
	case pb.Role_ROLE_READER:
		return have.Includes(auth.Reader)
	case pb.Role_ROLE_OPERATOR:
		return have.Includes(auth.Operator)
	case pb.Role_ROLE_ADMIN:
		return have.Includes(auth.Admin)
	default:
		return false
	}
}

// enter refuses a namespace that the caller's token does not name.
func enter(ctx context.Context, namespace, field string) error {
	if id := identityOf(ctx); id != nil && id.May(namespace) {
		return nil
	}
	return refused(pb.ErrorReason_ERROR_REASON_UNKNOWN_NAMESPACE, field, "the token does not name this namespace")
}
