package server

import (
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// JSON that protojson takes is taken as it is; of any other the message says nothing but
// what is wrong with it.
func FuzzJSONBody(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `[]`, `{"items":[{},{"event":{"kind":"x"}}]}`, `{"items":[null]}`, `{"items":{}}`, `{"claimant":"\ud800"}`, `{"lease":"1.5s"}`,
		`{"lease":1}`, `{"items":[{"event":{"payload":"&","payload":"YQ=="}}]}`, `{"a\n.b":1}`, "{\"claimant\":\"\xff\"}", `{"items":[{"ordering":{"version":{"sequence":"1e2"}}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, plain := &pb.ClaimEventsRequest{}, &pb.ClaimEventsRequest{}
		if err := (jsonForm{}).Unmarshal(data, msg); err != nil {
			t.Fatal(err)
		}
		marks := marksOf(msg)
		if protojson.Unmarshal(data, plain) == nil {
			if len(marks) > 0 {
				t.Errorf("refused: %+v", marks)
			}
			return
		}
		if len(marks) == 0 { // white space only: nothing is said
			if len(msg.ProtoReflect().GetUnknown()) > 0 || msg.GetClaimant() != "" {
				t.Errorf("%v", msg)
			}
			return
		}
		r := refuseMarks(marks, "items[")
		if len(marks) != 1 || r == nil || r.message == "" || !utf8.ValidString(r.text()) {
			t.Errorf("%+v: %v", marks, r)
		}
	})
}
