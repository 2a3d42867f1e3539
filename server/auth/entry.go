package auth

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// maxName bounds names and namespaces, as the contract bounds key parts.
const maxName = 512

// Entry is one token in the file. The file is a JSON array of entries.
type Entry struct {
	// ID names the entry, for revoking it.
	ID string `json:"id"`
	// Name says who holds the token. It is shown to operators as the owner of claims.
	Name string `json:"name"`
	// SHA256 is the hash of the token's text, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Namespaces are those the holder may use, at least one.
	Namespaces []string `json:"namespaces"`
	// Role is what the holder may do in them.
	Role Role `json:"role"`
	// ExpiresAt is when the token ends. Absent: never.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// identity checks the entry and turns it into what the table holds.
func (e *Entry) identity() (sum [32]byte, id *Identity, err error) {
	raw, err := hex.DecodeString(e.SHA256)
	if err != nil || len(raw) != len(sum) {
		return sum, nil, errors.New("sha256 must be 64 hexadecimal digits")
	}
	copy(sum[:], raw)
	if e.ID == "" {
		return sum, nil, errors.New("id is missing")
	}
	if err := checkName("name", e.Name); err != nil {
		return sum, nil, err
	}
	if _, err := ParseRole(string(e.Role)); err != nil {
		return sum, nil, err
	}
	if len(e.Namespaces) == 0 {
		return sum, nil, errors.New("namespaces is empty")
	}
	for _, ns := range e.Namespaces {
		if err := checkName("namespace", ns); err != nil {
			return sum, nil, err
		}
	}
	id = NewIdentity(e.Name, e.Role, e.Namespaces...)
	if e.ExpiresAt != nil {
		id.expires = *e.ExpiresAt
	}
	return sum, id, nil
}

func checkName(what, s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > maxName:
		return fmt.Errorf("%s is longer than %d bytes", what, maxName)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return fmt.Errorf("%s must be UTF-8 without NUL", what)
	}
	return nil
}

// read is what the file holds.
func read(path string) ([]Entry, map[[32]byte]*Identity, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("token table: %w", err)
	}
	entries, byHash, err := parse(data)
	if err != nil {
		return nil, nil, fmt.Errorf("token table %s: %w", path, err)
	}
	return entries, byHash, nil
}

// parse reads the file's content. All entries at fault are reported together.
func parse(data []byte) ([]Entry, map[[32]byte]*Identity, error) {
	var entries []Entry
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&entries); {
	case errors.Is(err, io.EOF):
		return nil, nil, errors.New("it is empty: a table without tokens is []")
	case err != nil:
		return nil, nil, err
	case dec.More():
		return nil, nil, errors.New("something follows the array of tokens")
	}
	byHash := make(map[[32]byte]*Identity, len(entries))
	ids := make(map[string]bool, len(entries))
	var faults []error
	for i := range entries {
		sum, id, err := entries[i].identity()
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("token %d (%q): %w", i, entries[i].ID, err))
			continue
		case ids[entries[i].ID], byHash[sum] != nil:
			faults = append(faults, fmt.Errorf("token %d (%q): appears twice", i, entries[i].ID))
			continue
		}
		ids[entries[i].ID] = true
		byHash[sum] = id
	}
	if len(faults) > 0 {
		return nil, nil, errors.Join(faults...)
	}
	return entries, byHash, nil
}
