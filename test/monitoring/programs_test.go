// Package monitoring_test runs what deploy/monitoring ships as those who use it do: its rules
// with promtool and with a Prometheus that scrapes a server, its traces with an OpenTelemetry
// Collector.
package monitoring_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// folder is what is tested.
const folder = "../../deploy/monitoring"

// prometheusEnv names the folder of promtool and prometheus; "off" skips the tests that need
// them.
const prometheusEnv = "IDEMSVC_TEST_PROMETHEUS"

// program is the path of promtool or prometheus.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv(prometheusEnv)
	if dir == "off" {
		t.Skipf("%s=off", prometheusEnv)
	}
	if dir != "" {
		return filepath.Join(dir, name)
	}
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	path, err := filepath.Abs(filepath.Join("../../build/prometheus/usr/bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("no %s in PATH or build/prometheus: bring it with\n  scripts/prometheus.sh\nor set %s=off to skip the tests that need it", name, prometheusEnv)
	}
	return path
}
