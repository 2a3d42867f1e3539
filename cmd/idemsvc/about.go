package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/idemsvc/idemsvc/storage/postgres"
)

func (c *cli) aboutCommands() []command {
	return []command{
		{
			name: "settings", brief: "Print the settings of «serve» as a Markdown table",
			prepare: func() (settings, action) {
				return nil, func(_ context.Context, args []string) error {
					(&serveConfig{}).settings().markdown(c.stdout)
					return noArguments(args)
				}
			},
		},
		{
			name: "version", brief: "Print the version of the program and of the schema it needs",
			prepare: func() (settings, action) {
				return nil, func(_ context.Context, args []string) error {
					if err := noArguments(args); err != nil {
						return err
					}
					fmt.Fprintf(c.stdout, "idemsvc %s, schema %d, %s %s/%s\n", version(), postgres.RequiredSchema(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
					return nil
				}
			},
		},
	}
}

// version is the program's, as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
