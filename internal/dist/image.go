package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// image is what goes into an OCI image. The forms of its parts are those of the OCI Image
// Format Specification 1.1 (image layout, index, manifest, configuration and layer).
type image struct {
	platform platform
	version  string
	created  time.Time
	program  string // path of the program on this machine
	licences []byte
}

// What is where in the image, and who runs it: nobody else's number, and not root.
const (
	imageProgram = "usr/local/bin/idemsvc"
	imageHome    = "var/lib/idemsvc"
	imageUID     = 65532
)

// The media types of the parts.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor refers to a part by its digest.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *ociPlatform      `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type ociPlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Variant      string `json:"variant,omitempty"`
}

type ociManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        *descriptor       `json:"config,omitempty"`
	Layers        []descriptor      `json:"layers,omitempty"`
	Manifests     []descriptor      `json:"manifests,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type ociConfig struct {
	Created time.Time `json:"created"`
	ociPlatform
	Config  ociRun       `json:"config"`
	RootFS  ociRootFS    `json:"rootfs"`
	History []ociHistory `json:"history"`
}

type ociRun struct {
	User         string              `json:"User"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	WorkingDir   string              `json:"WorkingDir"`
	Labels       map[string]string   `json:"Labels"`
	StopSignal   string              `json:"StopSignal"`
}

type ociRootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type ociHistory struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// dockerManifest is what makes the archive one of «docker save», too, for engines that
// load no other.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// writeImage writes the image as one file: an OCI image layout in a tar archive.
func writeImage(path string, m image) error {
	layer, diffID, err := m.layer()
	if err != nil {
		return err
	}
	a := &archive{created: m.created}
	layerBlob := a.blob(typeLayer, layer)
	config := a.json(typeConfig, m.config(diffID))
	manifest := a.json(typeManifest, ociManifest{
		SchemaVersion: 2, MediaType: typeManifest, Config: &config, Layers: []descriptor{layerBlob}, Annotations: m.labels(),
	})
	manifest.Platform = m.ociPlatform()
	manifest.Annotations = map[string]string{"org.opencontainers.image.ref.name": m.tag()}
	a.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	a.file("index.json", toJSON(ociManifest{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{manifest}}))
	a.file("manifest.json", toJSON([]dockerManifest{{
		Config: blobPath(config.Digest), RepoTags: []string{"idemsvc:" + m.tag()}, Layers: []string{blobPath(layerBlob.Digest)},
	}}))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := a.write(f); err != nil {
		_ = f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}

// tag is the version as the name of an image takes it.
func (m image) tag() string { return strings.ReplaceAll(m.version, "+", "-") }

func (m image) ociPlatform() *ociPlatform {
	p := &ociPlatform{OS: m.platform.os, Architecture: m.platform.arch}
	if p.Architecture == "arm64" {
		p.Variant = "v8"
	}
	return p
}

func (m image) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "idemsvc",
		"org.opencontainers.image.description": "Tells a fleet of consumers of webhooks which of them may process an event now",
		"org.opencontainers.image.version":     m.version,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.created":     m.created.Format(time.RFC3339),
	}
}

func (m image) config(diffID string) ociConfig {
	return ociConfig{
		Created: m.created, ociPlatform: *m.ociPlatform(),
		Config: ociRun{
			User: fmt.Sprintf("%d:%d", imageUID, imageUID), ExposedPorts: map[string]struct{}{"7443/tcp": {}},
			Env: []string{"PATH=/usr/local/bin", "HOME=/" + imageHome}, Entrypoint: []string{"/" + imageProgram}, Cmd: []string{"serve"},
			WorkingDir: "/" + imageHome, Labels: m.labels(), StopSignal: "SIGTERM",
		},
		RootFS:  ociRootFS{Type: "layers", DiffIDs: []string{diffID}},
		History: []ociHistory{{Created: m.created, CreatedBy: "idemsvc dist"}},
	}
}

// layer is the image's one layer, compressed, and the digest of it before that. It holds
// no certificates: those of the machine that makes it are none of the users' business.
func (m image) layer() (compressed []byte, diffID string, err error) {
	program, err := os.ReadFile(m.program)
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, "", err
	}
	hash := sha256.New()
	a := &archive{created: m.created}
	for _, dir := range []string{"etc/", "tmp/", "usr/", "usr/local/", "usr/local/bin/", "usr/share/", "usr/share/doc/", "usr/share/doc/idemsvc/", "var/", "var/lib/"} {
		a.entries = append(a.entries, entry{name: dir, mode: 0o755})
	}
	a.entries[1].mode = 0o1777
	a.entries = append(a.entries, entry{name: imageHome + "/", mode: 0o750, owner: imageUID})
	a.file("etc/group", fmt.Appendf(nil, "root:x:0:\nidemsvc:x:%d:\n", imageUID))
	a.file("etc/passwd", fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nidemsvc:x:%d:%d:idemsvc:/%s:/sbin/nologin\n", imageUID, imageUID, imageHome))
	a.file("usr/share/doc/idemsvc/LICENSES.txt", m.licences)
	a.entries = append(a.entries, entry{name: imageProgram, mode: 0o755, data: program})
	if err := a.write(io.MultiWriter(zip, hash)); err != nil {
		return nil, "", err
	}
	if err := zip.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}
