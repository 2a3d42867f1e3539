package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Prefix begins every token's text, so that leaked ones can be searched for.
const Prefix = "idk_"

// Create makes a token, adds it to the file (which is made if it does not exist, for
// its owner alone) and returns its text, which is kept nowhere. A ttl of zero makes a
// token without end. Two processes must not change one file at the same time.
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
		return "", Entry{}, err
	}
	entries, err := stored(path)
	if err != nil {
		return "", Entry{}, err
	}
	if err := write(path, append(entries, e)); err != nil {
		return "", Entry{}, err
	}
	return token, e, nil
}

func stored(path string) ([]Entry, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read token table: %w", err)
	}
	entries, _, err := parse(data)
	return entries, err
}

// write replaces the file in one step: readers see the old or the new one.
func write(path string, entries []Entry) (err error) {
	data, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return fmt.Errorf("write token table: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tokens-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write token table: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write token table: %w", errors.Join(err, os.Remove(f.Name())))
		}
	}()
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
