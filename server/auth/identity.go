package auth

import "time"

// Identity is who a call comes from.
type Identity struct {
	name       string
	role       Role
	namespaces map[string]struct{}
	expires    time.Time
}

// NewIdentity is an identity that no token stands for, such as that of a development
// server without tokens.
func NewIdentity(name string, role Role, namespaces ...string) *Identity {
	id := &Identity{name: name, role: role, namespaces: make(map[string]struct{}, len(namespaces))}
	for _, ns := range namespaces {
		id.namespaces[ns] = struct{}{}
	}
	return id
}

// Name is the name of the caller's token.
func (i *Identity) Name() string { return i.name }

// Role is what the caller may do.
func (i *Identity) Role() Role { return i.role }

// May reports whether the caller may use the namespace.
func (i *Identity) May(namespace string) bool {
	_, ok := i.namespaces[namespace]
	return ok
}

// expired reports whether the token has ended by then.
func (i *Identity) expired(now time.Time) bool { return !i.expires.IsZero() && !now.Before(i.expires) }
