package docrun

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Copy makes a folder with a copy of all files of the repository, uncommitted ones
// included, and nothing that was built but the environments of the clients in other
// languages, which are good for every copy with equal files. It needs git. The caller
// removes the folder.
func Copy(ctx context.Context, repository string) (dir string, err error) {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = repository
	files, err := list.Output()
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "idemsvc-copy-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	// PostgreSQL that root starts runs as another user.
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", err
	}
	for name := range bytes.SplitSeq(bytes.TrimRight(files, "\x00"), []byte{0}) {
		err := copyFile(repository, dir, string(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // deleted, not yet committed
			return "", err
		}
	}
	clients, err := filepath.Abs(filepath.Join(repository, "build", "clients"))
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.MkdirAll(clients, 0o755), os.Mkdir(filepath.Join(dir, "build"), 0o755)); err != nil {
		return "", err
	}
	return dir, os.Symlink(clients, filepath.Join(dir, "build", "clients"))
}

func copyFile(repository, dir, name string) error {
	from, to := filepath.Join(repository, name), filepath.Join(dir, name)
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
