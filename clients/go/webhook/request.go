package webhook

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// maxContentType is what the contract takes, in bytes.
const maxContentType = 255

// Request is a delivery as it arrived, with its body read.
type Request struct {
	Method     string
	URL        *url.URL // as the server saw it: behind a proxy without scheme and host
	Header     http.Header
	Body       []byte
	ReceivedAt time.Time
}

func timestamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }

func sum(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:]
}
