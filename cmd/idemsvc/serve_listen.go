package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/idemsvc/idemsvc/server"
)

// listeners are where calls come in.
type listeners struct {
	grpc    net.Listener
	http    net.Listener // nil: no JSON over HTTP
	metrics string       // the address of the page of metrics, empty: there is none
}

// listenAll takes all addresses or none.
func listenAll(ctx context.Context, cfg *serveConfig) (*listeners, error) {
	l := &listeners{}
	var err error
	if l.grpc, err = listen(ctx, "listen", cfg.listen); err != nil {
		return nil, err
	}
	if cfg.httpListen == "" {
		return l, nil
	}
	if l.http, err = listen(ctx, "http-listen", cfg.httpListen); err != nil {
		return nil, errors.Join(err, l.grpc.Close())
	}
	return l, nil
}

// serve lets calls in. Each listener's end comes out of the channel, whose capacity is
// their number.
func (l *listeners) serve(srv *server.Server) chan error {
	if l.http == nil {
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l.grpc) }()
		return served
	}
	served := make(chan error, 2)
	go func() { served <- srv.Serve(l.grpc) }()
	go func() { served <- srv.ServeJSON(l.http) }()
	return served
}

// httpURL is the address of JSON over HTTP, empty where it is not served.
func (l *listeners) httpURL(certs *tls.Config) string {
	switch {
	case l.http == nil:
		return ""
	case certs != nil:
		return "https://" + l.http.Addr().String()
	default:
		return "http://" + l.http.Addr().String()
	}
}
