package ingress

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"
)

// Watch reads the files with secrets again from time to time, and when it is told to, until
// the context ends. It is called once.
func (i *Ingress) Watch(ctx context.Context, every time.Duration, now <-chan os.Signal) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-now:
			i.log.Info("secrets are read again")
		}
		i.reread()
	}
}

// reread takes the secrets of all sources that have changed. Those of a source change
// together, or stay as they are when one of its files cannot be used.
func (i *Ingress) reread() {
	for _, s := range i.sources {
		next, err := s.source.reread()
		if err == nil && next != nil {
			err = s.handler.Renew(next.made)
		}
		switch {
		case err != nil:
			if s.fault != err.Error() { // once, and not every few seconds
				s.log.Error("new secrets cannot be used: those of before hold on", slog.Any("error", err))
			}
			s.fault = err.Error()
		case next != nil:
			s.source, s.fault = next, ""
			s.log.Info("secrets have changed")
		default:
			s.fault = ""
		}
	}
}

// reread is the source with what stands in its files now; nil if that is what it has.
func (s *Source) reread() (*Source, error) {
	next := *s
	next.shared.Secrets = slices.Clone(s.shared.Secrets)
	changed := false
	read := func(field, file string, into *string) error {
		if file == "" {
			return nil
		}
		v, err := readSecret(file)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		changed = changed || v != *into
		*into = v
		return nil
	}
	for n, file := range s.secretFiles {
		if err := read("secrets", file, &next.shared.Secrets[n]); err != nil {
			return nil, err
		}
	}
	if err := read("verify_token", s.verifyFile, &next.shared.VerifyToken); err != nil {
		return nil, err
	}
	if !changed {
		return nil, nil
	}
	if err := next.make(); err != nil {
		return nil, err
	}
	return &next, nil
}
