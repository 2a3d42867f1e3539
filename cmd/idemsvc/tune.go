package main

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// tune sets the garbage collector as configured, save for what the environment sets
// itself, and returns what puts it back.
func (c *cli) tune(gcPercent int, limit string) (undo func()) {
	undo = func() {}
	if _, set := c.env("GOGC"); !set {
		before := debug.SetGCPercent(gcPercent)
		undo = func() { debug.SetGCPercent(before) }
	}
	if _, set := c.env("GOMEMLIMIT"); !set {
		if n, err := parseBytes(limit); err == nil && n > 0 {
			before, next := debug.SetMemoryLimit(n), undo
			undo = func() { debug.SetMemoryLimit(before); next() }
		}
	}
	return undo
}

// parseBytes is the memory limit that a text stands for; 0 for none.
func parseBytes(s string) (int64, error) {
	switch s {
	case "auto":
		return available() / 2, nil
	case "off", "":
		return 0, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 16<<20 {
		return 0, fmt.Errorf("%q is not auto, off or a number of bytes from 16777216 on", s)
	}
	return n, nil
}

// available is how many bytes this process may use: those of its control group or of the
// machine, whichever is less; 0 where that cannot be told.
func available() int64 {
	least := int64(math.MaxInt64)
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
			least = min(least, n)
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
				if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					least = min(least, n<<10)
				}
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
