package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The README's tour is compiled and run, and prints what the README says.
func TestTheTourOfTheREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	p := startProgram(t, "--ephemeral")
	dir := t.TempDir()
	tour := strings.ReplaceAll(fenced(t, string(readme), "go"), defaultAddress, p.addr)
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte(tour), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The program is built as if it stood where the README says, so that it finds the module.
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "cmd/tour/main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "tour")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlayFile, "-o", binary, "./cmd/tour")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary).CombinedOutput()
	if want := fenced(t, string(readme), ""); err != nil || string(out) != want {
		t.Errorf("it prints\n%s\nand not\n%s\n%v", out, want, err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) { // duplicates are recorded a moment later
		shown := idemsvcRun(t, map[string]string{"IDEMSVC_ADDRESS": p.addr}, "event", "show", "evt_123")
		first, _, _ := strings.Cut(shown.stdout, "\n")
		if strings.Contains(string(readme), "\n"+first+"\n") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the README does not have the verdict %q", first)
		}
	}
}

// fenced is the first block of a language in a Markdown text.
func fenced(t *testing.T, text, language string) string {
	t.Helper()
	inside, block := false, ""
	for line := range strings.Lines(text) {
		switch fence, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "```"); {
		case ok && !inside:
			inside, block = true, ""
			if fence != language {
				block = "other"
			}
		case ok && block != "other":
			return block
		case ok:
			inside = false
		case inside && block != "other":
			block += line
		}
	}
	t.Fatalf("there is no block of %q", language)
	return ""
}
