package provoke

import (
	"bytes"
	"io"
	"net/http"
)

// gateway is what stands between a provider and the receiver. It passes deliveries on, but
// tells the provider of the first few that succeed that the receiver could not be reached.
type gateway struct {
	next   http.RoundTripper
	faults int
	heard  []int // what the receiver answered
}

// RoundTrip implements [http.RoundTripper].
func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	g.heard = append(g.heard, resp.StatusCode)
	if g.faults > 0 && success(resp.StatusCode) {
		g.faults--
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		resp.StatusCode, resp.Status = http.StatusBadGateway, "502 Bad Gateway"
		resp.Header, resp.Body, resp.ContentLength = http.Header{}, io.NopCloser(&bytes.Reader{}), 0
	}
	return resp, nil
}

// behind is the sender with the gateway between.
func (s *sender) behind(faults int) (*sender, *gateway) {
	via, client := *s, *s.client
	g := &gateway{next: s.client.Transport, faults: faults}
	client.Transport, via.client = g, &client
	return &via, g
}
