package webhook

import "fmt"

// Renew verifies requests as another [Provider] does from now on, for secrets that have
// changed: its verification and its answers to challenges replace those of before. A request
// under way ends as it began. The error says that it is another provider, source, or
// description of none that can be used; nothing has changed then.
func (h *Handler) Renew(p *Provider) error {
	switch old := h.provider; {
	case p.err != nil:
		return p.err
	case p.Name() != old.Name() || p.Source() != old.Source():
		return fmt.Errorf("webhook: the handler is for %s of the source %s, not for %s of %s", old.Name(), old.Source(), p.Name(), p.Source())
	case (p.verify == nil) != (old.verify == nil):
		return fmt.Errorf("webhook: %s: whether requests are signed does not change", p.Name())
	}
	if old := h.verifier.Load(); p.tokens != nil && old != p {
		p.tokens.follow(old.tokens)
	}
	h.verifier.Store(p)
	return nil
}
