package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"
)

// Prefix begins every token's text, so that leaked ones can be searched for.
const Prefix = "idk_"

// Create makes a token, adds it to the file (which is made if it does not exist, for
// its owner alone) and returns its text, which is kept nowhere. A ttl of zero makes a
// token without end; others are cut to seconds. An error that wraps [ErrInvalid] names
// what is wrong with the arguments. After an error the file is as it was.
func Create(path, name string, namespaces []string, role Role, ttl time.Duration) (token string, e Entry, err error) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	token = Prefix + base64.RawURLEncoding.EncodeToString(secret[:])
	sum := sha256.Sum256([]byte(token))
	e = Entry{
		ID: "tok_" + hex.EncodeToString(sum[:6]), Name: name, SHA256: hex.EncodeToString(sum[:]),
		Namespaces: namespaces, Role: role,
	}
	if ttl > 0 {
		until := time.Now().Add(ttl).UTC().Truncate(time.Second)
		e.ExpiresAt = &until
	}
	if _, _, err := e.identity(); err != nil {
		return "", Entry{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	err = change(path, true, func(entries []Entry) ([]Entry, error) { return append(entries, e), nil })
	if err != nil {
		return "", Entry{}, err
	}
	return token, e, nil
}
