package server

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// What a token says is read back as it was sealed, and no kind of token passes for another.
func FuzzTokenFields(f *testing.F) {
	k := testKeys(f)
	f.Add("shop-live", "billing", []byte("0123456789abcdef"), int64(1), []byte("fedcba9876543210"))
	f.Add("a", "b", []byte(nil), int64(-1), []byte{0xff})
	f.Fuzz(func(t *testing.T, ns, consumer string, event []byte, fence int64, nonce []byte) {
		if len(ns) == 0 || len(consumer) == 0 || len(ns) > maxTokenPart || len(consumer) > maxTokenPart {
			return
		}
		tok := idem.Token{Namespace: ns, Consumer: consumer, Fence: fence}
		copy(tok.Event[:], event)
		copy(tok.Nonce[:], nonce)
		text := k.sealClaim(tok)
		if got, ok := k.openClaim(text); !ok || got != tok {
			t.Errorf("sealed %+v, read %+v, %v", tok, got, ok)
		}
		if _, ok := k.openEffect(text); ok {
			t.Error("a claim's token opens as an effect's")
		}
		fx := idem.EffectToken{Namespace: ns, Effect: tok.Event, Generation: int32(fence), Number: int32(fence >> 32), Nonce: tok.Nonce} //nolint:gosec // any bits
		text = k.sealEffect(fx)
		if got, ok := k.openEffect(text); !ok || got != fx {
			t.Errorf("sealed %+v, read %+v, %v", fx, got, ok)
		}
		if _, ok := k.openClaim(text); ok {
			t.Error("an effect's token opens as a claim's")
		}
	})
}

// What is genuinely sealed may say nonsense: it opens only where sealing what was read
// gives the same text.
func FuzzTokenBody(f *testing.F) {
	k := testKeys(f)
	for _, text := range [][]byte{
		k.sealClaim(idem.Token{Namespace: "ns", Consumer: "c", Fence: 7}),
		k.sealEffect(idem.EffectToken{Namespace: "ns", Generation: 1, Number: 2}),
	} {
		f.Add(text[1 : len(text)-macBytes])
	}
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		plain := append([]byte{tokenVersion}, body...)
		text := k.claim.seal(bytes.Clone(plain))
		if tok, ok := k.openClaim(text); ok && !bytes.Equal(k.sealClaim(tok), text) {
			t.Errorf("two texts say %+v", tok)
		}
		text = k.effect.seal(bytes.Clone(plain))
		if tok, ok := k.openEffect(text); ok && !bytes.Equal(k.sealEffect(tok), text) {
			t.Errorf("two texts say %+v", tok)
		}
	})
}

// requests are the messages that come from outside.
func requests() []proto.Message {
	return []proto.Message{
		&pb.ClaimEventRequest{}, &pb.CompleteEventRequest{}, &pb.FailEventRequest{}, &pb.ExtendClaimRequest{}, &pb.ReleaseClaimRequest{},
		&pb.CheckVersionRequest{}, &pb.RecordSideEffectRequest{}, &pb.ClaimEventsRequest{}, &pb.CompleteEventsRequest{}, &pb.SessionRequest{},
		&pb.GetEventRequest{}, &pb.GetServerInfoRequest{},
	}
}

// The codec never fails and never loses a fault: a message is as it was sent, or marked;
// and in any case it can be sent again.
func FuzzCodec(f *testing.F) {
	for i, m := range []proto.Message{
		claimOf("evt"), &pb.CompleteEventRequest{Token: []byte("t"), Result: []byte("r")},
		&pb.SessionRequest{Correlation: 7, Command: &pb.SessionRequest_ClaimEvent{ClaimEvent: claimOf("evt")}},
		&pb.ClaimEventsRequest{Namespace: "ns", Items: []*pb.ClaimItem{{Event: &pb.Event{EventId: "e"}}}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), b) //nolint:gosec // small
	}
	f.Add(uint8(0), []byte("\x0a\x02\xff\xfe"))
	f.Add(uint8(9), []byte{0x22, 0xff, 0xff})
	all := requests()
	c := newCodec()
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		kind := all[int(which)%len(all)].ProtoReflect()
		got, want := kind.New().Interface(), kind.New().Interface()
		wrong := proto.Unmarshal(data, want)
		if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(bytes.Clone(data))}, got); err != nil {
			t.Fatalf("the codec fails: %v", err)
		}
		marks := marksOf(got)
		switch {
		case wrong != nil && len(marks) == 0:
			t.Errorf("a message that cannot be read is not marked: %v", wrong)
		case wrong == nil && !proto.Equal(got, want):
			t.Errorf("read %v, sent was %v", got, want)
		}
		if _, err := proto.Marshal(got); err != nil {
			t.Errorf("what was read cannot be sent: %v", err)
		}
	})
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error) {
	b, _ := v.(*[]byte)
	return *b, nil
}
func (rawCodec) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if ok {
		*b = bytes.Clone(data)
	}
	return nil
}

// methods are the calls with one request and one reply.
var methods = func() (list []string) {
	for _, d := range []grpc.ServiceDesc{pb.IdempotencyService_ServiceDesc, pb.OperationsService_ServiceDesc} {
		for _, m := range d.Methods {
			list = append(list, "/"+d.ServiceName+"/"+m.MethodName)
		}
	}
	return list
}

// Whatever bytes a caller sends, a server is not at fault: it answers, or refuses with a
// code of the contract.
func FuzzServe(f *testing.F) {
	store := storage.New(memory.New(memory.Options{}), storage.Options{})
	srv, err := New(Config{Store: store, AllowAnonymous: true, AnonymousNamespaces: []string{"dev"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	lis := bufconn.Listen(1 << 20)
	go func() { _ = srv.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///fuzz", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = conn.Close()
		srv.Stop(context.Background())
		_ = store.Close(context.Background())
	})
	claim := &pb.ClaimEventRequest{Namespace: "dev", Consumer: "c", Claimant: "0123456789abcdef", Event: &pb.Event{Source: "s", EventId: "e"}}
	b, err := proto.Marshal(claim)
	if err != nil {
		f.Fatal(err)
	}
	list := methods()
	for i := range list {
		f.Add(uint8(i), b) //nolint:gosec // few
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		method := list[int(which)%len(list)]
		var reply []byte
		switch code := status.Code(conn.Invoke(t.Context(), method, &data, &reply)); code {
		case codes.Internal, codes.Unknown, codes.DataLoss, codes.Unavailable, codes.Aborted:
			t.Errorf("%s answers %v", method, code)
		default:
		}
	})
}
