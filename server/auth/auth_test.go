package auth_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

func TestRevokedTokensAreGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tokens.json")
	if _, err := auth.Revoke(path, "tok_none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	var ids, tokens []string
	for _, name := range []string{"a", "b", "c"} {
		token, e, err := auth.Create(path, name, []string{"n"}, auth.Consumer, 0)
		if err != nil {
			t.Fatal(err)
		}
		ids, tokens = append(ids, e.ID), append(tokens, token)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := auth.Revoke(link, ids[0], "tok_none"); !errors.Is(err, auth.ErrUnknownID) || !strings.Contains(err.Error(), "tok_none") || strings.Contains(err.Error(), ids[0]) {
		t.Errorf("%v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("a refused change changed the file: %v", err)
	}
	revoked, err := auth.Revoke(link, ids[2], ids[0])
	if err != nil || len(revoked) != 2 || revoked[0].Name != "a" || revoked[1].Name != "c" {
		t.Fatalf("%+v %v", revoked, err)
	}
	table, err := auth.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true, false} {
		if _, ok := table.Identify(tokens[i], time.Now()); ok != want {
			t.Errorf("token %d: %v", i, ok)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("who may read it has changed: %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is one no more: %v", err)
	}
	if _, err := auth.Revoke(path, ids[1]); err != nil {
		t.Error(err)
	}
	if left, err := auth.List(path); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
	if _, err := auth.Load(path); err != nil {
		t.Errorf("a file without tokens: %v", err)
	}
}

// Changes at the same time all happen.
func TestChangesAreMadeOneByOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	var wg sync.WaitGroup
	const n = 16
	for i := range n {
		wg.Go(func() {
			_, kept, err := auth.Create(path, fmt.Sprint("kept-", i), []string{"n"}, auth.Reader, 0)
			if err != nil {
				t.Error(err)
			}
			_, e, err := auth.Create(path, "gone", []string{"n"}, auth.Reader, 0)
			if err != nil {
				t.Error(err)
			}
			if _, err := auth.Revoke(path, e.ID); err != nil {
				t.Error(err)
			}
			if left, err := auth.List(path); err != nil || !slices.ContainsFunc(left, func(x auth.Entry) bool { return x.ID == kept.ID }) {
				t.Errorf("%s is lost: %v", kept.ID, err)
			}
		})
	}
	wg.Wait()
	if left, err := auth.List(path); err != nil || len(left) != n {
		t.Errorf("%d tokens are left, %v", len(left), err)
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

func TestFilesThatAreNoTables(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{"": "it is empty", "[] x": "something follows", "{}": "cannot unmarshal", `[{"owner":"x"}]`: "unknown field"} {
		path := filepath.Join(t.TempDir(), "tokens.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := auth.Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", content, err)
		}
		if _, _, err := auth.Create(path, "a", []string{"a"}, auth.Reader, 0); err == nil {
			t.Errorf("%q was replaced", content)
		}
	}
	if _, _, err := auth.Create(filepath.Join(t.TempDir(), "t.json"), "a", []string{""}, auth.Reader, 0); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("%v", err)
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
