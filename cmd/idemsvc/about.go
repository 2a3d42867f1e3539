package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/idemsvc/idemsvc/storage/postgres"
)

func (c *cli) aboutCommands() []command {
	return []command{
		{
			name: "settings", brief: "Print the settings of «serve» as a Markdown table",
			prepare: func() (settings, action) {
				asJSON := false
				return settings{jsonFlag(&asJSON)}, func(_ context.Context, args []string) error {
					if err := noArguments(args); err != nil {
						return err
					}
					s := (&serveConfig{}).settings()
					if asJSON {
						return c.print(true, s.json(), "")
					}
					s.markdown(c.stdout)
					return nil
				}
			},
		},
		{
			name: "version", brief: "Print the version of the program and of the schema it needs",
			prepare: func() (settings, action) {
				asJSON := false
				return settings{jsonFlag(&asJSON)}, func(_ context.Context, args []string) error {
					if err := noArguments(args); err != nil {
						return err
					}
					v := versionJSON{version(), postgres.RequiredSchema(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
					return c.print(asJSON, v, "idemsvc %s, schema %d, %s %s/%s\n", v.Version, v.Schema, v.Go, v.OS, v.Arch)
				}
			},
		},
	}
}

// versionJSON is what «version» says, for scripts.
type versionJSON struct {
	Version string `json:"version"`
	Schema  int64  `json:"schema"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// stamp is the version of a build that says it, by -ldflags "-X main.stamp=1.2.3".
var stamp string

// unstamped is the version of a build that nothing is known of.
const unstamped = "0.0.0-unstamped"

// version is the program's: what the build was told, or else what the toolchain recorded
// of the source's state.
func version() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(stamp, info)
}

func versionOf(stamp string, info *debug.BuildInfo) string {
	switch {
	case stamp != "":
		return stamp
	case info == nil || info.Main.Version == "" || info.Main.Version == "(devel)":
		return unstamped
	default:
		return strings.TrimPrefix(info.Main.Version, "v")
	}
}
