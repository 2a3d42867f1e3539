package main

import (
	"log/slog"

	"github.com/idemsvc/idemsvc/internal/logs"
)

// logger makes the log of the level and form that were asked for, and what writes out the
// rest of it.
func (c *cli) logger(level, format string) (log *slog.Logger, flush func()) {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level)) // checked; else: info
	return logs.New(c.stderr, l, format == "json")
}
