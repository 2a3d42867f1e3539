package auth

import (
	"fmt"
	"slices"
	"strings"
)

// Revoke takes the entries with the given IDs out of the file and returns them, in the
// file's order. When one of the IDs has no entry, the error wraps [ErrUnknownID] and the
// file is as it was. A server that watches the file refuses their tokens within
// [PollInterval].
func Revoke(path string, ids ...string) ([]Entry, error) {
	var revoked []Entry
	err := change(path, false, func(entries []Entry) ([]Entry, error) {
		missing := slices.Clone(ids)
		kept := []Entry{}
		for _, e := range entries {
			if !slices.Contains(ids, e.ID) {
				kept = append(kept, e)
				continue
			}
			revoked = append(revoked, e)
			missing = slices.DeleteFunc(missing, func(id string) bool { return id == e.ID })
		}
		if len(missing) > 0 {
			return nil, fmt.Errorf("%w: %s; nothing was changed", ErrUnknownID, strings.Join(missing, ", "))
		}
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	return revoked, nil
}
