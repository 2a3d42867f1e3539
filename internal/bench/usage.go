package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tick is the unit of CPU time in /proc: USER_HZ, which is 100 on every Linux.
const tick = 10_000 // microseconds

// usage is what was used since some beginning. CPU is in microseconds.
type usage struct {
	postgres int64 // the database, all its processes
	server   int64 // the server that is asked
	client   int64 // this process
	wal      int64 // bytes of write-ahead log
}

func (u usage) plus(v usage) usage {
	return usage{postgres: u.postgres + v.postgres, server: u.server + v.server, client: u.client + v.client, wal: u.wal + v.wal}
}

func (u usage) minus(v usage) usage {
	return usage{postgres: u.postgres - v.postgres, server: u.server - v.server, client: u.client - v.client, wal: u.wal - v.wal}
}

// accounted tells whether this machine says what a process used.
func accounted() bool {
	_, err := readProcess(os.Getpid())
	return err == nil
}

// used is what has been used so far. A postmaster or server of 0 is not looked at, and
// nothing but the log is where the machine does not tell.
func used(ctx context.Context, db *database, postmaster, server int) (u usage, err error) {
	if u.wal, err = db.wal(ctx); err != nil || !accounted() {
		return u, err
	}
	if postmaster != 0 {
		if u.postgres, err = family(postmaster); err != nil {
			return u, err
		}
	}
	if server != 0 {
		if u.server, err = cpu(server); err != nil {
			return u, err
		}
	}
	u.client, err = cpu(os.Getpid())
	return u, err
}

// process is what /proc tells of a process.
type process struct {
	parent           int
	name             string
	own, ofDeadChild int64 // CPU in ticks
	pages            int64 // in memory
}

func readProcess(pid int) (process, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	open, shut := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || shut < open {
		return process{}, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	f := strings.Fields(string(data[shut+1:]))
	const parent, user, childSystem, resident = 1, 11, 14, 21 // ppid, utime, stime, cutime, cstime, rss
	if len(f) <= resident {
		return process{}, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	p := process{name: string(data[open+1 : shut])}
	var faults []error
	number := func(field int) int64 {
		n, err := strconv.ParseInt(f[field], 10, 64)
		if err != nil {
			faults = append(faults, err)
		}
		return n
	}
	p.parent = int(number(parent))
	p.own = number(user) + number(user+1)
	p.ofDeadChild = number(childSystem-1) + number(childSystem)
	p.pages = number(resident)
	return p, errors.Join(faults...)
}

// cpu is the CPU time of a process in microseconds.
func cpu(pid int) (int64, error) {
	p, err := readProcess(pid)
	return p.own * tick, err
}

// memory is how many bytes of a process are in memory; 0 where that cannot be told.
func memory(pid int) int64 {
	p, err := readProcess(pid)
	if pid == 0 || err != nil {
		return 0
	}
	return p.pages * int64(os.Getpagesize())
}

// family is the CPU time of a process and its children, dead ones too.
func family(pid int) (int64, error) {
	p, err := readProcess(pid)
	if err != nil {
		return 0, err
	}
	sum := p.own + p.ofDeadChild
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		child, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if c, err := readProcess(child); err == nil && c.parent == pid { // it may have ended
			sum += c.own
		}
	}
	return sum * tick, nil
}

// postmasterOf is the parent of a session's process, if it is on this machine; else 0.
func postmasterOf(backend int) int {
	p, err := readProcess(backend)
	if err != nil || !strings.HasPrefix(p.name, "postgres") {
		return 0
	}
	parent, err := readProcess(p.parent)
	if err != nil || !strings.HasPrefix(parent.name, "postgres") {
		return 0
	}
	return p.parent
}
