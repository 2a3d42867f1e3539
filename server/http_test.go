package server

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	api "github.com/idemsvc/idemsvc/api/gateway"
	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

const jsonClaim = `{"namespace":"shop-live","consumer":"billing","claimant":"%","event":{"source":"stripe","event_id":"evt_json"}}`

func jsonClaimBy(claimant string) string { return strings.Replace(jsonClaim, "%", claimant, 1) }

// The story of every event: claimed, completed, and its duplicate gets the stored result.
func TestJSONClaimCompleteDuplicate(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := f.post(t, "consumer", "/v1/events:claim", jsonClaimBy("one"))
	if a.code != 200 || a.at("outcome") != "CLAIM_OUTCOME_CLAIMED" || a.at("advice") != "ADVICE_PROCESS" || a.at("claim.attempt") != json.Number("1") {
		t.Fatalf("%+v", a)
	}
	if a.header.Get("Cache-Control") != "no-store" || len(a.header.Values("Grpc-Metadata-Content-Type")) > 0 {
		t.Errorf("%v", a.header)
	}
	token, _ := a.at("claim.token").(string)
	if _, err := base64.StdEncoding.DecodeString(token); err != nil || token == "" {
		t.Errorf("token %q: %v", token, err)
	}
	if fence, ok := a.at("claim.fence").(string); !ok || fence == "" {
		t.Errorf("the fence is no string: %v", a.at("claim.fence"))
	}
	done := f.post(t, "consumer", "/v1/events:complete", `{"token":"`+token+`","result":"aW52b2ljZS80Mg==","contentType":"text/plain"}`)
	if done.code != 200 || done.text != `{"state":"EVENT_STATE_PROCESSED"}` {
		t.Fatalf("%+v", done)
	}
	again := f.post(t, "consumer", "/v1/events:claim", jsonClaimBy("two"))
	if again.code != 200 || again.at("outcome") != "CLAIM_OUTCOME_ALREADY_PROCESSED" || again.at("existing.result") != "aW52b2ljZS80Mg==" ||
		again.at("existing.result_content_type") != "text/plain" {
		t.Errorf("%+v", again)
	}
	seen := f.post(t, "reader", "/v1/events:get", `{"namespace":"shop-live","event_id":"evt_json"}`)
	if seen.code != 200 || seen.at("events") == nil {
		t.Errorf("%+v", seen)
	}
}

// O-26: 64-bit numbers keep every digit, both ways, as strings and as numbers.
func TestO26_JSONKeepsEveryDigit(t *testing.T) {
	t.Parallel()
	f := start(t)
	check := func(id, version string) answer {
		return f.post(t, "consumer", "/v1/versions:check", `{"namespace":"shop-live","consumer":"billing","request_id":"`+id+`",
			"resource":{"type":"order","id":"42"},"version":{"sequence":`+version+`},"mode":"ORDERING_MODE_LATEST_WINS"}`)
	}
	for i, version := range []string{`"2868860079149422351"`, `2868860079149422352`, `"9223372036854775807"`} {
		if a := check("up"+string(rune('a'+i)), version); a.code != 200 || a.at("decision") != "VERSION_DECISION_APPLY" {
			t.Fatalf("%s: %+v", version, a)
		}
	}
	a := check("stale", `"2868860079149422351"`)
	if a.at("decision") != "VERSION_DECISION_STALE" || a.at("current_version.sequence") != "9223372036854775807" {
		t.Errorf("%+v", a)
	}
}

// Each item of a batch has an answer or an error for itself.
func TestJSONBatchItemsFailForThemselves(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := f.post(t, "consumer", "/v1/events:batchClaim", `{"namespace":"shop-live","consumer":"billing","claimant":"c","items":[
		{"event":{"source":"stripe","event_id":"evt_1"}},{"event":{"source":"stripe"}},{"event":{"source":"stripe","event_id":"evt_3"}}]}`)
	results, _ := a.body["results"].([]any)
	if a.code != 200 || len(results) != 3 {
		t.Fatalf("%+v", a)
	}
	for i, want := range []string{"CLAIM_OUTCOME_CLAIMED", "", "CLAIM_OUTCOME_CLAIMED"} {
		body, _ := results[i].(map[string]any)
		item := answer{body: body}
		text, _ := json.Marshal(item.body)
		if want != "" && !strings.Contains(string(text), want) || want == "" && (item.at("error.reason") != "INVALID_ARGUMENT" ||
			item.at("error.code") != json.Number("3") || item.at("error.field") != "items[1].event.event_id") {
			t.Errorf("%d: %s", i, text)
		}
	}
}

// Every method of the contract that is no stream has a path, by one rule, and the document
// describes it with its errors and its comment.
func TestEveryMethodHasAPath(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := send(t, f.httpRequest(t.Context(), t, "", http.MethodGet, "/openapi.json", ""))
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID, Summary string
			Responses            map[string]any
		}
		Security            []map[string][]string
		SecurityDefinitions map[string]map[string]string
	}
	if err := json.Unmarshal(api.OpenAPI, &doc); err != nil || a.code != 200 || a.text != strings.TrimSpace(string(api.OpenAPI)) {
		t.Fatalf("%d %v", a.code, err)
	}
	if len(doc.Security) != 1 || doc.Security[0]["bearer"] == nil || doc.SecurityDefinitions["bearer"]["name"] != "Authorization" {
		t.Errorf("%v %v", doc.Security, doc.SecurityDefinitions)
	}
	paths := map[string]string{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			paths[op.OperationID] = strings.ToUpper(method) + " " + path
			for _, code := range []string{"200", "400", "401", "403", "404", "413", "415", "429", "500", "503", "504"} {
				if op.Responses[code] == nil {
					t.Errorf("%s does not tell of %s", path, code)
				}
			}
			if op.Summary == "" {
				t.Errorf("%s has no summary", path)
			}
		}
	}
	for _, file := range []protoreflect.FileDescriptor{
		pb.File_idemsvc_v1_idempotency_service_proto, pb.File_idemsvc_v1_operations_service_proto, pb.File_idemsvc_v1_testing_service_proto,
	} {
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			for j := range s.Methods().Len() {
				m := s.Methods().Get(j)
				if got, want := paths[string(s.Name())+"_"+string(m.Name())], pathByRule(m); got != want {
					t.Errorf("%s is %q and not %q", m.FullName(), got, want)
				}
			}
		}
	}
}

// pathByRule is the path that a method has by the rule in api/gateway/http.yaml.
func pathByRule(m protoreflect.MethodDescriptor) string {
	name := string(m.Name())
	end := 1 + strings.IndexFunc(name[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' })
	verb, noun := strings.ToLower(name[:end]), strings.ToLower(name[end:end+1])+name[end+1:]
	asks := m.Input().Fields().Len() > 0
	switch {
	case m.IsStreamingClient(), m.IsStreamingServer():
		return ""
	case !asks:
		return "GET /v1/" + noun
	case noun == "clock": // there is one
	case slices.Contains([]string{"ClaimEvents", "CompleteEvents", "ReceiveEvents"}, name): // the plural of another method
		verb = "batch" + name[:end]
	case !strings.HasSuffix(noun, "s"):
		noun += "s"
	}
	return "POST /v1/" + noun + ":" + verb
}
