package webhook

import (
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// Meta is Facebook, Instagram and the WhatsApp Business platform. The verify token is what
// the app's settings hold for the check of the URL, which the [Handler] answers; the
// secrets are the app's.
func Meta(verifyToken string, appSecrets ...string) *Provider {
	p := provider("meta", credentials{secrets: appSecrets}, byRecipe)
	p.extract = metaItems
	if strings.TrimSpace(verifyToken) != "" {
		p.greet = func(r *Request) *greeting { return metaChallenge(r, verifyToken) }
	}
	return p
}

func metaChallenge(r *Request, token string) *greeting {
	if r.Method != http.MethodGet || r.URL == nil {
		return nil
	}
	q := r.URL.Query()
	if q.Get("hub.mode") != "subscribe" || subtle.ConstantTimeCompare(sum([]byte(q.Get("hub.verify_token"))), sum([]byte(token))) != 1 {
		return &greeting{status: http.StatusForbidden}
	}
	return &greeting{status: http.StatusOK, body: q.Get("hub.challenge")}
}

// metaRanks orders the states of a message. One that failed stays so.
var metaRanks = map[string]int64{"sent": 1, "delivered": 2, "read": 3, "played": 4, "failed": 5}

// Paths in the parts of a request.
const (
	metaID = iota
	metaField
	metaStatus
	metaTime
	metaMessages
	metaStatuses
	metaMessaging
	metaChanges
	metaSlots
)

var (
	metaEntry  = pathsTo(map[string]int{"id": metaID, "changes": metaChanges, "messaging": metaMessaging})
	metaChange = pathsTo(map[string]int{"field": metaField, "value.messages": metaMessages, "value.statuses": metaStatuses})
	metaPart   = pathsTo(map[string]int{"id": metaID, "status": metaStatus, "timestamp": metaTime})
	metaChat   = pathsTo(map[string]int{"message.mid": metaID, "timestamp": metaTime})
)

func pathsTo(slots map[string]int) *node {
	n := newNode()
	for path, slot := range slots {
		n.at(strings.Split(path, ".")).slot = slot
	}
	return n
}

// part is a piece of a request and what was found in it.
type part struct {
	raw   []byte
	found [metaSlots]span
}

func partOf(raw []byte, n *node) (*part, error) {
	p := &part{raw: raw}
	return p, scan(raw, n, p.found[:])
}

func (p *part) at(slot int) []byte { return p.raw[p.found[slot].from:p.found[slot].to] }

func (p *part) text(slot int) string {
	s, _ := text(p.at(slot))
	return s
}

// each calls f with the elements of an array of the part.
func (p *part) each(slot int, f func([]byte) error) error {
	raw := p.at(slot)
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	return elements(raw, f)
}

func metaItems(r *Request) ([]*Item, error) {
	m := &meta{request: r}
	err := each(r.Body, []string{"entry", "[]"}, func(raw []byte) error {
		entry, err := partOf(raw, metaEntry)
		if err != nil {
			return err
		}
		id := entry.text(metaID)
		if err := entry.each(metaChanges, func(raw []byte) error { return m.change(id, raw) }); err != nil {
			return err
		}
		return entry.each(metaMessaging, func(raw []byte) error { return m.chat(id, raw) })
	})
	return m.items, err
}

type meta struct {
	request *Request
	items   []*Item
}

func (m *meta) add(i *Item) {
	i.Header, i.ContentType = m.request.Header, m.request.Header.Get("Content-Type")
	i.ID = storableKey(i.ID)
	m.items = append(m.items, i)
}

func (m *meta) change(entry string, raw []byte) error {
	c, err := partOf(raw, metaChange)
	if err != nil {
		return err
	}
	field, before := c.text(metaField), len(m.items)
	err = c.each(metaMessages, func(raw []byte) error { return m.message(entry, field, raw) })
	if err != nil {
		return err
	}
	if err := c.each(metaStatuses, func(raw []byte) error { return m.status(entry, field, raw) }); err != nil {
		return err
	}
	if len(m.items) == before {
		m.hashed(entry, field, raw)
	}
	return nil
}

func (m *meta) message(entry, field string, raw []byte) error {
	p, err := partOf(raw, metaPart)
	if err != nil {
		return err
	}
	id := p.text(metaID)
	if strings.TrimSpace(id) == "" {
		m.hashed(entry, field, raw)
		return nil
	}
	i := &Item{ID: id, Quality: ProviderID, Type: field, Body: raw, Resource: &idemsvc.Resource{Type: "message", Id: storableKey(id)}}
	i.OccurredAt, _ = instant(p.text(metaTime), unitSeconds)
	m.add(i)
	return nil
}

func (m *meta) status(entry, field string, raw []byte) error {
	p, err := partOf(raw, metaPart)
	if err != nil {
		return err
	}
	id, status := p.text(metaID), p.text(metaStatus)
	if strings.TrimSpace(id) == "" || status == "" {
		m.hashed(entry, field, raw)
		return nil
	}
	i := &Item{
		ID: joined([]string{id, status}), Quality: Composite, Type: "statuses." + status, Body: raw,
		Resource: &idemsvc.Resource{Type: "status", Id: storableKey(id)},
	}
	if rank, ok := metaRanks[status]; ok {
		i.Version = idemsvc.Sequence(rank)
	}
	i.OccurredAt, _ = instant(p.text(metaTime), unitSeconds)
	m.add(i)
	return nil
}

// chat is an event of Messenger or Instagram.
func (m *meta) chat(entry string, raw []byte) error {
	p, err := partOf(raw, metaChat)
	if err != nil {
		return err
	}
	id := p.text(metaID)
	if strings.TrimSpace(id) == "" {
		m.hashed(entry, "messaging", raw)
		return nil
	}
	i := &Item{ID: id, Quality: ProviderID, Type: "messaging", Body: raw, Resource: &idemsvc.Resource{Type: "message", Id: storableKey(id)}}
	i.OccurredAt, _ = instant(p.text(metaTime), unitMillis)
	m.add(i)
	return nil
}

// hashed is for what has no ID at all.
func (m *meta) hashed(entry, field string, raw []byte) {
	m.add(&Item{ID: joined([]string{entry, field, hex.EncodeToString(sum(raw))}), Quality: PayloadHash, Type: field, Body: raw})
}
