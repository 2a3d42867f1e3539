package demo

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Limits of a folder of payloads.
const (
	maxFileBytes  = 1 << 20  // what the service takes as a payload
	maxTotalBytes = 64 << 20 // all are kept in memory
	maxFiles      = 10000
	maxNotes      = 3
)

// bundled are the project's own samples: invented, in the shapes that providers send.
//
//go:embed payloads
var bundled embed.FS

// Payload is the body of one event as a provider sends it.
type Payload struct {
	Source string // who sends it: the first folder of its path
	ID     string // the event's; see Load
	Type   string // the sender's name for the kind of event
	Folder string // its whole path but the file: payloads side by side are about one thing
	Body   []byte
}

// Payloads are what a storm is made of.
type Payloads struct {
	List  []Payload
	Notes []string // what was left out, for people
}

// Load reads the payloads in a folder and all below it, or the project's own samples if
// dir is empty. Every *.json file holds one, except that an array is a batch of them,
// and that an object with "headers" and "body" is a delivery as it was captured.
//
// The first folder of the path names the source. An event's ID is the one that its
// provider gave it, in a header such as X-GitHub-Delivery or a field such as id; where
// there is none, or several different payloads carry the same, so that it names
// something else, it is the payload's hash. A payload that is there twice counts once.
//
// Files that are no JSON or above 1 MiB are left out, with a note. More than 10000 files
// or 64 MiB, or no payload at all, is an error.
func Load(dir string) (*Payloads, error) {
	if dir == "" {
		files, err := fs.Sub(bundled, "payloads")
		if err != nil {
			return nil, err
		}
		return load(files, "samples")
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	p, err := load(os.DirFS(dir), filepath.Base(abs))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return p, nil
}

// load reads a file system; what stands at its top comes from the source of its name.
func load(files fs.FS, name string) (*Payloads, error) {
	l := loader{files: files, name: name, out: &Payloads{}}
	if err := fs.WalkDir(files, ".", l.visit); err != nil {
		return nil, err
	}
	if l.left > maxNotes {
		l.out.Notes = append(l.out.Notes, fmt.Sprintf("%d more files left out", l.left-maxNotes))
	}
	l.out.List = identify(l.out.List)
	if len(l.out.List) == 0 {
		return nil, errors.Join(append([]error{errors.New("there is no payload in it: no *.json file that holds an object")}, notes(l.out.Notes)...)...)
	}
	return l.out, nil
}

func notes(texts []string) []error {
	out := make([]error, len(texts))
	for i, t := range texts {
		out[i] = errors.New(t)
	}
	return out
}

type loader struct {
	files       fs.FS
	name        string
	out         *Payloads
	count, left int
	bytes       int64
}

func (l *loader) visit(file string, d fs.DirEntry, err error) error {
	if err != nil {
		if file == "." {
			return err
		}
		l.note(file, err)
		return fs.SkipDir
	}
	if !d.Type().IsRegular() || !strings.EqualFold(path.Ext(file), ".json") {
		return nil
	}
	if l.count++; l.count > maxFiles {
		return fmt.Errorf("there are more than %d files: choose a smaller folder", maxFiles)
	}
	text, err := l.read(file)
	if err != nil {
		l.note(file, err)
		return nil
	}
	if l.bytes += int64(len(text)); l.bytes > maxTotalBytes {
		return fmt.Errorf("the files have more than %d MiB together: choose a smaller folder", maxTotalBytes>>20)
	}
	found, err := parse(text)
	if err != nil {
		l.note(file, err)
		return nil
	}
	folder := path.Dir(file)
	source, _, _ := strings.Cut(folder, "/")
	if folder == "." {
		folder, source = l.name, l.name
	}
	for _, p := range found {
		p.Source, p.Folder = strings.ToValidUTF8(source, "?"), part(strings.ToValidUTF8(folder, "?"))
		if p.Type == "" {
			p.Type = strings.ToValidUTF8(strings.TrimSuffix(path.Base(file), path.Ext(file)), "?")
		}
		l.out.List = append(l.out.List, p)
	}
	return nil
}

func (l *loader) read(file string) ([]byte, error) {
	f, err := l.files.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("has more than %d bytes", maxFileBytes)
	}
	return text, err
}

// note remembers a file that is left out.
func (l *loader) note(file string, why error) {
	if pe, ok := errors.AsType[*fs.PathError](why); ok {
		why = pe.Err // it names the file, too
	}
	if l.left++; l.left <= maxNotes {
		l.out.Notes = append(l.out.Notes, fmt.Sprintf("left out: %s: %v", file, why))
	}
}
