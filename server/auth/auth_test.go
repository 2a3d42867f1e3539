package auth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/server/auth"
)

func TestCreatedTokenIdentifies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	token, e, err := auth.Create(path, "shop", []string{"shop-live", "shop-test"}, auth.Consumer, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), token) {
		t.Fatal("the file holds the token's text", err)
	}
	table, err := auth.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	id, ok := table.Identify(token, time.Now())
	if !ok || id.Name() != "shop" || id.Role() != auth.Consumer || !id.May("shop-test") || id.May("shop") {
		t.Fatalf("identity %+v %v", id, ok)
	}
	if _, ok := table.Identify(token, e.ExpiresAt.Add(time.Second)); ok {
		t.Fatal("an expired token identifies")
	}
	if _, ok := table.Identify(token+"x", time.Now()); ok {
		t.Fatal("an unknown token identifies")
	}
}

func TestReloadKeepsTheTableWhenTheFileIsBroken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	first, _, err := auth.Create(path, "a", []string{"a"}, auth.Reader, 0)
	if err != nil {
		t.Fatal(err)
	}
	table, err := auth.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := auth.Create(path, "b", []string{"b"}, auth.Admin, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := table.Identify(second, time.Now()); ok {
		t.Fatal("known before the reload")
	}
	if err := table.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`[{"id":"x"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := table.Reload(); err == nil {
		t.Fatal("a broken file was accepted")
	}
	for _, token := range []string{first, second} {
		if _, ok := table.Identify(token, time.Now()); !ok {
			t.Fatal("the table was lost")
		}
	}
}

func TestBadEntriesAreAllReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	sum := strings.Repeat("ab", 32)
	content := `[
	 {"id":"1","name":"n","sha256":"zz","namespaces":["a"],"role":"admin"},
	 {"id":"2","name":"n","sha256":"` + sum + `","namespaces":[],"role":"admin"},
	 {"id":"3","name":"n","sha256":"` + sum + `","namespaces":["a"],"role":"root"},
	 {"id":"4","name":" ","sha256":"` + sum + `","namespaces":["a"],"role":"admin"}]`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := auth.Load(path)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`"1"`, `"2"`, `"3"`, `"4"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

func TestRoleInclusion(t *testing.T) {
	t.Parallel()
	all := []auth.Role{auth.Consumer, auth.Reader, auth.Operator, auth.Admin}
	want := map[auth.Role][]auth.Role{
		auth.Consumer: {auth.Consumer},
		auth.Reader:   {auth.Reader},
		auth.Operator: {auth.Reader, auth.Operator},
		auth.Admin:    all,
	}
	for _, have := range all {
		for _, need := range all {
			expect := false
			for _, w := range want[have] {
				expect = expect || w == need
			}
			if have.Includes(need) != expect {
				t.Errorf("%s includes %s: %v", have, need, !expect)
			}
		}
		if have.Includes("") {
			t.Errorf("%s includes the empty role", have)
		}
	}
}
