package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/storage"
)

// Each fault in a body is told with its field and what is wanted there, and changes
// nothing.
func TestFaultsOfJSONNameTheField(t *testing.T) {
	t.Parallel()
	f := start(t)
	const noField = "there is no such field"
	for name, c := range map[string]struct {
		path, body  string
		field, says string
	}{
		"no JSON":        {"events:claim", `{"namespace":`, "", "the body is not JSON: unexpected end of JSON input (byte 13)"},
		"two values":     {"events:claim", `{} {}`, "", "the body is not JSON: invalid character '{' after top-level value (byte 4)"},
		"a list":         {"events:claim", `[]`, "", "value must be an object"},
		"null":           {"events:claim", `null`, "", "value must be an object"},
		"unknown":        {"events:claim", `{"namespaces":"shop-live"}`, "namespaces", noField},
		"unknown below":  {"events:claim", `{"event":{"source":"s","eventID":"e"}}`, "event.eventID", noField},
		"unknown, odd":   {"events:claim", `{"a\n.b":1}`, `"a\n.b"`, noField},
		"unknown item":   {"events:batchClaim", `{"items":[{},{"event":{"kind":"x"}}]}`, "items[1].event.kind", noField},
		"twice":          {"events:claim", `{"event":{"event_id":"a","eventId":"b"}}`, "event.event_id", "the field is there twice"},
		"two of one":     {"events:claim", `{"event":{"payload":"","payload_ref":"x"}}`, "event.payload_ref", "only one of payload and payload_ref may be there"},
		"a number":       {"events:claim", `{"event":{"event_id":42}}`, "event.event_id", "value must be a string in valid UTF-8"},
		"no UTF-8":       {"events:claim", "{\"event\":{\"event_id\":\"\xff\"}}", "event.event_id", "value must be a string in valid UTF-8"},
		"half a pair":    {"events:claim", `{"event":{"event_id":"\ud800"}}`, "event.event_id", "value must be a string in valid UTF-8"},
		"no base64":      {"events:claim", `{"event":{"payload":"&"}}`, "event.payload", "value must be a string in base64"},
		"no bool":        {"events:claim", `{"want_payload":"yes"}`, "want_payload", "value must be true or false"},
		"no enum":        {"events:claim", `{"stale_claim":"MAYBE"}`, "stale_claim", "value must be one of STALE_CLAIM_"},
		"no duration":    {"events:claim", `{"lease":60}`, "lease", `value must be a duration in seconds, such as "1.5s"`},
		"no time":        {"events:claim", `{"event":{"occurred_at":"today"}}`, "event.occurred_at", `value must be a time such as "2026-01-02T15:04:05Z"`},
		"no list":        {"events:batchClaim", `{"items":{}}`, "items", "value must be a list"},
		"no object":      {"events:claim", `{"event":"evt"}`, "event", "value must be an object"},
		"a fraction":     {"versions:check", `{"version":{"sequence":1.5}}`, "version.sequence", "value must be a whole number from -9223372036854775808 to 9223372036854775807"},
		"64 bits, more":  {"versions:check", `{"version":{"sequence":"9223372036854775808"}}`, "version.sequence", "value must be a whole number"},
		"a null item":    {"events:batchClaim", `{"items":[null]}`, "items[0]", "value must be an object"},
		"not filled":     {"events:claim", ``, "namespace", "must be at least 1 bytes"},
		"too long":       {"events:claim", `{"namespace":"` + strings.Repeat("x", 513) + `"}`, "namespace", "512"},
		"white space":    {"events:claim", strings.Replace(jsonClaimBy("c"), "evt_json", "  ", 1), "event.event_id", "value must not be only white space"},
		"an old unknown": {"events:complete", `{"tokenn":"x"}`, "tokenn", noField},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := f.post(t, "consumer", "/v1/"+c.path, c.body)
			said, _ := a.at("message").(string)
			field, _ := a.field().(string)
			if a.code != 400 || a.at("code") != json.Number("3") || a.reason() != "INVALID_ARGUMENT" || field != c.field ||
				!strings.Contains(said, c.says) || !strings.HasPrefix(said, c.field) {
				t.Errorf("%d %s", a.code, a.text)
			}
			if !strings.Contains(f.log.String(), `"error_reason":"INVALID_ARGUMENT"`) {
				t.Error("the log does not tell of it")
			}
		})
	}
}

// What a request is told before it is a call.
func TestRequestsThatAreNoCalls(t *testing.T) {
	t.Parallel()
	f := start(t)
	const claim = "/v1/events:claim"
	for name, c := range map[string]struct {
		method, path, body string
		header             [2]string
		code               int
		reason, allow      string
	}{
		"no such path":    {"POST", "/v1/events:guess", `{}`, [2]string{}, 404, "UNIMPLEMENTED", ""},
		"the stream":      {"POST", "/v1/session", `{}`, [2]string{}, 404, "UNIMPLEMENTED", ""},
		"no test clock":   {"GET", "/v1/clock", ``, [2]string{}, 404, "UNIMPLEMENTED", ""},
		"wrong method":    {"GET", claim, ``, [2]string{}, 405, "UNIMPLEMENTED", "POST"},
		"override":        {"POST", "/v1/serverInfo", ``, [2]string{"X-Http-Method-Override", "GET"}, 405, "UNIMPLEMENTED", "GET"},
		"of the document": {"POST", "/openapi.json", ``, [2]string{}, 405, "UNIMPLEMENTED", "GET"},
		"a form":          {"POST", claim, `namespace=x`, [2]string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "INVALID_ARGUMENT", ""},
		"text":            {"POST", claim, `{}`, [2]string{"Content-Type", "text/plain"}, 415, "INVALID_ARGUMENT", ""},
		"another charset": {"POST", claim, `{}`, [2]string{"Content-Type", "application/json; charset=latin1"}, 415, "INVALID_ARGUMENT", ""},
		"compressed":      {"POST", claim, `{}`, [2]string{"Content-Encoding", "gzip"}, 415, "INVALID_ARGUMENT", ""},
		"parameters":      {"POST", claim + "?namespace=x", `{}`, [2]string{}, 400, "INVALID_ARGUMENT", ""},
		"no timeout":      {"POST", claim, `{}`, [2]string{"Grpc-Timeout", "soon"}, 400, "INVALID_ARGUMENT", ""},
		"a negative one":  {"POST", claim, `{}`, [2]string{"Grpc-Timeout", "-5S"}, 400, "INVALID_ARGUMENT", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := f.httpRequest(t.Context(), t, "consumer", c.method, c.path, c.body)
			if c.header[0] != "" {
				r.Header.Set(c.header[0], c.header[1])
			}
			if a := send(t, r); a.code != c.code || a.reason() != c.reason || a.header.Get("Allow") != c.allow {
				t.Errorf("%d %v %s", a.code, a.header, a.text)
			}
		})
	}
	if a := f.post(t, "consumer", claim, jsonClaimBy("c")); a.at("outcome") != "CLAIM_OUTCOME_CLAIMED" {
		t.Errorf("%s", a.text)
	}
}

// A refusal over HTTP is the one over gRPC, word for word, with the HTTP status of its
// code. What may not be told is told to nobody on either road.
func TestRefusalsAreThoseOfGRPC(t *testing.T) {
	t.Parallel()
	f := start(t)
	ended := f.claimed(t, "evt_ended").GetToken()
	if _, err := f.client(t, "consumer").ReleaseClaim(t.Context(), &pb.ReleaseClaimRequest{Token: ended}); err != nil {
		t.Fatal(err)
	}
	foreign := claimOf("evt_x")
	foreign.Namespace = "other-live"
	blank := claimOf("evt_x")
	blank.Event.Source = "\t"
	for name, c := range map[string]struct {
		caller, path, method string
		req                  proto.Message
		code                 int
		reason               string
	}{
		"no token":          {"", "events:claim", "IdempotencyService/ClaimEvent", claimOf("e"), 401, "UNAUTHENTICATED"},
		"a wrong one":       {"idk_no", "events:claim", "IdempotencyService/ClaimEvent", claimOf("e"), 401, "UNAUTHENTICATED"},
		"a role":            {"reader", "events:claim", "IdempotencyService/ClaimEvent", claimOf("e"), 403, "PERMISSION_DENIED"},
		"another namespace": {"consumer", "events:claim", "IdempotencyService/ClaimEvent", foreign, 403, "UNKNOWN_NAMESPACE"},
		"a blank name":      {"consumer", "events:claim", "IdempotencyService/ClaimEvent", blank, 400, "INVALID_ARGUMENT"},
		"an ended claim":    {"consumer", "events:complete", "IdempotencyService/CompleteEvent", &pb.CompleteEventRequest{Token: ended}, 400, "ALREADY_ENDED"},
		"another's token":   {"other", "claims:extend", "IdempotencyService/ExtendClaim", &pb.ExtendClaimRequest{Token: ended}, 400, "INVALID_TOKEN"},
		"not found":         {"reader", "events:get", "OperationsService/GetEvent", &pb.GetEventRequest{Namespace: shop, EventId: "none"}, 404, "NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := protojson.Marshal(c.req)
			if err != nil {
				t.Fatal(err)
			}
			a := f.post(t, c.caller, "/v1/"+c.path, string(body))
			err = f.conn(t, c.caller).Invoke(t.Context(), "/idemsvc.v1."+c.method, c.req, &pb.ClaimEventResponse{})
			want, merr := jsonForm{}.Marshal(status.Convert(err).Proto())
			if merr != nil {
				t.Fatal(merr)
			}
			if a.code != c.code || a.reason() != c.reason || a.text != strings.TrimSpace(string(want)) {
				t.Errorf("%d %s\nand over gRPC\n%s", a.code, a.text, want)
			}
			if asks := a.header.Get("WWW-Authenticate"); (asks == "Bearer") != (c.code == 401) {
				t.Errorf("WWW-Authenticate: %q", asks)
			}
		})
	}
	// A stranger is told nothing about the body, which is not read.
	if a := f.post(t, "", "/v1/events:claim", `{"nonsense":`); a.reason() != "UNAUTHENTICATED" {
		t.Errorf("%s", a.text)
	}
	never, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.jsonURL(t)+"/v1/events:claim", neverRead{})
	if err != nil {
		t.Fatal(err)
	}
	never.Header.Set("Content-Type", "application/json")
	never.Header.Set("Expect", "100-continue")
	if a := send(t, never); a.reason() != "UNAUTHENTICATED" {
		t.Errorf("%s", a.text)
	}
	if a := f.post(t, "idk_\u00fc", "/v1/events:claim", `{}`); a.code != 401 {
		t.Errorf("%s", a.text)
	}
}

// neverRead is a body that nobody may ask for.
type neverRead struct{}

func (neverRead) Read([]byte) (int, error) { return 0, errTest }

func TestTheJSONOfARefusal(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := f.post(t, "consumer", "/v1/claims:extend", `{"token":"AAAA","lease":"0.5s"}`)
	const want = `{"code":3,"message":"lease: must be greater than or equal to 1s and less than or equal to 43200s","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_ARGUMENT","domain":"idemsvc"},` +
		`{"@type":"type.googleapis.com/google.rpc.BadRequest","field_violations":[{"field":"lease","description":"must be greater than or equal to 1s and less than or equal to 43200s","reason":"INVALID_ARGUMENT"}]}]}`
	if a.code != 400 || a.text != want {
		t.Errorf("%d %s", a.code, a.text)
	}
}

// Faults of storage have their HTTP status, and say when to come again.
func TestFaultsOfStorageOverHTTP(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]struct {
		code          int
		reason, retry string
	}{
		storage.ErrUnavailable: {503, "UNAVAILABLE", "1"}, storage.ErrFull: {503, "STORAGE_FULL", "30"}, storage.ErrSchema: {503, "SCHEMA_OUTDATED", "10"},
		storage.ErrOverloaded: {429, "OVERLOADED", "1"}, storage.ErrContended: {503, "UNAVAILABLE", "1"}, errTest: {500, "INTERNAL", ""},
	} {
		t.Run(err.Error(), func(t *testing.T) {
			t.Parallel()
			f := start(t)
			f.claimed(t, "warm")
			f.backend.fail(fmt.Errorf("%w: %w", err, errTest))
			a := f.post(t, "consumer", "/v1/events:claim", jsonClaimBy("c"))
			if a.code != want.code || a.reason() != want.reason || a.header.Get("Retry-After") != want.retry || strings.Contains(a.text, "hunter2") {
				t.Errorf("%d %v %s", a.code, a.header, a.text)
			}
			if (a.detail("RetryInfo") != nil) != (want.retry != "") {
				t.Errorf("%s", a.text)
			}
		})
	}
}

func TestTooLargeOverHTTP(t *testing.T) {
	t.Parallel()
	f := start(t)
	body := func(bytes int) string {
		return strings.Replace(jsonClaimBy("c"), `"event"`, `"stale_claim":"`+strings.Repeat("A", bytes)+`","event"`, 1)
	}
	items := `{"namespace":"shop-live","consumer":"billing","claimant":"c","items":[` + strings.TrimSuffix(
		strings.Repeat(`{"event":{"source":"s","event_id":"e","payload":"`+strings.Repeat("AAAA", 300_000)+`"}},`, 5), ",") + `]}`
	for name, c := range map[string]struct{ path, body, says string }{
		"the body":    {"events:claim", body(MaxBodyBytes), "the body is larger than 8388608 bytes"},
		"its meaning": {"events:batchClaim", items, "the message is larger than 4194304 bytes"},
	} {
		a := f.post(t, "consumer", "/v1/"+c.path, c.body)
		if a.code != http.StatusRequestEntityTooLarge || a.reason() != "TOO_LARGE" || a.at("message") != c.says {
			t.Errorf("%s: %d %s", name, a.code, a.text)
		}
	}
	// A payload of the size that is allowed fits.
	full := strings.Replace(jsonClaimBy("c"), `"event_id"`, `"payload":"`+strings.Repeat("AAAA", (1<<20)/3)+`","event_id"`, 1)
	if a := f.post(t, "consumer", "/v1/events:claim", full); a.code != 200 {
		t.Errorf("%d %s", a.code, a.text)
	}
}
