package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/childproc"
)

const (
	namespace = "bench"
	consumer  = "bench"
	// connections are those of all callers together, as a fleet has several.
	connections = 4
	startTime   = 30 * time.Second
	// moreSettings leads the variables that set something for the server under test.
	moreSettings = "IDEMSVC_BENCH_SERVER_"
)

// service is a server in a process of its own, so that its CPU can be told from the
// callers', and its clients in this one.
type service struct {
	undo
	proc     *childproc.Process
	addr     string
	clients  []*idemsvc.Client
	sessions []*idemsvc.Session
	streams  []*idemsvc.Client // each with all its commands over one stream
}

// serve starts the server on a database as «serve» does: with all its defaults, and with
// its log going to a pipe that is read. More variables may be set for it.
func serve(ctx context.Context, program []string, databaseURL string, more ...string) (*service, error) {
	at, err := withName(databaseURL, appServer)
	if err != nil {
		return nil, err
	}
	env := []string{"IDEMSVC_DATABASE_URL=" + at, "IDEMSVC_LISTEN=127.0.0.1:0", "IDEMSVC_NAMESPACES=" + namespace}
	for _, kv := range os.Environ() {
		if setting, ok := strings.CutPrefix(kv, moreSettings); ok {
			env = append(env, "IDEMSVC_"+setting)
		}
	}
	return start(ctx, program, []string{"serve"}, append(env, more...))
}

// start starts a server and connects to it.
func start(ctx context.Context, program, args, env []string) (*service, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program[0], slices.Concat(program[1:], args)...) //nolint:gosec // this program
	cmd.Env = append(childproc.Environ("IDEMSVC_"), env...)
	said := &childproc.Tail{}
	cmd.Stderr = said
	server, err := childproc.StartListener(cmd, startTime)
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", args[len(args)-1], err, said)
	}
	v := &service{proc: server.Process, addr: server.Addr}
	v.later(func() error {
		if err := server.Stop(startTime); err != nil {
			return fmt.Errorf("%s: %w%s", args[len(args)-1], err, said)
		}
		return nil
	})
	err = v.dial(ctx, connections)
	return v, err
}

// dial makes clients, each with a session, and as many that do everything over one.
func (v *service) dial(ctx context.Context, clients int) error {
	as := []idemsvc.Option{idemsvc.WithNamespace(namespace), idemsvc.WithConsumer(consumer)}
	for range clients {
		c, err := idemsvc.Dial(v.addr, as...)
		if err != nil {
			return err
		}
		v.later(c.Close)
		session := c.Session(context.WithoutCancel(ctx))
		v.later(session.Close)
		stream, err := idemsvc.Dial(v.addr, append(as, idemsvc.WithSession())...)
		if err != nil {
			return err
		}
		v.later(stream.Close)
		v.clients, v.sessions, v.streams = append(v.clients, c), append(v.sessions, session), append(v.streams, stream)
	}
	return nil
}

func (v *service) client(caller int) *idemsvc.Client   { return v.clients[caller%len(v.clients)] }
func (v *service) stream(caller int) *idemsvc.Client   { return v.streams[caller%len(v.streams)] }
func (v *service) session(caller int) *idemsvc.Session { return v.sessions[caller%len(v.sessions)] }

// pid is the server's process; 0 where there is none.
func (v *service) pid() int {
	if v == nil {
		return 0
	}
	return v.proc.PID()
}
