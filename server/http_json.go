package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonForm is how messages are written and read as JSON: protobuf's mapping with the
// contract's names, strict about what it reads.
type jsonForm struct{}

var errNoMessage = errors.New("only messages have a JSON form")

// ContentType implements runtime.Marshaler.
func (jsonForm) ContentType(any) string { return "application/json" }

// Marshal implements runtime.Marshaler. White space, which protojson leaves to chance, is
// taken out.
func (jsonForm) Marshal(v any) ([]byte, error) {
	msg, ok := v.(proto.Message)
	if !ok {
		return nil, errNoMessage
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(msg)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// Unmarshal implements runtime.Marshaler. What is wrong with the text is marked in the
// message, as the codec does it: the call then refuses it, to whom it may concern.
func (jsonForm) Unmarshal(data []byte, v any) error {
	msg, ok := v.(proto.Message)
	switch {
	case !ok:
		return errNoMessage
	case len(data) > MaxBodyBytes:
		setMarks(msg, []mark{{kind: markBody}})
		return nil
	case len(bytes.TrimSpace(data)) == 0: // nothing is said, and what is needed will be missed
		return nil
	}
	err := protojson.Unmarshal(data, msg)
	if err == nil {
		return nil
	}
	proto.Reset(msg)
	path, text := findFault(data, msg.ProtoReflect().New(), err)
	setMarks(msg, []mark{{kind: markJSON, path: path, text: text}})
	return nil
}

// NewDecoder implements runtime.Marshaler.
func (f jsonForm) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return f.Unmarshal(data, v)
	})
}

// NewEncoder implements runtime.Marshaler.
func (f jsonForm) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		text, err := f.Marshal(v)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
}
