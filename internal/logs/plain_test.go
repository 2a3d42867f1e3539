package logs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// same writes a line in a form by itself, and has slog write it.
func same(t *testing.T, now time.Time, msg string, attrs ...slog.Attr) (plain int) {
	t.Helper()
	for _, json := range []bool{false, true} {
		var want bytes.Buffer
		var h slog.Handler = slog.NewTextHandler(&want, nil)
		if json {
			h = slog.NewJSONHandler(&want, nil)
		}
		r := slog.NewRecord(now, slog.LevelInfo, msg, 0)
		r.AddAttrs(attrs...)
		if err := h.Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		line, ok := formOf(json).line(nil, now, slog.LevelInfo, msg, attrs)
		if ok && string(line) != want.String() {
			t.Errorf("a plain line is\n%s and slog's\n%s", line, &want)
		}
		if ok {
			plain++
		}
	}
	return plain
}

func TestPlainLinesAreSlogs(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -(3*60+30)*60)
	for _, at := range []time.Time{
		time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), time.Date(2026, 2, 3, 4, 5, 6, 7_008_009, time.UTC), time.Date(2026, 2, 3, 4, 5, 6, 999_999_999, zone),
		time.Date(2026, 12, 31, 23, 59, 59, 990_000_000, zone),
	} {
		if same(t, at, "ClaimEvent", slog.String("event_id", "evt_1"), slog.Int64("db_txid", -1<<63), slog.Float64("duration_ms", 1.25), slog.String("t", `~!|{}[]/.,:;#'`)) != 2 {
			t.Errorf("a plain line at %v is not taken for one", at)
		}
	}
	now := time.Now()
	for _, x := range []float64{0, 1e-4, 0.001, 0.012, 999999, 999999.999, 1e6, 1e20, 1e21, 1e22, 9.9e-5, 1e-7, -1, 123456.789} {
		same(t, now, "m", slog.Float64("x", x))
	}
	for _, s := range []string{"", " ", "a b", "a=b", `a\b`, `"`, "\n", "\x00", "\x7f", "ä", "\u2028", "\u00a0", "a\xffb", "<&>", "西洋"} {
		same(t, now, "m", slog.String("x", s))
		same(t, now, "m", slog.String("k"+s, "x"))
		same(t, now, "m"+s)
	}
}

func FuzzPlainLines(f *testing.F) {
	f.Add("ClaimEvent", "event_id", "evt 1", int64(1), 2.5, int64(1_700_000_000_123_456_789))
	f.Fuzz(func(t *testing.T, msg, key, text string, n int64, x float64, at int64) {
		same(t, time.Unix(0, at), msg, slog.String(key, text), slog.Int64("n", n), slog.Float64("x", x))
	})
}

// Whatever the attributes and the log, a line is written once, with all of them.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, json := range []bool{false, true} {
		var out strings.Builder
		log, flush := New(&out, slog.LevelInfo, json)
		ctx := context.Background()
		attrs := []slog.Attr{slog.String("a", "1"), slog.Int64("b", 2)}
		Write(ctx, log, slog.LevelInfo, "one", attrs...)
		Write(ctx, log.With("with", 3), slog.LevelInfo, "two", attrs...)
		Write(ctx, log, slog.LevelInfo, "three", slog.String("a", "1 1"), slog.Any("error", errors.New("broken")))
		Write(ctx, log, slog.LevelDebug, "never")
		if out.Len() != 0 {
			t.Errorf("lines at info did not wait: %s", &out)
		}
		Write(ctx, log, slog.LevelWarn, "four", attrs...)
		if strings.Count(out.String(), "\n") != 4 {
			t.Errorf("a warning waits, or leaves what came before it: %s", &out)
		}
		flush()
		want := []string{"msg=one a=1 b=2\n", "msg=two with=3 a=1 b=2\n", "msg=three a=\"1 1\" error=broken\n", "level=WARN msg=four a=1 b=2\n"}
		if json {
			want = []string{
				`"msg":"one","a":"1","b":2}` + "\n", `"msg":"two","with":3,"a":"1","b":2}` + "\n", `"msg":"three","a":"1 1","error":"broken"}` + "\n",
				`"level":"WARN","msg":"four","a":"1","b":2}` + "\n",
			}
		}
		lines := strings.SplitAfter(out.String(), "\n")
		for i, w := range want {
			if !strings.HasSuffix(lines[i], w) || !strings.HasPrefix(strings.TrimPrefix(lines[i], `{"`), "ts") {
				t.Errorf("line %q does not end with %q", lines[i], w)
			}
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	for name, json := range map[string]bool{"text": false, "json": true} {
		b.Run(name, func(b *testing.B) {
			log, flush := New(nowhere{}, slog.LevelInfo, json)
			defer flush()
			b.ReportAllocs()
			for b.Loop() {
				Write(b.Context(), log, slog.LevelInfo, "ClaimEvent", slog.String("namespace", "shop-live"), slog.String("consumer", "billing"),
					slog.String("source", "stripe"), slog.String("event_id", "evt_1NG8Du2eZvKYlo2CUI79vXWy"), slog.String("event_type", "invoice.paid"),
					slog.String("outcome", "CLAIMED"), slog.String("correlation_id", "evt_1NG8Du2eZvKYlo2CUI79vXWy"), slog.Int64("attempt", 1),
					slog.String("state", "PROCESSING"), slog.Int64("db_txid", 123456), slog.Float64("duration_ms", 3.217))
			}
		})
	}
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
