// Package yamlfile reads YAML that people write, strictly: each thing that is wrong is told
// with its line, and none hides another.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxBytes is the longest file that is read.
const MaxBytes = 1 << 20

// Problem is something wrong with a file.
type Problem struct {
	Line    int
	Message string
}

// Problems are all that is wrong with a file, in the order of its lines.
type Problems []Problem

// Error implements error: one line for each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = fmt.Sprintf("line %d: %s", x.Line, x.Message)
	}
	return strings.Join(lines, "\n")
}

// Checker gathers problems while a document is walked.
type Checker struct{ Found Problems }

// Add notes a problem.
func (c *Checker) Add(line int, format string, args ...any) {
	c.Found = append(c.Found, Problem{line, fmt.Sprintf(format, args...)})
}

// Err is what was found, in the order of the lines; nil if nothing was.
func (c *Checker) Err() error {
	if len(c.Found) == 0 {
		return nil
	}
	slices.SortStableFunc(c.Found, func(a, b Problem) int { return a.Line - b.Line })
	return c.Found
}

// Document is the one document of a file; nil if the file is empty. Its error says that
// there is no YAML to walk.
func (c *Checker) Document(r io.Reader) (*yaml.Node, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("the file is longer than %d bytes", MaxBytes)
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		c.Add(max(more.Line, 1), "a file holds one document, this is a second one")
	}
	return doc.Content[0], nil
}

// Members are the pairs of a mapping, without those that are said twice.
func (c *Checker) Members(n *yaml.Node, what string) (keys, values []*yaml.Node) {
	if n.Kind != yaml.MappingNode {
		c.Add(n.Line, "%s is no mapping of names to values", what)
		return nil, nil
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			c.Add(k.Line, "a name in %s is no text", what)
			continue
		}
		if line, twice := seen[k.Value]; twice {
			c.Add(k.Line, "%s stands in line %d already", k.Value, line)
			continue
		}
		seen[k.Value] = k.Line
		keys, values = append(keys, k), append(values, v)
	}
	return keys, values
}
