package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// defaultAddress is where the server listens and clients look for it.
const defaultAddress = "127.0.0.1:7443"

// databaseConfig says which database is meant.
type databaseConfig struct {
	url     string
	dataDir string
}

func (d *databaseConfig) settings() settings {
	return settings{
		{
			flag: "database-url", env: "IDEMSVC_DATABASE_URL", arg: "URL", secret: true, set: text(&d.url),
			doc: "PostgreSQL 15 or newer, such as postgres://user@host/db. Empty: a PostgreSQL of its own in the data directory.",
		},
		{
			flag: "data-dir", env: "IDEMSVC_DATA_DIR", arg: "DIR", def: "data", set: text(&d.dataDir),
			doc: "Directory of the PostgreSQL of its own. Made when missing, kept between runs.",
		},
	}
}

// serveConfig is what «serve» is told.
type serveConfig struct {
	listen    string
	database  databaseConfig
	ephemeral bool

	tokens     string
	namespaces []string
	cert, key  string
	insecure   bool

	logLevel, logFormat string
	httpListen          string
	metricsListen       string
	metricsToken        string
	json                bool

	gcPercent     int
	memoryLimit   int64
	poolSize      int
	streamWorkers int
	drainDelay    time.Duration
	drainTimeout  time.Duration
	startTimeout  time.Duration
}

func (c *serveConfig) settings() settings {
	head := settings{
		{
			flag: "listen", env: "IDEMSVC_LISTEN", arg: "HOST:PORT", def: defaultAddress, set: text(&c.listen),
			doc: "Address to serve gRPC on. Port 0 chooses a free one. An address that other machines can reach needs TLS and tokens.",
		},
	}
	return append(append(head, c.database.settings()...), settings{
		{
			flag: "http-listen", env: "IDEMSVC_HTTP_LISTEN", arg: "HOST:PORT", set: text(&c.httpListen),
			doc: "Address to serve the same calls on as JSON over HTTP, with the same tokens and certificate; /openapi.json there describes them, /readyz and /livez tell of its health. Empty: not served. An address that other machines can reach needs TLS and tokens.",
		},
		{
			flag: "ephemeral", env: "IDEMSVC_EPHEMERAL", set: toggle(&c.ephemeral),
			doc: "Keep everything in memory: NOT DURABLE, all is forgotten when the process ends. For tests, on a loopback address only: callers may move its clock (TestingService).",
		},
		{
			flag: "tokens", env: "IDEMSVC_TOKENS", arg: "FILE", set: text(&c.tokens),
			doc: "File of bearer tokens' hashes, made by «idemsvc token create» and read again when it changes. Empty: everybody is admitted, on a loopback address only.",
		},
		{
			flag: "namespaces", env: "IDEMSVC_NAMESPACES", arg: "NAME,...", def: "dev", set: list(&c.namespaces),
			doc: "Namespaces that exist on a server without tokens. With tokens they are the ones that tokens name.",
		},
		{
			flag: "tls-cert", env: "IDEMSVC_TLS_CERT", arg: "FILE", set: text(&c.cert),
			doc: "Certificate chain in PEM. With --tls-key: serve TLS.",
		},
		{
			flag: "tls-key", env: "IDEMSVC_TLS_KEY", arg: "FILE", set: text(&c.key),
			doc: "Private key of the certificate in PEM.",
		},
		{
			flag: "insecure-non-loopback", env: "IDEMSVC_INSECURE_NON_LOOPBACK", set: toggle(&c.insecure),
			doc: "Serve an address that other machines can reach without TLS or without tokens. The risk: whoever is on the way reads every token and payload, and without tokens anybody may claim and complete every event.",
		},
		{
			flag: "log-level", env: "IDEMSVC_LOG_LEVEL", arg: "LEVEL", def: "info", choices: []string{"debug", "info", "warn", "error"}, set: text(&c.logLevel),
			doc: "Least level to log: debug, info, warn or error.",
		},
		{
			flag: "log-format", env: "IDEMSVC_LOG_FORMAT", arg: "FORMAT", def: "text", choices: []string{"text", "json"}, set: text(&c.logFormat),
			doc: "Form of log lines: text or json. They go to the standard error.",
		},
		{
			flag: "metrics-listen", env: "IDEMSVC_METRICS_LISTEN", arg: "HOST:PORT", set: text(&c.metricsListen),
			doc: "Address to serve metrics on for Prometheus, at /metrics; over TLS where the server is. Empty: not served. They name all namespaces and consumers. An address that other machines can reach needs TLS and --metrics-token. Traces and metrics over OTLP follow OpenTelemetry's variables, such as OTEL_EXPORTER_OTLP_ENDPOINT.",
		},
		{
			flag: "metrics-token", env: "IDEMSVC_METRICS_TOKEN", arg: "TOKEN", secret: true, set: text(&c.metricsToken),
			doc: "Bearer token that whoever reads the metrics must show. Empty: none, on a loopback address only.",
		},
		{
			flag: "pool-size", env: "IDEMSVC_POOL_SIZE", arg: "N", def: "10", set: number(&c.poolSize, 4, 1000),
			doc: "Connections to the database at most. Writes are batched and need two; the rest is for reads and background work.",
		},
		{
			flag: "stream-workers", env: "IDEMSVC_STREAM_WORKERS", arg: "N", def: "256", set: number(&c.streamWorkers, 0, 65536),
			doc: "Goroutines kept ready for calls, whose stacks need not grow anew for each. More calls at a time get one of their own. 0: all do.",
		},
		{
			flag: "gc-percent", env: "IDEMSVC_GC_PERCENT", arg: "N", def: "400", set: number(&c.gcPercent, 10, 100000),
			doc: "How much the heap may grow before garbage is collected, as GOGC, which wins where it is set. More memory, less work.",
		},
		{
			flag: "memory-limit", env: "IDEMSVC_MEMORY_LIMIT", arg: "BYTES", def: "auto", set: byteLimit(&c.memoryLimit),
			doc: "Memory above which garbage is collected sooner, in bytes or such as 512MiB, as GOMEMLIMIT, which wins where it is set. auto: half of what the machine or control group has. off: none.",
		},
		{
			flag: "drain-delay", env: "IDEMSVC_DRAIN_DELAY", arg: "TIME", def: "0s", set: duration(&c.drainDelay, 0),
			doc: "How long a stopping server, already not ready, goes on taking calls, so that balancers notice first.",
		},
		{
			flag: "drain-timeout", env: "IDEMSVC_DRAIN_TIMEOUT", arg: "TIME", def: "20s", set: duration(&c.drainTimeout, time.Second),
			doc: "How long calls in flight have to end when the server stops.",
		},
		{
			flag: "start-timeout", env: "IDEMSVC_START_TIMEOUT", arg: "TIME", def: "30s", set: duration(&c.startTimeout, 0),
			doc: "How long to wait at the start for a database that cannot be reached.",
		},
		{
			flag: "json", env: "IDEMSVC_JSON", set: toggle(&c.json),
			doc: "Write the line with the address as JSON, for scripts: address, storage, whether it is durable, and where HTTP and metrics are served.",
		},
	}...)
}

// check finds what does not go together, and loads the certificate.
func (c *serveConfig) check() (*tls.Config, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	certs, unusable := c.certificates()
	faults = append(faults, unusable)
	faults = append(faults, c.checkListen("listen", c.listen))
	if c.httpListen != "" {
		faults = append(faults, c.checkListen("http-listen", c.httpListen))
		if c.httpListen == c.listen && !strings.HasSuffix(c.listen, ":0") {
			fault("--http-listen: %s is the address of --listen, and gRPC and HTTP need one each", c.listen)
		}
	}
	faults = append(faults, c.checkMetrics())
	if c.ephemeral && c.database.url != "" {
		fault("--ephemeral keeps nothing, so --database-url has no use")
	}
	if c.tokens == "" && len(c.namespaces) == 0 {
		fault("--namespaces: without tokens at least one namespace is needed")
	}
	if !c.ephemeral && c.database.url == "" && c.database.dataDir == "" {
		fault("--data-dir: without --database-url a directory is needed")
	}
	return certs, errors.Join(faults...)
}

// checkListen finds what an address that calls are served on needs.
func (c *serveConfig) checkListen(flag, addr string) error {
	loopback, err := onlyLoopback(addr)
	switch {
	case err != nil:
		return fmt.Errorf("--%s: %w", flag, err)
	case loopback:
		return nil
	case c.ephemeral:
		return fmt.Errorf("--ephemeral serves loopback addresses only, and %s is none", addr)
	case c.insecure:
		return nil
	case c.cert == "" || c.tokens == "":
		return fmt.Errorf("--%s: other machines can reach %s: that needs --tls-cert, --tls-key and --tokens, or --insecure-non-loopback with its risk", flag, addr)
	default:
		return nil
	}
}

// certificates loads the certificate, if there is one.
func (c *serveConfig) certificates() (*tls.Config, error) {
	switch {
	case (c.cert == "") != (c.key == ""):
		return nil, errors.New("--tls-cert and --tls-key go together")
	case c.cert == "":
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}

// checkListening is check for what takes no calls, and needs no tokens therefore.
func (c *serveConfig) checkListening() (*tls.Config, error) {
	loopback, err := onlyLoopback(c.listen)
	if err != nil {
		err = fmt.Errorf("--listen: %w", err)
	} else if !loopback && !c.insecure && c.cert == "" {
		err = fmt.Errorf("--listen: other machines can reach %s: that needs --tls-cert and --tls-key, or --insecure-non-loopback behind what ends TLS", c.listen)
	}
	certs, unusable := c.certificates()
	return certs, errors.Join(err, unusable, c.checkMetrics())
}

// checkMetrics finds what does not go together about the page of metrics.
func (c *serveConfig) checkMetrics() error {
	if c.metricsListen == "" {
		if c.metricsToken != "" {
			return errors.New("--metrics-token has no use without --metrics-listen")
		}
		return nil
	}
	loopback, err := onlyLoopback(c.metricsListen)
	switch {
	case err != nil:
		return fmt.Errorf("--metrics-listen: %w", err)
	case !loopback && !c.insecure && (c.cert == "" || c.metricsToken == ""):
		return fmt.Errorf("--metrics-listen: other machines can reach %s: that needs --tls-cert, --tls-key and --metrics-token, or --insecure-non-loopback with its risk", c.metricsListen)
	}
	return nil
}

// onlyLoopback reports whether only this machine can reach the address.
func onlyLoopback(addr string) (bool, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false, err
	}
	if _, err := net.DefaultResolver.LookupPort(context.Background(), "tcp", port); err != nil {
		return false, fmt.Errorf("%q is not a port from 0 to 65535", port)
	}
	if strings.EqualFold(host, "localhost") {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback(), nil // a name may be anything
}
