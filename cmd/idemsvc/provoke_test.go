package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The command says what it saw, fails where a case failed, and leaves others alone.
func TestProvoke(t *testing.T) {
	t.Parallel()
	credulous := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer credulous.Close()
	vars := map[string]string{"IDEMSVC_PROVOKE_SECRET": "secret"}
	out := idemsvcRun(t, vars, "provoke", "--url", credulous.URL, "--provider", "github")
	if out.code != exitFailed || strings.Count(out.stdout, "pass  ") != 5 || !strings.Contains(out.stdout, "FAIL  forged deliveries") || strings.Contains(out.stdout+out.stderr, "secret\n") {
		t.Errorf("%+v", out)
	}
	if out := idemsvcRun(t, vars, "provoke", "--url", credulous.URL, "--provider", "github", "--json"); !strings.Contains(out.stdout, `"pass":false`) {
		t.Errorf("%+v", out)
	}
	for _, args := range [][]string{
		{"--url", "http://shop.example/hooks"},
		{},
		{"--url", credulous.URL, "--provider", "nobody"},
		{"--url", credulous.URL, "--", "/nowhere/receiver"},
		{"--url", credulous.URL, "--patience", "-1s"},
	} {
		if out := idemsvcRun(t, vars, append([]string{"provoke"}, args...)...); out.code != exitUsage {
			t.Errorf("%q: %+v", args, out)
		}
	}
}
