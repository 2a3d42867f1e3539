package auth

import "fmt"

// Role is what a token allows its holder.
type Role string

// The roles.
const (
	Consumer Role = "consumer" // claim, end claims, check versions, record side effects
	Reader   Role = "reader"   // look things up, change nothing
	Operator Role = "operator" // everything a reader may, and decide about held, dead or blocked events
	Admin    Role = "admin"    // everything a consumer and an operator may, and change policies
)

// Includes reports whether a holder of r may do what needs the given role. No role
// includes an unknown one.
func (r Role) Includes(need Role) bool {
	switch need {
	case Consumer:
		return r == Consumer || r == Admin
	case Reader:
		return r == Reader || r == Operator || r == Admin
	case Operator:
		return r == Operator || r == Admin
	case Admin:
		return r == Admin
	default:
		return false
	}
}

// ParseRole is the role of the given name.
func ParseRole(name string) (Role, error) {
	switch r := Role(name); r {
	case Consumer, Reader, Operator, Admin:
		return r, nil
	default:
		return "", fmt.Errorf("unknown role %q: use consumer, reader, operator or admin", name)
	}
}
