package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Errors of changes, wrapped around what is wrong.
var (
	// ErrInvalid: the token that is to be made would not be valid.
	ErrInvalid = errors.New("not a valid token")
	// ErrUnknownID: no entry has the ID.
	ErrUnknownID = errors.New("no token has the ID")
)

// List is what the file holds, in its order. The error of a file that does not exist
// wraps [fs.ErrNotExist].
func List(path string) ([]Entry, error) {
	entries, _, err := read(path)
	return entries, err
}

// change replaces the file's entries by what f makes of them. Changes of several
// processes happen one after the other; readers see the file before or after one.
func change(path string, mayBeNew bool, f func([]Entry) ([]Entry, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	if _, err := os.Stat(path); err != nil && (!mayBeNew || !errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("token table: %w", err)
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return fmt.Errorf("change token table: %w", err)
	}
	defer unlock()
	entries, err := List(path)
	if err != nil && (!mayBeNew || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if entries, err = f(entries); err != nil {
		return err
	}
	if err := replace(path, entries); err != nil {
		return fmt.Errorf("change token table: %w", err)
	}
	return nil
}

// replace writes the file anew and puts it in its place in one step. Who may read it
// stays as it was: a server that cannot would keep tokens that are revoked.
func replace(path string, entries []Entry) (err error) {
	data, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tokens-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(append(data, '\n'))
	if old, statErr := os.Stat(path); statErr == nil {
		err = errors.Join(err, f.Chmod(old.Mode().Perm()), giveTo(f, old))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
