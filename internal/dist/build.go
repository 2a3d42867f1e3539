package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// buildFlags make a program that is the same wherever it is built.
func buildFlags(version string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.stamp=" + version}
}

// build compiles the program for a platform: static, so that it runs in an empty image.
func build(ctx context.Context, o options, p platform, target string) error {
	target, err := filepath.Abs(target)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"build"}, buildFlags(o.version), []string{"-o", target, "./cmd/idemsvc"})
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = o.root
	// What could make another program of the same source is set or taken away.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build for %s: %w", p, err)
	}
	return nil
}

// checksums writes SHA256SUMS in the form that sha256sum and shasum check.
func checksums(dir string, names []string) error {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		sum, err := sumOf(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o644) //nolint:gosec // for everybody
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
