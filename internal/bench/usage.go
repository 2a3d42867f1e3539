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

// usage is what was used since some beginning.
type usage struct {
	postgres int64 // CPU of the database in microseconds, all its processes; -1: not to be told
	server   int64 // CPU of the server
	client   int64 // CPU of this process
	wal      int64 // bytes of write-ahead log
}

func (u usage) minus(v usage) usage {
	return usage{postgres: u.postgres - v.postgres, server: u.server - v.server, client: u.client - v.client, wal: u.wal - v.wal}
}

func (s *site) usage(ctx context.Context) (usage, error) {
	var u usage
	if err := s.admin.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&u.wal); err != nil {
		return u, err
	}
	var err error
	if s.postmaster != 0 {
		if u.postgres, err = family(s.postmaster); err != nil {
			return u, err
		}
	}
	if u.server, err = cpu(s.server.PID()); err != nil {
		return u, err
	}
	u.client, err = cpu(os.Getpid())
	return u, err
}

// process is what /proc tells of a process.
type process struct {
	parent           int
	name             string
	own, ofDeadChild int64 // CPU in ticks
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
	const parent, user, childSystem = 1, 11, 14 // ppid, utime, stime, cutime, cstime
	if len(f) <= childSystem {
		return process{}, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	p := process{name: string(data[open+1 : shut])}
	var faults []error
	if p.parent, err = strconv.Atoi(f[parent]); err != nil {
		faults = append(faults, err)
	}
	for i := user; i <= childSystem; i++ {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			faults = append(faults, err)
		}
		if i < user+2 {
			p.own += n
		} else {
			p.ofDeadChild += n
		}
	}
	return p, errors.Join(faults...)
}

// cpu is the CPU time of a process in microseconds.
func cpu(pid int) (int64, error) {
	p, err := readProcess(pid)
	return p.own * tick, err
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
