package inbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// What the service takes of a completion.
const (
	maxResult  = 65536
	maxType    = 255
	maxOutputs = 64
)

// Result is what the work leaves for duplicates. It is stored with the marker, so that a later
// attempt can complete the claim with it. The zero Result is none.
type Result struct {
	// Body is what duplicates are answered with, at most 65536 bytes.
	Body []byte
	// ContentType is the body's media type, at most 255 bytes.
	ContentType string
	// Outputs name business rows that were made, such as "invoice/42": the event can be found
	// by them. At most 64 of 1 to 512 bytes each.
	Outputs []string
}

func (r *Result) empty() bool { return len(r.Body) == 0 && r.ContentType == "" && len(r.Outputs) == 0 }

// check refuses what could be committed here, but never told to the service.
func (r *Result) check() error {
	switch {
	case len(r.Body) > maxResult:
		return fmt.Errorf("inbox: result.body has %d bytes, at most %d are allowed", len(r.Body), maxResult)
	case len(r.ContentType) > maxType:
		return fmt.Errorf("inbox: result.content_type has %d bytes, at most %d are allowed", len(r.ContentType), maxType)
	case !utf8.ValidString(r.ContentType) || strings.Contains(r.ContentType, "\x00"):
		return fmt.Errorf("inbox: result.content_type is not valid UTF-8 without NUL")
	case len(r.Outputs) > maxOutputs:
		return fmt.Errorf("inbox: result.outputs has %d names, at most %d are allowed", len(r.Outputs), maxOutputs)
	}
	for i, name := range r.Outputs {
		if err := checkOutput(fmt.Sprintf("result.outputs[%d]", i), name); err != nil {
			return err
		}
	}
	return nil
}

func checkOutput(field, name string) error {
	if len(name) == 0 || len(name) > maxPart || !utf8.ValidString(name) || strings.Contains(name, "\x00") {
		return fmt.Errorf("inbox: %s has to be 1 to %d bytes of valid UTF-8 without NUL", field, maxPart)
	}
	return nil
}

// outputs is the names as JSON, nil for none.
func (r *Result) outputs() any {
	if len(r.Outputs) == 0 {
		return nil
	}
	b, err := json.Marshal(r.Outputs)
	if err != nil { // a list of strings
		panic(err)
	}
	return string(b)
}

func parseOutputs(text string) (names []string, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &names)
	return names, err
}

// complete is the result as a completion says it.
func (r *Result) complete() idemsvc.CompleteOption {
	return func(req *pb.CompleteEventRequest) {
		req.Result, req.ContentType, req.Outputs = r.Body, r.ContentType, r.Outputs
	}
}
