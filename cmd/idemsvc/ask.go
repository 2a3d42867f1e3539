package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/server"
)

// askConfig says which server is asked, and as whom.
type askConfig struct {
	address  string
	token    string
	ca       string
	insecure bool
	timeout  time.Duration
}

func (a *askConfig) settings() settings {
	return settings{
		{flag: "address", env: "IDEMSVC_ADDRESS", arg: "HOST:PORT", def: defaultAddress, set: text(&a.address), doc: "Server to ask. With TLS, unless it is a loopback address."},
		{flag: "token", env: "IDEMSVC_TOKEN", arg: "TOKEN", secret: true, set: text(&a.token), doc: "Bearer token. Better given by the environment, which other users cannot see."},
		{flag: "tls-ca", env: "IDEMSVC_TLS_CA", arg: "FILE", set: text(&a.ca), doc: "Certificates in PEM to trust instead of the system's. Also switches TLS on for loopback addresses."},
		{flag: "insecure", env: "IDEMSVC_INSECURE", set: toggle(&a.insecure), doc: "Use plain text for an address that is not loopback. The risk: whoever is on the way reads the token."},
		{flag: "timeout", env: "IDEMSVC_TIMEOUT", arg: "TIME", def: "10s", set: duration(&a.timeout, time.Millisecond), doc: "How long to wait for the answer."},
	}
}

func (a *askConfig) dial(opts ...idemsvc.Option) (*idemsvc.Client, error) {
	return a.connect(append(opts, idemsvc.WithCallTimeout(a.timeout), idemsvc.WithMaxRepeats(2))...)
}

// connect is a client of the server that is meant.
func (a *askConfig) connect(opts ...idemsvc.Option) (*idemsvc.Client, error) {
	if a.token != "" {
		opts = append(opts, idemsvc.WithToken(a.token))
	}
	if a.ca != "" {
		pem, err := os.ReadFile(a.ca)
		if err != nil {
			return nil, usageError{fmt.Errorf("--tls-ca: %w", err)}
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, usageError{fmt.Errorf("--tls-ca: %s holds no certificate", a.ca)}
		}
		opts = append(opts, idemsvc.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}))
	}
	if a.insecure {
		opts = append(opts, idemsvc.WithInsecure())
	}
	return idemsvc.Dial(a.address, opts...)
}

// advise adds to an error what may help.
func (a *askConfig) advise(err error) error {
	switch {
	case errors.Is(err, idemsvc.ErrUnavailable):
		return fmt.Errorf("%w\ndoes «idemsvc serve» run at %s? --address (IDEMSVC_ADDRESS) names another server, --tls-ca its certificate", err, a.address)
	case errors.Is(err, idemsvc.ErrNotFound):
		return fmt.Errorf("%w\nno delivery with this ID has reached a consumer that asks here; --namespace (IDEMSVC_NAMESPACE) names another namespace", err)
	case errors.Is(err, idemsvc.ErrUnauthenticated):
		return fmt.Errorf("%w\nset IDEMSVC_TOKEN to a token that «idemsvc token create» has made for this server", err)
	case errors.Is(err, idemsvc.ErrUnknownNamespace):
		return fmt.Errorf("%w\n--namespace (IDEMSVC_NAMESPACE) names another", err)
	default:
		return err
	}
}

func (c *cli) askCommands() []command {
	return []command{
		{
			name: "health", brief: "Tell whether a server is ready",
			about:   "Ends with code 0 when it is, and 3 when it is not or cannot be reached. Needs no token.",
			prepare: c.health,
		},
		{
			name: "event show", args: "[NAMESPACE] ID", brief: "Tell everything about an event, beginning with a verdict",
			about:   "The event is found by its ID alone, whoever sent it and whoever processes it. Needs a token of the role reader, operator or admin where the server has tokens.",
			prepare: c.eventShow,
		},
	}
}

func (c *cli) health() (settings, action) {
	cfg := &askConfig{}
	live, asJSON := false, false
	s := append(cfg.settings(), settings{
		{flag: "liveness", set: toggle(&live), doc: "Ask only whether the process is up, whatever its database does."},
		jsonFlag(&asJSON),
	}...)
	return s, func(ctx context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		// A server that is not ready is to answer, too.
		client, err := cfg.dial(idemsvc.WithDialOptions(grpc.WithDisableHealthCheck()))
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		req := &healthpb.HealthCheckRequest{}
		if live {
			req.Service = server.LivenessService
		}
		resp, err := healthpb.NewHealthClient(client.Conn()).Check(ctx, req)
		if err != nil {
			return cfg.advise(fmt.Errorf("%s: %w", cfg.address, err))
		}
		ready := resp.GetStatus() == healthpb.HealthCheckResponse_SERVING
		if ready || asJSON {
			err = c.print(asJSON, map[string]any{"address": cfg.address, "ready": ready, "status": resp.GetStatus().String()}, "%s is ready\n", cfg.address)
		}
		if !ready {
			return notReady{fmt.Errorf("%s is not ready (%s)", cfg.address, resp.GetStatus())}
		}
		return err
	}
}

func (c *cli) eventShow() (settings, action) {
	cfg := &askConfig{}
	var namespace, source string
	asJSON, payload, rejected := false, false, false
	s := append(cfg.settings(), settings{
		{flag: "namespace", env: "IDEMSVC_NAMESPACE", arg: "NAME", def: "dev", set: text(&namespace), doc: "Namespace, unless it is given as an argument."},
		{flag: "source", arg: "NAME", set: text(&source), doc: "Sender. Empty: all that used the ID."},
		{flag: "payload", set: toggle(&payload), doc: "Show payload and results, too."},
		{flag: "rejected", set: toggle(&rejected), doc: "Show deliveries whose signature was rejected, too. Anybody can make them."},
		{flag: "json", set: toggle(&asJSON), doc: "Print the contract's GetEventResponse as JSON."},
	}...)
	return s, func(ctx context.Context, args []string) error {
		switch len(args) {
		case 1:
			args = []string{namespace, args[0]}
		case 2:
		default:
			return usageError{errors.New("name an event: [NAMESPACE] ID")}
		}
		client, err := cfg.dial()
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		resp, err := client.Operations().GetEvent(ctx, &pb.GetEventRequest{
			Namespace: args[0], Source: source, EventId: args[1], IncludePayload: payload, IncludeResults: payload, IncludeRejectedDeliveries: rejected,
		})
		if err != nil {
			return cfg.advise(fmt.Errorf("%s in %s: %w", args[1], args[0], err))
		}
		if asJSON {
			_, err := fmt.Fprintln(c.stdout, protojson.MarshalOptions{Multiline: true, UseProtoNames: true}.Format(resp))
			return err
		}
		c.showEvents(resp)
		return nil
	}
}
