// Package docs_test holds the project's pages to what they say: links lead somewhere,
// commands and snippets run, tables that are made from the contract are up to date, and
// what a page names exists.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idemsvc/idemsvc/internal/docrun"
	"github.com/idemsvc/idemsvc/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// repository is the root of the work tree.
const repository = "../.."

// readFile is a file of the repository.
func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// files are the files of the repository whose names end so, without what was built,
// fetched or stored.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(repository, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "node_modules", "target", "testdata":
				return filepath.SkipDir
			}
			switch name {
			case "build", "dist", "data":
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, suffix) {
			found = append(found, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no file ends with %s", suffix)
	}
	return found
}

// blocksOf are the fenced blocks of a page.
func blocksOf(t *testing.T, page string) []docrun.Block {
	t.Helper()
	blocks, err := docrun.Blocks(page)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// onlyBlock is the one block of a language in a page.
func onlyBlock(t *testing.T, page, language string) string {
	t.Helper()
	found := ""
	for _, b := range blocksOf(t, page) {
		if b.Language != language {
			continue
		}
		if found != "" {
			t.Fatalf("there are several blocks of %s", language)
		}
		found = b.Text
	}
	if found == "" {
		t.Fatalf("there is no block of %s", language)
	}
	return found
}

// goBlockWith is the block of Go that has the text.
func goBlockWith(t *testing.T, page, text string) string {
	t.Helper()
	for _, b := range blocksOf(t, page) {
		if b.Language == "go" && strings.Contains(b.Text, text) {
			return b.Text
		}
	}
	t.Fatalf("no block of Go has %q", text)
	return ""
}
