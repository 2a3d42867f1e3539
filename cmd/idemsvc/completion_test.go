package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		want  string // the first line, and the words of the others
	}{
		{nil, "words"},
		{[]string{"to"}, "words token"},
		{[]string{"token", ""}, "words create list revoke"},
		{[]string{"help", "migrate", "new"}, "words new-epoch"},
		{[]string{"token", "create", "--r"}, "words --role"},
		{[]string{"token", "create", "--role", "o"}, "words operator"},
		{[]string{"token", "create", "--role=o"}, "words --role=operator"},
		{[]string{"token", "create", "--role", "=", "o"}, "words operator"}, // as bash splits it
		{[]string{"serve", "--log-format", "="}, "words text json"},
		{[]string{"serve", "--log-format=json", "--insecure-"}, "words --insecure-non-loopback"},
		{[]string{"serve", "--ephemeral", ""}, "words"},
		{[]string{"serve", "--ephemeral=t"}, "words --ephemeral=true"},
		{[]string{"serve", "--tls-cert", ""}, "files"},
		{[]string{"serve", "--data-dir=x"}, "dirs"},
		{[]string{"serve", "--listen", ""}, "words"},
		{[]string{"completion", "z"}, "words zsh"},
		{[]string{"event", "show", "evt_1", "--js"}, "words --json"},
		{[]string{"nonsense", ""}, "words"},
	} {
		o := idemsvcRun(t, nil, append([]string{completeCommand}, c.words...)...)
		var got []string
		for line := range strings.Lines(o.stdout) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		if o.code != exitOK || strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
}

// The scripts do what they should in the shells themselves, as far as those are installed.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "idemsvc")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cert file.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const bash = `source <(idemsvc completion bash)
		try() { COMP_WORDS=(idemsvc "$@"); COMP_CWORD=$#; _idemsvc; printf '%s\n' "${COMPREPLY[@]}"; }
		try token ""; try serve --log-format = j; try serve --tls-cert cert`
	const zsh = `compdef() { }; compset() { }; _files() { print "cert file.pem"; }; _describe() { print -rl -- "${(@)found%%:*}"; }
		source <(idemsvc completion zsh)
		try() { words=(idemsvc "$@"); CURRENT=$#words; _idemsvc; }
		try token ""; try serve --log-format=j; try serve --tls-cert cert`
	const fish = `idemsvc completion fish | source
		for line in "idemsvc token " "idemsvc serve --log-format=j" "idemsvc serve --tls-cert=cert"; complete -C "$line" | string replace -r "\t.*" ""; end; true`
	for _, c := range []struct {
		shell, script string
		args          []string
		want          string
	}{
		{"bash", bash, []string{"--norc", "-c"}, "create\nlist\nrevoke\njson\ncert file.pem\n"},
		{"zsh", zsh, []string{"-f", "-c"}, "create\nlist\nrevoke\n--log-format=json\ncert file.pem\n"},
		{"fish", fish, []string{"--no-config", "-c"}, "create\nlist\nrevoke\n--log-format=json\n--tls-cert=cert file.pem\n"},
	} {
		t.Run(c.shell, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(c.shell)
			if err != nil {
				t.Skip("it is not installed")
			}
			cmd := exec.CommandContext(t.Context(), path, append(c.args, c.script)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), asProgram+"=1", "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "IDEMSVC_LOG_FORMAT=")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || string(out) != c.want {
				t.Errorf("%v\n%s\nwant\n%s\n%s", err, out, c.want, errs.String())
			}
		})
	}
}
