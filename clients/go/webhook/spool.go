package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// SpoolOption changes a spool.
type SpoolOption func(*spoolConfig)

type spoolConfig struct {
	dir     string
	max     int64
	segment int64
}

const (
	defaultSpool   = 1 << 30
	segmentsOfMax  = 16      // so that room comes free while a full spool is forwarded
	maxSegment     = 8 << 20 // bytes
	minSpool       = 1 << 16
	spoolSuffix    = ".spool"
	refusedSuffix  = ".refused"
	lockName       = "lock"
	spoolFileMode  = 0o600
	spoolDirectory = 0o700
)

// Spool keeps genuine requests in a folder while the service is away: each is written,
// synced to the disk and only then answered with success. They are handled in their order
// when the service is back, and requests that come meanwhile queue up behind them. The
// folder must be on a disk that outlives the process, belong to one [Handler], and be kept
// from others: it holds bodies and headers as they came.
//
// Without a spool a request is answered 503 while the service is away, and the provider
// repeats, if it does.
func Spool(dir string, opts ...SpoolOption) Option {
	return func(c *config) {
		s := &spoolConfig{dir: dir, max: defaultSpool}
		for _, o := range opts {
			o(s)
		}
		c.spool = s
	}
}

// MaxSpool is how many bytes are kept at most, 64 KiB or more. What does not fit is
// answered 503. Default: 1 GiB.
func MaxSpool(bytes int64) SpoolOption { return func(s *spoolConfig) { s.max = bytes } }

var (
	errSpoolFull   = errors.New("the spool is full")
	errSpoolClosed = errors.New("the spool is closed")
)

// spool is a folder of append-only files. Each begins anew when the process does: only
// what was synced counts, and the rest of a torn write stays where it is until its file
// goes.
type spool struct {
	cfg  spoolConfig
	log  *slog.Logger
	lock *os.File

	kick   chan struct{} // something is to be written
	ready  chan struct{} // something is to be forwarded
	writer sync.WaitGroup

	mu      sync.Mutex
	files   []*spoolFile // oldest first; the last one is written to unless it is sealed
	size    int64        // of all files, and of what waits to be written
	open    int          // records that are not settled
	untried int          // those of them that have not had their first turn
	queue   []*spoolWrite
	number  uint64 // of the newest file
	closing bool
}

// spoolFile is one of them.
type spoolFile struct {
	path    string
	f       *os.File
	size    int64
	records []spoolPlace // synced ones
	next    int          // the first that was not yet taken
	settled int
	sealed  bool // nothing more is written
}

type spoolPlace struct{ at, length int64 }

type spoolWrite struct {
	data []byte
	done chan error
}

// spooled is a record on its way.
type spooled struct {
	file  *spoolFile
	place spoolPlace
	due   time.Time // for its next try
	again bool      // it was tried before
}

func openSpool(cfg spoolConfig, log *slog.Logger) (*spool, error) {
	if cfg.max < minSpool {
		return nil, fmt.Errorf("the spool is to hold %d bytes, and must hold %d or more", cfg.max, minSpool)
	}
	cfg.segment = min(cfg.max/segmentsOfMax, maxSegment)
	if err := os.MkdirAll(cfg.dir, spoolDirectory); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(cfg.dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("the spool %s is another handler's: %w", cfg.dir, err)
	}
	s := &spool{cfg: cfg, log: log, lock: lock, kick: make(chan struct{}, 1), ready: make(chan struct{}, 1)}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	s.writer.Go(s.write)
	signal(s.ready)
	return s, nil
}

// load finds what an earlier process left.
func (s *spool) load() error {
	entries, err := os.ReadDir(s.cfg.dir) // sorted by name, and so by age
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(s.cfg.dir, e.Name())
		info, err := e.Info()
		if err != nil {
			return err
		}
		if strings.HasSuffix(e.Name(), refusedSuffix) {
			s.size += info.Size()
			continue
		}
		name, ok := strings.CutSuffix(e.Name(), spoolSuffix)
		if !ok {
			continue
		}
		var number uint64
		if _, err := fmt.Sscanf(name, "%016x", &number); err != nil {
			return fmt.Errorf("%s is no file of a spool", path)
		}
		s.number = max(s.number, number)
		if err := s.loadFile(path, info.Size()); err != nil {
			return err
		}
	}
	return nil
}

func (s *spool) loadFile(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	records, damaged, torn, err := readPlaces(f, size)
	if err != nil {
		return errors.Join(fmt.Errorf("reading %s: %w", path, err), f.Close())
	}
	if damaged > 0 {
		s.log.Error("a file of the spool is damaged before its end: what stood there is lost", slog.String("path", path), slog.Int64("bytes", damaged))
	}
	if torn > 0 {
		s.log.Warn("the last write to the spool was cut off: it was never answered with success", slog.String("path", path), slog.Int64("bytes", torn))
	}
	if len(records) == 0 {
		return errors.Join(f.Close(), os.Remove(path))
	}
	s.files = append(s.files, &spoolFile{path: path, f: f, size: size, records: records, sealed: true})
	s.size += size
	s.open += len(records)
	s.untried += len(records)
	return nil
}

// waiting reports whether something has not had its turn yet.
func (s *spool) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.untried > 0 || len(s.queue) > 0
}

// unsettled is how many records there are, and wait to be written.
func (s *spool) unsettled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open + len(s.queue)
}

// append keeps a record. It is on the disk when this returns.
func (s *spool) append(payload []byte) error {
	w := &spoolWrite{data: spoolRecord(payload), done: make(chan error, 1)}
	s.mu.Lock()
	switch {
	case s.closing:
		s.mu.Unlock()
		return errSpoolClosed
	case s.size+int64(len(w.data)) > s.cfg.max:
		s.mu.Unlock()
		return errSpoolFull
	}
	s.size += int64(len(w.data))
	s.queue = append(s.queue, w)
	s.mu.Unlock()
	signal(s.kick)
	return <-w.done
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write writes what is queued, all that there is with one sync, until the spool is closed.
func (s *spool) write() {
	for range s.kick {
		for {
			s.mu.Lock()
			queue := s.queue
			s.mu.Unlock()
			if len(queue) == 0 {
				break
			}
			s.writeAll(queue)
		}
		s.mu.Lock()
		closing := s.closing
		s.mu.Unlock()
		if closing {
			return
		}
	}
}

func (s *spool) writeAll(queue []*spoolWrite) {
	file, err := s.writable()
	var all []byte
	for _, w := range queue {
		all = append(all, w.data...)
	}
	if err == nil {
		if _, err = file.f.Write(all); err == nil {
			err = file.f.Sync()
		}
	}
	s.mu.Lock()
	s.queue = s.queue[len(queue):]
	if err != nil {
		s.size -= int64(len(all))
		if file != nil { // what is in it now is not known: nothing more goes there
			file.sealed = true
			if info, e := file.f.Stat(); e == nil {
				s.size += info.Size() - file.size
				file.size = info.Size()
			}
			s.drop(file)
		}
	} else {
		for _, w := range queue {
			file.records = append(file.records, spoolPlace{at: file.size, length: int64(len(w.data))})
			file.size += int64(len(w.data))
		}
		s.open += len(queue)
		s.untried += len(queue)
	}
	s.mu.Unlock()
	for _, w := range queue {
		w.done <- err
	}
	signal(s.ready)
}

// writable is the file to write to, a new one where the last is full.
func (s *spool) writable() (*spoolFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.files); n > 0 && !s.files[n-1].sealed {
		if last := s.files[n-1]; last.size < s.cfg.segment {
			return last, nil
		}
		s.files[n-1].sealed = true
		s.drop(s.files[n-1])
	}
	s.number++
	path := filepath.Join(s.cfg.dir, fmt.Sprintf("%016x%s", s.number, spoolSuffix))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, spoolFileMode)
	if err != nil {
		return nil, err
	}
	if err := syncDir(s.cfg.dir); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	file := &spoolFile{path: path, f: f}
	s.files = append(s.files, file)
	return file, nil
}

// take is the next records in their order, at most n.
func (s *spool) take(n int) []*spooled {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*spooled
	for _, f := range s.files {
		for f.next < len(f.records) && len(out) < n {
			out = append(out, &spooled{file: f, place: f.records[f.next]})
			f.next++
		}
	}
	return out
}

// read is what a record holds.
func (s *spool) read(r *spooled) ([]byte, error) {
	b := make([]byte, r.place.length)
	if _, err := r.file.f.ReadAt(b, r.place.at); err != nil {
		return nil, err
	}
	payload, _, ok := parseRecord(b)
	if !ok {
		return nil, fmt.Errorf("the record at %d of %s is damaged", r.place.at, r.file.path)
	}
	return payload, nil
}

// tried notes that a record has had its first turn: later requests need not wait for it.
func (s *spool) tried() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.untried--
}

// settle forgets a record. Its file goes with its last one.
func (s *spool) settle(r *spooled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.file.settled++
	s.open--
	if s.open > 0 || len(s.queue) > 0 {
		s.drop(r.file)
		return
	}
	for _, f := range slices.Clone(s.files) {
		f.sealed = true
		s.drop(f)
	}
}

// refuse puts aside a record that can never be settled, for a person to look at.
func (s *spool) refuse(r *spooled, id string) error {
	b := make([]byte, r.place.length)
	if _, err := r.file.f.ReadAt(b, r.place.at); err != nil {
		return err
	}
	path := filepath.Join(s.cfg.dir, id+refusedSuffix)
	if err := writeSynced(path, b); err != nil {
		return err
	}
	s.mu.Lock()
	s.size += r.place.length
	s.mu.Unlock()
	s.settle(r)
	return nil
}

// drop removes a file that is done with. The lock is held.
func (s *spool) drop(f *spoolFile) {
	if !f.sealed || f.settled < len(f.records) {
		return
	}
	i := slices.Index(s.files, f)
	if i < 0 {
		return
	}
	if err := errors.Join(f.f.Close(), os.Remove(f.path)); err != nil {
		s.log.Error("a file of the spool cannot be removed: it will be forwarded again at the next start, which does no harm", slog.Any("error", err))
	}
	s.files = slices.Delete(s.files, i, i+1)
	s.size -= f.size
}

func (s *spool) close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	signal(s.kick)
	s.writer.Wait()
	return s.closeFiles()
}

func (s *spool) closeFiles() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.f.Close())
	}
	s.files = nil
	return errors.Join(append(errs, s.lock.Close())...)
}
