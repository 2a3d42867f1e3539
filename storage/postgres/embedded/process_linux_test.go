package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
)

// parentEnv makes the test binary a parent that starts a server and waits to
// be killed.
const parentEnv = "IDEMSVC_EMBEDDED_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentEnv); dir != "" {
		parent(dir)
	}
	os.Exit(m.Run())
}

func parent(dir string) {
	s, err := embedded.Start(context.Background(), embedded.Options{DataDir: dir})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(s.PID())
	<-s.Done()
}

// orphan starts a parent, kills it and returns the ID of its server.
func orphan(t *testing.T, dir string) int {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), parentEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent printed %q", line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	return pid
}

func TestParentKilled(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := orphan(t, dir)
	s := start(t, embedded.Options{DataDir: dir})
	if s.PID() == first {
		t.Error("the orphan was adopted")
	}
	if got := value(t, s, "SELECT pg_is_in_recovery()::text"); got != "false" {
		t.Errorf("in recovery: %s", got)
	}
}

func TestDropsRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	s := start(t, embedded.Options{DataDir: dataDir(t)})
	for _, path := range []string{fmt.Sprintf("/proc/%d", s.PID()), s.DataDir(), s.ClusterDir()} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			t.Fatalf("%T", info.Sys())
		}
		u, err := user.LookupId(strconv.Itoa(int(st.Uid)))
		if err != nil {
			t.Fatal(err)
		}
		if u.Username != "postgres" && u.Username != "nobody" {
			t.Errorf("%s belongs to %s", path, u.Username)
		}
	}
}

func TestUnreachableDataDir(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), embedded.Options{DataDir: closed + "/pg"})
	if err == nil || !strings.Contains(err.Error(), "may not enter") {
		t.Errorf("got %v, want the folder that is in the way", err)
	}
}
