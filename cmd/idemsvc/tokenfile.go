package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/idemsvc/idemsvc/server/auth"
)

// readTokens reads a token file that holds no faults.
func readTokens(path string) ([]auth.Entry, error) {
	if path == "" {
		return nil, usageError{errors.New("--tokens is required")}
	}
	if _, err := auth.Load(path); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var entries []auth.Entry
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("read token table: %w", err)
	}
	return entries, nil
}

// writeTokens replaces the file in one step: a server reads the old or the new one.
func writeTokens(path string, entries []auth.Entry) (err error) {
	if entries == nil {
		entries = []auth.Entry{}
	}
	data, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tokens-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// without is the entries but those of the given IDs, and the IDs that none has.
func without(entries []auth.Entry, ids []string) (kept []auth.Entry, missing []string) {
	missing = slices.Clone(ids)
	for _, e := range entries {
		if slices.Contains(ids, e.ID) {
			missing = slices.DeleteFunc(missing, func(id string) bool { return id == e.ID })
			continue
		}
		kept = append(kept, e)
	}
	return kept, missing
}
