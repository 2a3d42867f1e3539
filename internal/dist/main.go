// Command dist makes what is shipped: static programs for Linux and macOS, an OCI image
// for each Linux platform, the licences of all that is in them, and checksums.
//
// The same source, toolchain, version and time give the same bytes: nothing of the
// machine, the folder or the hour gets in.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// options say what is made.
type options struct {
	root      string // of the module
	out       string // folder for what is made
	version   string // such as 1.2.3
	created   time.Time
	platforms []platform
}

// platform is what a program runs on.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// shipped are the platforms that there are programs for.
var shipped = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

func main() {
	o := options{root: ".", platforms: shipped}
	here := false
	flag.StringVar(&o.out, "out", "dist", "`folder` to write to")
	flag.StringVar(&o.version, "version", "", "`version` that the programs tell, such as 1.2.3 (required)")
	flag.BoolVar(&here, "here", false, "for this machine's platform only")
	flag.Parse()
	if here {
		o.platforms = []platform{{runtime.GOOS, runtime.GOARCH}}
	}
	var err error
	if o.created, err = sourceDate(os.Getenv("SOURCE_DATE_EPOCH")); err == nil {
		err = run(context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// sourceDate reads the time that everything is dated with, in seconds since 1970.
func sourceDate(s string) (time.Time, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds since 1970", s)
	}
	return time.Unix(n, 0).UTC(), nil
}

// run makes everything anew.
func run(ctx context.Context, o options) error {
	if o.version == "" || strings.ContainsAny(o.version, " \t\n/'\"") {
		return fmt.Errorf("-version: %q is not a version such as 1.2.3", o.version)
	}
	if err := errors.Join(os.RemoveAll(o.out), os.MkdirAll(o.out, 0o755)); err != nil {
		return err
	}
	notices, err := licences(ctx, o.root)
	if err != nil {
		return err
	}
	made := []string{"LICENSES.txt"}
	if err := os.WriteFile(filepath.Join(o.out, made[0]), notices, 0o644); err != nil { //nolint:gosec // for everybody
		return err
	}
	for _, p := range o.platforms {
		program := "idemsvc-" + p.String()
		if err := build(ctx, o, p, filepath.Join(o.out, program)); err != nil {
			return err
		}
		made = append(made, program)
		if p.os != "linux" {
			continue
		}
		archive := program + ".oci.tar"
		if err := writeImage(filepath.Join(o.out, archive), image{
			platform: p, version: o.version, created: o.created, program: filepath.Join(o.out, program), licences: notices,
		}); err != nil {
			return err
		}
		made = append(made, archive)
	}
	return checksums(o.out, made)
}
