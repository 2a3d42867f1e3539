package main

import (
	"context"
	_ "embed" // the shells' scripts
	"errors"
	"fmt"
	"slices"
	"strings"
)

// completeCommand is the word by which the shells' scripts ask what the last of the words
// that follow may become. It is no command for people.
const completeCommand = "__complete"

// The scripts of the shells. They ask the program, so they need not change with it.
var (
	//go:embed completion/idemsvc.bash
	completionBash string
	//go:embed completion/idemsvc.zsh
	completionZsh string
	//go:embed completion/idemsvc.fish
	completionFish string
)

func (c *cli) completionCommands() []command {
	return []command{
		{
			name: "completion", args: "SHELL", words: []string{"bash", "zsh", "fish"}, brief: "Print the script that lets a shell complete commands and flags",
			about: "For this session: «source <(idemsvc completion bash)», the same with zsh, or «idemsvc completion fish | source». For all: " +
				"write it to ~/.local/share/bash-completion/completions/idemsvc, to _idemsvc in a folder of zsh's $fpath, or to ~/.config/fish/completions/idemsvc.fish.",
			prepare: func() (settings, action) { return nil, c.completion },
		},
	}
}

func (c *cli) completion(_ context.Context, args []string) error {
	scripts := map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}
	if len(args) != 1 || scripts[args[0]] == "" {
		return usageError{errors.New("name a shell: bash, zsh or fish")}
	}
	fmt.Fprint(c.stdout, scripts[args[0]])
	return nil
}

// What a shell is told first: that candidates follow, or to complete names of files or
// of directories itself.
const (
	completeWords = "words"
	completeFiles = "files"
	completeDirs  = "dirs"
)

// candidate is what a word may become.
type candidate struct{ word, about string }

// complete tells a shell what the last of the words may become: the kind of it, then one
// candidate a line, with a tab before what it is.
func (c *cli) complete(words []string) int {
	kind, found := completeWords, []candidate(nil)
	if len(words) > 0 {
		kind, found = c.candidates(joined(words))
	}
	fmt.Fprintln(c.stdout, kind)
	for _, x := range found {
		fmt.Fprintf(c.stdout, "%s\t%s\n", x.word, x.about)
	}
	return exitOK
}

// joined undoes how bash splits «--flag=value»: into three words, of which the last one
// alone is completed.
func joined(words []string) (before []string, last string, prefix string) {
	last = words[len(words)-1]
	before = words[:len(words)-1]
	n := len(before)
	switch {
	case last == "=" && n > 0 && strings.HasPrefix(before[n-1], "-"):
		return before, "", ""
	case n > 1 && before[n-1] == "=" && strings.HasPrefix(before[n-2], "-"):
		return before[:n-1], last, ""
	}
	if flag, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(flag, "-") {
		return append(slices.Clone(before), flag), value, flag + "="
	}
	return before, last, ""
}

// candidates is what the last word may become after those before it. The prefix is part
// of the word in the shell and not of the value that is completed.
func (c *cli) candidates(before []string, last, prefix string) (string, []candidate) {
	if len(before) > 0 && isHelp(before[0]) {
		return completeWords, c.commandWords(before[1:], last)
	}
	cmd, rest, err := c.find(append(slices.Clone(before), ""))
	if err != nil {
		return completeWords, c.commandWords(before, last)
	}
	s, _ := cmd.prepare()
	if len(rest) > 1 {
		name, _ := flagName(rest[len(rest)-2])
		if x := s.find(name); x != nil && (x.arg != "" || prefix != "") {
			return x.values(last, prefix)
		}
	}
	if strings.HasPrefix(last, "-") {
		return completeWords, s.names(last)
	}
	return completeWords, matching(cmd.words, last, "")
}

// commandWords are the next words of commands that begin with the given ones.
func (c *cli) commandWords(before []string, last string) []candidate {
	var out []candidate
	for _, cmd := range c.commands() {
		words := strings.Fields(cmd.name)
		n := len(before)
		if n >= len(words) || !slices.Equal(words[:n], before) || !strings.HasPrefix(words[n], last) {
			continue
		}
		about := cmd.brief
		if n+1 < len(words) {
			about = strings.Join(names(c.under(words[0])), ", ")
		}
		if !slices.ContainsFunc(out, func(x candidate) bool { return x.word == words[n] }) {
			out = append(out, candidate{words[n], about})
		}
	}
	if len(before) == 0 && strings.HasPrefix("help", last) && last != "" {
		out = append(out, candidate{"help", "Describe a command"})
	}
	return out
}

// names are the flags that begin with the word.
func (s settings) names(word string) []candidate {
	var out []candidate
	for i := range s {
		if name := "--" + s[i].flag; strings.HasPrefix(name, word) {
			about, _, _ := strings.Cut(s[i].doc, ". ")
			out = append(out, candidate{name, strings.TrimSuffix(about, ".")})
		}
	}
	return out
}

// values is what a flag's value may become.
func (x *setting) values(word, prefix string) (string, []candidate) {
	switch x.arg {
	case "":
		return completeWords, matching([]string{"true", "false"}, word, prefix)
	case "FILE":
		return completeFiles, nil
	case "DIR":
		return completeDirs, nil
	default:
		return completeWords, matching(x.choices, word, prefix)
	}
}

func matching(words []string, word, prefix string) []candidate {
	var out []candidate
	for _, w := range words {
		if strings.HasPrefix(w, word) {
			out = append(out, candidate{word: prefix + w})
		}
	}
	return out
}
