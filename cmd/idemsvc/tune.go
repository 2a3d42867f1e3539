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
func (c *cli) tune(gcPercent int, limit int64) (undo func()) {
	undo = func() {}
	if _, set := c.env("GOGC"); !set {
		before := debug.SetGCPercent(gcPercent)
		undo = func() { debug.SetGCPercent(before) }
	}
	if _, set := c.env("GOMEMLIMIT"); !set {
		if limit > 0 {
			before, next := debug.SetMemoryLimit(limit), undo
			undo = func() { debug.SetMemoryLimit(before); next() }
		}
	}
	return undo
}

// byteLimit is the setting of a limit: bytes, 0 for none.
func byteLimit(v *int64) func(string) error {
	return func(s string) error {
		switch s {
		case "auto":
			*v = available() / 2
			return nil
		case "off":
			*v = 0
			return nil
		}
		unit := int64(1)
		digits := s
		for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB"} {
			if rest, ok := strings.CutSuffix(s, suffix); ok {
				digits, unit = rest, 1<<(10*(i+1))
			}
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit || n*unit < leastMemory {
			return fmt.Errorf("%q is not auto, off or a number of bytes from 16777216 (16MiB) on", s)
		}
		*v = n * unit
		return nil
	}
}

// leastMemory is the lowest limit that makes sense.
const leastMemory = 16 << 20

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
