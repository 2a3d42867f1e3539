package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/internal/pgtest"
)

// certificate writes a certificate for 127.0.0.1 that signs itself, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestServeTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	p := startProgram(t, "--ephemeral", "--tls-cert", cert, "--tls-key", key)
	if o := idemsvcRun(t, nil, "health", "--address", p.addr, "--tls-ca", cert); o.code != exitOK {
		t.Errorf("%+v", o)
	}
	if o := idemsvcRun(t, nil, "health", "--address", p.addr, "--timeout", "1s"); o.code != exitUnavailable {
		t.Errorf("plain text is served: %+v", o)
	}
}

// The server runs as a role that may not change the schema.
func TestServeAsTheRuntimeRole(t *testing.T) {
	t.Parallel()
	admin := pgtest.Database(t, "empty", nil)
	role := "idemsvc_test_" + strings.ToLower(rand.Text()[:10])
	conn, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	exec := func(format string, args ...any) error {
		_, err := conn.Exec(t.Context(), fmt.Sprintf(format, args...))
		return err
	}
	if err := exec("CREATE ROLE %s LOGIN PASSWORD 'hunter2'", role); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := exec("DROP OWNED BY %s; DROP ROLE %s", role, role); err != nil {
			t.Error(err)
		}
	}()
	if o := idemsvcRun(t, map[string]string{"IDEMSVC_DATABASE_URL": admin}, "migrate", "up", "--runtime-role", role); o.code != exitOK {
		t.Fatalf("%+v", o)
	}
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "hunter2")
	p := startProgram(t, "--database-url", u.String())
	if err := process(t.Context(), dial(t, p.addr), "evt_1"); err != nil {
		t.Error(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr)
	}
	if strings.Contains(p.stderr.String(), "hunter2") || strings.Contains(p.stderr.String(), "permission denied") {
		t.Errorf("%s", p.stderr)
	}
}

// A PostgreSQL of its own that dies is started again, and callers see no error.
func TestTheOwnDatabaseIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	p := startProgram(t, "--data-dir", dir)
	c := dial(t, p.addr, idemsvc.WithMaxRepeats(100), idemsvc.WithCallTimeout(time.Minute))
	if err := process(t.Context(), c, "evt_1"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := process(t.Context(), c, "evt_2"); err != nil {
		t.Fatalf("%v\n%s", err, p.stderr)
	}
	wantDuplicate(t, c, "evt_1")
	wantDuplicate(t, c, "evt_2")
}
