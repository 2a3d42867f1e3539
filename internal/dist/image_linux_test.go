package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// unpacked is an image as an engine sees it, read by what the specification says.
type unpacked struct {
	config ociConfig
	root   string // the files
}

// readTar is the files of an archive, and their headers.
func readTar(t *testing.T, r io.Reader, each func(h *tar.Header, data []byte)) {
	t.Helper()
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !filepath.IsLocal(h.Name) || !h.ModTime.Equal(testCreated) {
			t.Errorf("%s of %v", h.Name, h.ModTime)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		each(h, data)
	}
}

// unpack checks every digest on the way from the layout to the files, and puts these into
// a folder.
func unpack(t *testing.T, path string) unpacked {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	files := map[string][]byte{}
	readTar(t, f, func(h *tar.Header, data []byte) { files[h.Name] = data })
	blob := func(d descriptor, mediaType string) []byte {
		t.Helper()
		hash := strings.TrimPrefix(d.Digest, "sha256:")
		data := files["blobs/sha256/"+hash]
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash || len(data) != d.Size || d.MediaType != mediaType {
			t.Fatalf("%+v is not what it says", d)
		}
		return data
	}
	read := func(data []byte, v any) {
		t.Helper()
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}
	var layout map[string]string
	var index, manifest ociManifest
	var docker []dockerManifest
	u := unpacked{root: t.TempDir()}
	read(files["oci-layout"], &layout)
	read(files["index.json"], &index)
	read(files["manifest.json"], &docker)
	if layout["imageLayoutVersion"] != "1.0.0" || index.SchemaVersion != 2 || len(index.Manifests) != 1 {
		t.Fatalf("%v %+v", layout, index)
	}
	read(blob(index.Manifests[0], typeManifest), &manifest)
	read(blob(*manifest.Config, typeConfig), &u.config)
	if len(manifest.Layers) != 1 || len(u.config.RootFS.DiffIDs) != 1 {
		t.Fatalf("%+v %+v", manifest, u.config)
	}
	if p := index.Manifests[0].Platform; p.OS != runtime.GOOS || p.Architecture != runtime.GOARCH || *p != u.config.ociPlatform {
		t.Errorf("it is for %+v and %+v", p, u.config.ociPlatform)
	}
	if ref := index.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; ref != "1.2.3-rc.1-test" {
		t.Errorf("it is called %q", ref)
	}
	if len(docker) != 1 || len(docker[0].Layers) != 1 || docker[0].Config != blobPath(manifest.Config.Digest) || docker[0].Layers[0] != blobPath(manifest.Layers[0].Digest) {
		t.Errorf("%+v", docker)
	}
	u.addLayer(t, blob(manifest.Layers[0], typeLayer))
	return u
}

func (u *unpacked) addLayer(t *testing.T, compressed []byte) {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(plain); u.config.RootFS.DiffIDs[0] != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("the layer is not %v", u.config.RootFS.DiffIDs)
	}
	readTar(t, bytes.NewReader(plain), func(h *tar.Header, data []byte) {
		path := filepath.Join(u.root, h.Name)
		mode := h.FileInfo().Mode()
		var err error
		if mode.IsDir() {
			err = os.Mkdir(path, mode.Perm())
		} else {
			err = os.WriteFile(path, data, mode.Perm())
		}
		err = errors.Join(err, os.Chmod(path, mode)) // whatever the umask
		if os.Geteuid() == 0 {
			err = errors.Join(err, os.Chown(path, h.Uid, h.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// command runs the image as an engine does: its files alone, as its user.
func (u *unpacked) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	user, group, _ := strings.Cut(u.config.Config.User, ":")
	uid, errUID := strconv.ParseUint(user, 10, 32)
	gid, errGID := strconv.ParseUint(group, 10, 32)
	if err := errors.Join(errUID, errGID); err != nil || uid == 0 || gid == 0 {
		t.Fatalf("it runs as %q: %v", u.config.Config.User, err)
	}
	argv := append(slices.Clone(u.config.Config.Entrypoint), args...)
	return &exec.Cmd{
		Path: argv[0], Args: argv, Env: u.config.Config.Env, Dir: u.config.Config.WorkingDir,
		SysProcAttr: &syscall.SysProcAttr{
			Chroot: u.root, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, Pdeathsig: syscall.SIGKILL,
		},
	}
}

func TestTheImageRuns(t *testing.T) {
	t.Parallel()
	dist := distribution(t)
	if os.Geteuid() != 0 {
		t.Skip("changing the root folder needs root")
	}
	u := unpack(t, filepath.Join(dist, program()+".oci.tar"))
	for dir := u.root; dir != "/"; dir = filepath.Dir(dir) { // the image's user has to get there
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&1 == 0 && os.Chmod(dir, 0o711) != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if dir == filepath.Dir(os.TempDir()) || dir == os.TempDir() {
			break
		}
	}
	cmd := u.command(t, "version")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this machine does not let root change the root folder")
	}
	if err != nil || !strings.HasPrefix(string(out), "idemsvc "+testVersion+",") {
		t.Fatalf("%s %v", out, err)
	}
	t.Run("serve without a database", u.testNoDatabase)
	t.Run("serve in memory", u.testEphemeral)
}

// Without a database URL it says what is missing, in words that help in a container.
func (u *unpacked) testNoDatabase(t *testing.T) {
	cmd := u.command(t, u.config.Config.Cmd...)
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{"no usable PostgreSQL found", "--database-url (IDEMSVC_DATABASE_URL)", "--ephemeral"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if bytes.Contains(out, []byte("apt-get")) {
		t.Errorf("there is no apt-get in it:\n%s", out)
	}
}

// In memory it is ready in under a second, and decides.
func (u *unpacked) testEphemeral(t *testing.T) {
	fastest := time.Hour
	for range 5 { // the machine may be busy with other things
		fastest = min(fastest, u.serve(t))
		if fastest < time.Second {
			return
		}
	}
	t.Errorf("the fastest start took %v", fastest)
}

func (u *unpacked) serve(t *testing.T) time.Duration {
	t.Helper()
	cmd := u.command(t, "serve", "--ephemeral", "--listen", "127.0.0.1:0", "--json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	runtime.LockOSThread() // the child dies with the thread that started it
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Address string
		Durable bool
	}
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&line); err != nil || line.Durable {
		_ = cmd.Process.Kill()
		t.Fatalf("%+v %v %v\n%s", line, err, cmd.Wait(), errs.String())
	}
	c, err := idemsvc.Dial(line.Address, idemsvc.WithNamespace("dev"), idemsvc.WithConsumer("billing"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	a, err := c.Claim(t.Context(), &idemsvc.Event{Source: "stripe", EventId: "evt_1"})
	took := time.Since(started)
	if err != nil || a.Claim == nil {
		t.Errorf("%v %v", a, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(errs.String(), "NOT DURABLE") {
		t.Errorf("%v\n%s", err, errs.String())
	}
	return took
}
