package embedded

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Options says which server [Start] starts.
type Options struct {
	// DataDir is the directory that keeps everything the server stores. It is
	// created when missing and must otherwise be empty or of an earlier start.
	// Required.
	DataDir string

	// Installation is the PostgreSQL to run. If it is zero, the one that
	// [Find] returns is used, except that for data of an earlier start an
	// installation of the same major version is preferred to a newer one.
	Installation Installation

	// Settings are PostgreSQL configuration parameters. They win over the
	// defaults of this package, but not over where the server listens.
	Settings map[string]string

	// Logger receives what PostgreSQL logs: at debug level, save for warnings,
	// and for fatal errors and panics of a running server, which are logged as
	// errors; those of a start are in its error. If it is nil, the log is
	// dropped.
	Logger *slog.Logger

	// Durable keeps acknowledged commits safe against a crash of the machine,
	// as in production. Without it the server does not wait for the disk:
	// faster, and enough for tests, since data survives the death of the
	// server but not that of the machine.
	Durable bool

	// TCP also listens on 127.0.0.1, where a password is asked for:
	// [Server.TCPURL] has it.
	TCP bool

	// Port is the TCP port, and part of the socket's name. If it is zero, a
	// free port is chosen at each start with TCP, and 5432 is used without.
	Port int
}

// settings are the parameters to start with, as postgres arguments in a
// stable order.
func (o Options) settings(sockDir string) []string {
	s := map[string]string{
		// The parent's logger says when and who.
		"log_line_prefix": "",
		"timezone":        "UTC",
		"log_timezone":    "UTC",
	}
	if !o.Durable {
		s["fsync"] = "off"
		s["full_page_writes"] = "off"
	}
	maps.Copy(s, o.Settings)
	s["listen_addresses"] = ""
	if o.TCP {
		s["listen_addresses"] = "127.0.0.1"
	}
	// A list of paths, each of which may be quoted.
	s["unix_socket_directories"] = `"` + strings.ReplaceAll(sockDir, `"`, `""`) + `"`
	s["unix_socket_permissions"] = "0700"

	var args []string
	for _, k := range slices.Sorted(maps.Keys(s)) {
		args = append(args, "-c", k+"="+s[k])
	}
	return args
}
