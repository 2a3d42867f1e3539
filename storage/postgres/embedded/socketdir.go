package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/idemsvc/idemsvc/internal/childproc"
)

// maxSocketDir is the longest folder in which a socket can be bound: macOS
// allows 103 bytes for the whole path, Linux 107.
const maxSocketDir = 103 - len("/.s.PGSQL.65535")

// holdsSocket reports whether a socket in the folder can be bound and named: in
// connection strings a comma separates hosts.
func holdsSocket(dir string) bool { return len(dir) <= maxSocketDir && !strings.Contains(dir, ",") }

// socketDir creates the folder of the Unix socket, which only the account may
// enter: within the data directory or, where that path cannot hold one, in the
// system's temporary folder under a name that is the same at each start.
func socketDir(l layout, account childproc.Account) (string, error) {
	dir := l.sock()
	if !holdsSocket(dir) {
		sum := sha256.Sum256([]byte(l.root))
		dir = filepath.Join(os.TempDir(), "idemsvc-pg-"+hex.EncodeToString(sum[:8]))
	}
	if !holdsSocket(dir) {
		return "", fmt.Errorf("no folder for a Unix socket: both %s and %s are longer than %d bytes or have a comma in them", l.sock(), dir, maxSocketDir)
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		// Anyone may make a folder in the temporary one, so look whose it is.
		info, err := os.Lstat(dir)
		if err != nil {
			return "", err
		}
		if !info.IsDir() || !account.Owns(dir) || info.Mode().Perm() != 0o700 {
			if dir != l.sock() {
				return "", fmt.Errorf("%s is not a private folder of the user that runs PostgreSQL: remove it", dir)
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				return "", err
			}
		}
	} else if err != nil {
		return "", err
	}
	if err := account.Own(dir); err != nil {
		return "", err
	}
	return dir, account.CheckReach(dir)
}
