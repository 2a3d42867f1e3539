package bench

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// machine names what all of this runs on. dir is where the database is; empty: unknown.
func machine(dir string) []string {
	list := []string{fmt.Sprintf("%d CPUs%s, %s/%s, %s", runtime.NumCPU(), cpuModel(), runtime.GOOS, runtime.GOARCH, runtime.Version())}
	if total := memoryOf("MemTotal:"); total > 0 {
		list = append(list, fmt.Sprintf("memory %.1f GiB", float64(total)/(1<<30)))
	}
	if dir != "" {
		if d, err := syncTime(dir); err == nil {
			list = append(list, fmt.Sprintf("fsync of 8 KiB %.2f ms", float64(d.Microseconds())/1000))
		}
	}
	return append(list, "callers, server and database share it")
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return " (" + strings.TrimSpace(value) + ")"
		}
	}
	return ""
}

// memoryOf is a line of /proc/meminfo in bytes; 0 where there is none.
func memoryOf(name string) int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var kib int64
		if rest, ok := strings.CutPrefix(line, name); ok {
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// syncTime is how long it takes, in the median, until a page is on the disk.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	defer func() { _ = f.Close() }()
	page := make([]byte, 8<<10)
	var times []time.Duration
	for range 50 {
		started := time.Now()
		if _, err := f.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(started))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
