package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// licences is the text of the licences of everything that is compiled into the program:
// most of them ask to be handed on with it.
func licences(ctx context.Context, root string) ([]byte, error) {
	own, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	goroot, err := goOutput(ctx, root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	// One name, version and folder a line; the same for all platforms.
	listed, err := goOutput(ctx, root, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/idemsvc")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(listed, "\n")
	slices.Sort(parts)
	parts = slices.DeleteFunc(slices.Compact(parts), func(s string) bool { return s == "" })

	var b bytes.Buffer
	section := func(name string, text []byte) {
		fmt.Fprintf(&b, "==== %s\n\n%s\n\n", name, bytes.TrimSpace(text))
	}
	section("idemsvc", own)
	for _, part := range append([]string{"Go's runtime and standard library\t" + goroot}, parts...) {
		name, dir, _ := strings.Cut(part, "\t")
		texts, err := licenceFiles(dir)
		if err != nil {
			return nil, err
		}
		if len(texts) == 0 {
			return nil, fmt.Errorf("%s has no licence in %s", name, dir)
		}
		section(name, bytes.Join(texts, []byte("\n\n")))
	}
	return b.Bytes(), nil
}

// licenceFiles are the texts in the top folder of a module that say how it may be used.
func licenceFiles(dir string) ([][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICENSE") && !strings.HasPrefix(name, "NOTICE") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, bytes.TrimSpace(text))
	}
	return texts, nil
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
