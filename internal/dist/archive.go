package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"time"
)

// archive is a tar archive whose bytes depend on nothing but what is in it.
type archive struct {
	created time.Time
	entries []entry
}

type entry struct {
	name  string // with a slash at the end: a folder
	mode  int64
	owner int
	data  []byte
}

func (a *archive) file(name string, data []byte) {
	a.entries = append(a.entries, entry{name: name, mode: 0o644, data: data})
}

// blob adds a part under its digest.
func (a *archive) blob(mediaType string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	d := descriptor{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: len(data)}
	a.file(blobPath(d.Digest), data)
	return d
}

func (a *archive) json(mediaType string, v any) descriptor { return a.blob(mediaType, toJSON(v)) }

func blobPath(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

func toJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // none of our types can fail
	}
	return b
}

func (a *archive) write(w io.Writer) error {
	t := tar.NewWriter(w)
	for _, e := range a.entries {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.data)),
			ModTime: a.created, Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(e.data); err != nil {
			return err
		}
	}
	return t.Close()
}
