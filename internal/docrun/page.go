package docrun

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	Heading  string // of the second level, above it
	Language string // empty for what commands print
	Text     string
	Line     int // of its fence
}

// Step is commands of a page and what they print.
type Step struct {
	Heading, Commands string
	Prints            string // empty: the page does not say
}

// Blocks finds the fenced blocks of a page.
func Blocks(page string) ([]Block, error) {
	var blocks []Block
	var b Block
	heading, inside, n := "", false, 0
	for line := range strings.Lines(page) {
		n++
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && !inside:
			b, inside = Block{Heading: heading, Language: fence, Line: n}, true
		case isFence:
			blocks, inside = append(blocks, b), false
		case inside:
			b.Text += line
		case strings.HasPrefix(line, "## "):
			heading = strings.TrimSpace(strings.TrimPrefix(line, "## "))
		}
	}
	if inside {
		return nil, fmt.Errorf("the block of line %d has no end", b.Line)
	}
	return blocks, nil
}

// Steps are the blocks of commands, each with what it prints where the next block of the
// same heading tells.
func Steps(blocks []Block) []Step {
	var steps []Step
	for i, b := range blocks {
		if b.Language != "sh" {
			continue
		}
		s := Step{Heading: b.Heading, Commands: b.Text}
		if i+1 < len(blocks) && blocks[i+1].Language == "" && blocks[i+1].Heading == b.Heading {
			s.Prints = blocks[i+1].Text
		}
		steps = append(steps, s)
	}
	return steps
}

// Matches tells whether a text is the pattern, in which … stands for anything. White space
// around either does not count.
func Matches(pattern, text string) bool {
	quoted := regexp.QuoteMeta(strings.TrimSpace(pattern))
	return regexp.MustCompile(`(?s)^\s*` + strings.ReplaceAll(quoted, "…", ".*") + `\s*$`).MatchString(text)
}
