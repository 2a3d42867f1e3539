package server

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that is wrapped
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

const (
	// MaxMessageBytes is the largest request that is read.
	MaxMessageBytes = 4 << 20
	// transportBytes is the largest message that the transport takes in, so that a
	// request between the two is refused with a reason instead of a repeatable code.
	transportBytes = 16 << 20
	// headerBytes is the most that a call's metadata may have.
	headerBytes = 64 << 10
	// sessionFrame is what a session puts around a command.
	sessionFrame = 64
)

// codec reads messages so that bad ones reach the validation, marked, instead of
// ending as an internal error of the transport.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	msg, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if data.Len() > maxBytes(msg) {
		_ = proto.Unmarshal(scalars(data.Materialize()), msg) // its numbers are wanted, not its validity
		setMarks(msg, []mark{{kind: markTooLarge}})
		return nil
	}
	if c.CodecV2.Unmarshal(data, v) != nil {
		salvage(data.Materialize(), msg)
	}
	if data.Len() > MaxMessageBytes && tooLarge(msg) {
		setMarks(msg, []mark{{kind: markTooLarge}})
	}
	return nil
}

// tooLarge reports whether the command inside a session's frame is over the limit.
func tooLarge(frame proto.Message) bool {
	m := frame.ProtoReflect()
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("command"))
	return fd != nil && proto.Size(m.Get(fd).Message().Interface()) > MaxMessageBytes
}

func maxBytes(msg proto.Message) int {
	if _, ok := msg.(*pb.SessionRequest); ok {
		return MaxMessageBytes + sessionFrame
	}
	return MaxMessageBytes
}

// salvage reads what can be read of a message that was refused: texts that are not
// UTF-8 are replaced and marked, so that the rest of the message still says which call
// is refused.
func salvage(data []byte, msg proto.Message) {
	s := scan{}
	s.message(data, descriptorOf(msg), "", 0)
	proto.Reset(msg)
	if len(s.found) == 0 || proto.Unmarshal(data, msg) != nil {
		proto.Reset(msg)
		_ = proto.Unmarshal(scalars(data), msg)
		setMarks(msg, []mark{{kind: markMalformed}})
		return
	}
	setMarks(msg, s.found)
}

// scalars are the fields of the outermost message that are plain numbers.
func scalars(data []byte) []byte {
	var out []byte
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return out
		}
		size := protowire.ConsumeFieldValue(num, typ, data[n:])
		if size < 0 {
			return out
		}
		if typ == protowire.VarintType {
			out = append(out, data[:n+size]...)
		}
		data = data[n+size:]
	}
	return out
}
