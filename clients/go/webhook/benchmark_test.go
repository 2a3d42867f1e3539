package webhook_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// A body of the size that these providers send.
func stripeBody() string {
	lines := make([]string, 20)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"il_%d","object":"line_item","amount":%d,"currency":"usd","description":"1 × Plan (at $%d.00 / month)","metadata":{},"period":{"end":1700000000,"start":1690000000}}`, i, i*100, i)
	}
	return fmt.Sprintf(`{"id":"evt_1","object":"event","api_version":"2024-06-20","created":1700000000,"data":{"object":{"id":"in_1","object":"invoice","lines":{"data":[%s]},"total":1}},"livemode":true,"pending_webhooks":1,"request":{"id":null},"type":"invoice.paid"}`, strings.Join(lines, ","))
}

func githubBody() string {
	urls := make([]string, 60)
	for i := range urls {
		urls[i] = fmt.Sprintf(`"link_%d_url":"https://api.github.example/repos/octo/hello-world/things/%d{/other}"`, i, i)
	}
	return fmt.Sprintf(`{"action":"opened","issue":{"id":7,"number":1,"title":"a bug","updated_at":"2024-01-02T03:04:05Z",%s},"repository":{"id":5,%s},"sender":{"id":1,"login":"octo"}}`, strings.Join(urls, ","), strings.Join(urls, ","))
}

func benchmarked() map[string]string {
	return map[string]string{"stripe": stripeBody(), "github": githubBody()}
}

// medians are the median times of two things, done in turns and in short pieces, so that
// whatever else the machine does meets both alike.
func medians(a, b func()) (time.Duration, time.Duration) {
	const turns, each = 301, 4
	times := [2][]time.Duration{}
	for range turns {
		for i, run := range []func(){a, b} {
			began := time.Now()
			for range each {
				run()
			}
			times[i] = append(times[i], time.Since(began)/each)
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	return times[0][turns/2], times[1][turns/2]
}

// Finding the event in a body, beside the signature: "passes" are passes of SHA-256 over the
// body that take as long, of which five are aimed at.
func BenchmarkItems(b *testing.B) {
	for name, body := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			p, r := testProvider(name), request(body, map[string]string{"X-GitHub-Delivery": "guid", "X-GitHub-Event": "issues"})
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Items(r); err != nil {
					b.Fatal(err)
				}
			}
			pass, items := medians(func() { sha256.Sum256(r.Body) }, func() { _, _ = p.Items(r) })
			b.ReportMetric(float64(items)/float64(pass), "passes")
		})
	}
}

// The signature check for itself: schemes with a shared secret, and those without.
func BenchmarkCheck(b *testing.B) {
	check := func(name string, p *webhook.Provider, r *webhook.Request) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(r.Body)))
			for b.Loop() {
				if err := p.Check(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, body := range benchmarked() {
		p := testProvider(name)
		check("hmac/"+name, p, signed(b, p, body, nil))
	}
	r := request("["+stripeBody()+"]", nil)
	signSendGrid(b, r)
	check("asymmetric/sendgrid", testProvider("sendgrid"), r)
	pp, pr := paypalSigned(b, stripeBody())
	check("asymmetric/paypal", pp, pr)
	gp, gr := pubsubSigned(b, stripeBody())
	check("asymmetric/google-pubsub", gp, gr)
}

func BenchmarkSHA256(b *testing.B) {
	for name, body := range benchmarked() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				sha256.Sum256([]byte(body))
			}
		})
	}
}

var _ http.Handler = (*webhook.Handler)(nil)
