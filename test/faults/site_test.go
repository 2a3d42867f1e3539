//go:build linux

package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/internal/childproc"
	"github.com/idemsvc/idemsvc/internal/pgtest"
	"github.com/idemsvc/idemsvc/storage/postgres/embedded"
	"github.com/idemsvc/idemsvc/storage/storagetest/wire"
)

// site is two servers, some clients and their database, all of them processes that can be
// killed.
type site struct {
	t       *testing.T
	rng     *rand.Rand
	dir     string
	program string
	pg      *embedded.Server
	admin   *pgxpool.Pool
	proxy   *wire.Proxy
	slow    *slowDisk
	servers []*serverProcess
	clients []*clientProcess
	check   *checker
	job     func(id int, ledger string) (variable string, job any) // what a client is told, by which variable
	heard   func([]line)                                           // takes in what clients have written
	began   time.Time
	started int // clients, in all
	cut     int // connections that were to be cut, in all
}

// lockedBuffer keeps the end of what a process writes to its standard error.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() > 1<<20 {
		b.buf.Next(b.buf.Len() / 2)
	}
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newSite(t *testing.T, seed uint64, o embedded.Options) *site {
	t.Helper()
	s := &site{t: t, rng: rand.New(rand.NewPCG(seed, 1)), dir: sharedDir(t), program: buildProgram(t), began: time.Now()}
	s.slow = newSlowDisk(t, &o)
	s.pg = pgtest.Cluster(t, o)
	url := s.pg.URL("postgres")
	if err := migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if s.admin, err = pgxpool.NewWithConfig(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.admin.Close)
	s.mood(t)
	network, address := pgconn.NetworkAddress(cfg.ConnConfig.Host, cfg.ConnConfig.Port)
	s.proxy = wire.New(seed, wire.To(network, address))
	t.Cleanup(s.proxy.Close)
	if err := s.proxy.Listen(t.Context(), s.dir); err != nil {
		t.Fatal(err)
	}
	s.check = &checker{campaignID: campaignID{seed}, admin: s.admin, events: map[int64]*history{}, fresh: map[int64]bool{}, counts: map[string]int{}}
	s.job, s.heard = s.claimer, s.check.read
	for range 2 {
		p := &serverProcess{s: s, addr: "127.0.0.1:0", log: &lockedBuffer{}}
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		s.servers = append(s.servers, p)
	}
	t.Cleanup(func() {
		for _, p := range s.servers {
			p.end()
		}
		for _, p := range s.clients {
			p.end()
		}
	})
	return s
}

// databaseURL leads through the proxy.
func (s *site) databaseURL() string {
	return "postgres://postgres@/postgres?host=" + s.dir + "&port=5432"
}

// serverProcess is one server of the service. It keeps its address over restarts.
type serverProcess struct {
	s    *site
	addr string
	log  *lockedBuffer
	proc *childproc.Process
}

func (p *serverProcess) start() error {
	cmd := exec.CommandContext(context.WithoutCancel(p.s.t.Context()), p.s.program, "serve", "--listen", p.addr, "--database-url", p.s.databaseURL(),
		"--start-timeout", "60s", "--log-level", "warn")
	cmd.Stderr = p.log
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.Stdout = w
	p.proc, err = childproc.Start(cmd, syscall.SIGKILL)
	_ = w.Close()
	if err != nil {
		return err
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	_, rest, ok := strings.Cut(line, "listens on ")
	if !ok {
		return fmt.Errorf("a server does not listen: %q %w\n%s", line, err, p.log)
	}
	p.addr, _, _ = strings.Cut(rest, ",")
	return nil
}

func (p *serverProcess) end() {
	_ = p.proc.Signal(syscall.SIGCONT)
	_ = p.proc.Signal(syscall.SIGKILL)
	<-p.proc.Done()
}

// clientProcess is one client.
type clientProcess struct {
	proc *childproc.Process
	log  *lockedBuffer
	read reader
}

// startClient starts a client process in place of the one at i, or a further one.
func (s *site) startClient(i int) error {
	s.started++
	path := filepath.Join(s.dir, "ledger-"+strconv.Itoa(s.started))
	variable, job := s.job(s.started, path)
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := &clientProcess{log: &lockedBuffer{}, read: reader{path: path}}
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), self)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	cmd.Stdout, cmd.Stderr = io.Discard, c.log
	if c.proc, err = childproc.Start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	if i < len(s.clients) {
		s.clients[i] = c
	} else {
		s.clients = append(s.clients, c)
	}
	return nil
}

// claimer is a client that claims what it makes up.
func (s *site) claimer(id int, ledger string) (string, any) {
	return asClient, clientJob{campaignID: s.check.campaignID, ID: id, Servers: s.addresses(), Ledger: ledger, Workers: 8, Began: s.began.UnixMicro()}
}

func (s *site) addresses() (list []string) {
	for _, p := range s.servers {
		list = append(list, p.addr)
	}
	return list
}

func (c *clientProcess) end() {
	_ = c.proc.Signal(syscall.SIGCONT)
	_ = c.proc.Signal(syscall.SIGKILL)
	<-c.proc.Done()
}

// collect reads what the clients have written, also those that are gone.
func (s *site) collect(c *clientProcess) error {
	lines, err := c.read.next()
	if err == nil {
		s.heard(lines)
	}
	return err
}

func (s *site) collectAll() error {
	for _, c := range s.clients {
		if err := s.collect(c); err != nil {
			return err
		}
	}
	return nil
}

// backends are the processes of the database's sessions.
func (s *site) backends() []int {
	parent := strconv.Itoa(s.pg.PID())
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	var list []int
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil || len(fields) < 2 || fields[1] != parent {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err == nil && bytes.Contains(cmdline, []byte("postgres: postgres postgres ")) {
			list = append(list, pid)
		}
	}
	return list
}
