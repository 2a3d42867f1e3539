package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/ingress"
	"github.com/idemsvc/idemsvc/internal/telemetry"
	"github.com/idemsvc/idemsvc/internal/yamlfile"
)

// ingressConfig is what «ingress» is told beside its file.
type ingressConfig struct {
	serve     serveConfig // what it shares with «serve»
	ask       askConfig
	file      string
	namespace string
	check     bool
}

func (c *cli) ingressCommands() []command {
	return []command{{
		name: "ingress", brief: "Receive webhooks over HTTP and keep them for workers",
		about: "For each source of a file it verifies what arrives at a path, keeps the events in it for the workers of the source's consumers, and answers the provider once that is durable. The service may be away: a source is refused with 503 then, or kept in a folder and forwarded later. " +
			"Needs a token of the role consumer where the server has tokens. GET /healthz answers 200, and 503 while it stops. Once it listens, it writes one line with its address to the standard output. SIGTERM and SIGINT stop it when requests in flight are answered. docs/guides/ingress.md tells what the file can say.",
		prepare: func() (settings, action) {
			cfg := &ingressConfig{}
			s := cfg.settings()
			return s, func(ctx context.Context, args []string) error {
				certs, err := cfg.serve.checkListening()
				if cfg.file == "" {
					err = errors.Join(errors.New("--config: a file of sources is needed"), err)
				}
				if err := errors.Join(noArguments(args), err); err != nil {
					return usageError{err}
				}
				return c.ingress(ctx, cfg, certs, s)
			}
		},
	}}
}

func (c *ingressConfig) settings() settings {
	out := settings{
		{flag: "config", env: "IDEMSVC_INGRESS_CONFIG", arg: "FILE", set: text(&c.file), doc: "File of sources, in YAML."},
		{flag: "check", set: toggle(&c.check), doc: "Only check the file, its secrets among it, and end."},
		{flag: "listen", env: "IDEMSVC_INGRESS_LISTEN", arg: "HOST:PORT", def: "127.0.0.1:8080", set: text(&c.serve.listen), doc: "Address to take webhooks on. Port 0 chooses a free one. An address that other machines can reach needs TLS, here or in front."},
		namespaceFlag(&c.namespace, "Namespace of sources that name none."),
	}
	out = append(out, slices.DeleteFunc(c.ask.settings(), func(x setting) bool { return x.flag == "timeout" })...) // providers' patience bounds calls
	shared := map[string]string{
		"tls-cert": "", "tls-key": "", "log-level": "", "log-format": "",
		"insecure-non-loopback": "Take webhooks in plain text on an address that other machines can reach, as behind a proxy that ends TLS. The risk: whoever is on the way reads bodies and the tokens of providers that do not sign.",
		"metrics-listen":        "Address to serve metrics on for Prometheus, at /metrics; over TLS where webhooks are. Empty: not served. An address that other machines can reach needs TLS and --metrics-token. Traces and metrics over OTLP follow OpenTelemetry's variables.",
		"metrics-token":         "", "drain-delay": "How long /healthz answers 503 before no more requests are taken, so that balancers notice first.",
		"drain-timeout": "How long requests in flight have to be answered when the process stops.",
		"json":          "Write the line with the address as JSON, for scripts: address and metrics.",
	}
	for _, x := range c.serve.settings() {
		if doc, ok := shared[x.flag]; ok {
			if doc != "" {
				x.doc = doc
			}
			out = append(out, x)
		}
	}
	return out
}

// sources reads the file of sources. What is wrong is told in lines that editors jump to.
func (c *cli) sources(path string) (*ingress.Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	defer func() { _ = f.Close() }()
	cfg, err := ingress.Read(f, c.env)
	bad, ok := errors.AsType[yamlfile.Problems](err)
	switch {
	case ok:
		var faults []error
		for _, p := range bad {
			faults = append(faults, fmt.Errorf("%s:%d: %s", path, p.Line, safe(p.Message)))
		}
		return nil, errors.Join(faults...)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	default:
		return cfg, nil
	}
}

// ingress takes webhooks until the context or a signal ends it.
func (c *cli) ingress(ctx context.Context, cfg *ingressConfig, certs *tls.Config, s settings) (err error) {
	sources, err := c.sources(cfg.file)
	if err != nil {
		return usageError{err}
	}
	if cfg.check {
		_, err := fmt.Fprintf(c.stdout, "%s is right: %s\n", cfg.file, plural(int64(len(sources.Sources)), "source"))
		return err
	}
	log, flush := c.logger(cfg.serve.logLevel, cfg.serve.logFormat)
	defer flush()
	ctx, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer release()
	context.AfterFunc(ctx, release) // a second signal ends the process at once
	log.InfoContext(ctx, "starting", append([]any{slog.String("version", version())}, s.logged()...)...)
	log = log.With(slog.String("namespace", cfg.namespace))

	seen, err := telemetry.New(ctx, telemetry.Options{
		Getenv:  func(name string) string { v, _ := c.env(name); return v },
		Version: version(), Instance: rand.Text(), Prometheus: cfg.serve.metricsListen != "",
	})
	if err != nil {
		return usageError{err}
	}
	instruments := &instruments{Providers: seen, log: log}
	defer func() { _ = instruments.flush(context.WithoutCancel(ctx)) }()
	page, err := c.serveMetrics(ctx, &cfg.serve, certs, instruments)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.close(context.WithoutCancel(ctx))) }()

	client, err := cfg.ask.connect(idemsvc.WithNamespace(cfg.namespace), idemsvc.WithLogger(log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	in, err := ingress.New(client, sources, log, seen.Meter)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	defer watchSecrets(ctx, in)()
	lis, err := listen(ctx, "listen", cfg.serve.listen)
	if err != nil {
		return err
	}
	addr := lis.Addr().String()
	if certs != nil {
		lis = tls.NewListener(lis, certs)
	}
	c.taking(cfg, addr, page.url(certs))
	log.InfoContext(ctx, "listening", "address", addr, "sources", len(sources.Sources))
	server := ingress.NewServer(log)
	return in.Serve(ctx, server, func(s *http.Server) error { return s.Serve(lis) }, cfg.serve.drainDelay, max(cfg.serve.drainTimeout, time.Second))
}

// secretsEvery is how often the files with secrets are read.
const secretsEvery = 5 * time.Second

// watchSecrets has changed secrets taken, at SIGHUP at once, until the function that it
// returns is called.
func watchSecrets(ctx context.Context, in *ingress.Ingress) (end func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		in.Watch(ctx, secretsEvery, hup)
	}()
	return func() {
		stop()
		<-ended
		signal.Stop(hup)
	}
}

// taking tells who started the process where it is.
func (c *cli) taking(cfg *ingressConfig, addr, metrics string) {
	if !cfg.serve.json {
		if metrics != "" {
			metrics = ", metrics: " + metrics
		}
		fmt.Fprintf(c.stdout, "idemsvc ingress listens on %s%s\n", addr, metrics)
		return
	}
	line, err := json.Marshal(struct {
		Address string `json:"address"`
		Metrics string `json:"metrics,omitempty"`
	}{addr, metrics})
	if err == nil { // it cannot fail
		fmt.Fprintf(c.stdout, "%s\n", line)
	}
}
