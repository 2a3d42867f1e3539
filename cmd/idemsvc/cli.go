package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// cli is the program's surroundings.
type cli struct {
	env            lookup
	stdin          io.Reader
	stdout, stderr io.Writer
}

// command is one thing that the program can do.
type command struct {
	name    string   // its words, such as "token create"
	args    string   // what follows the flags, for help
	words   []string // what may follow, where that is a choice
	brief   string
	about   string                    // more, for help
	prepare func() (settings, action) // made anew for each run: nothing is kept between runs
}

// action does it.
type action func(ctx context.Context, args []string) error

// commands lists all of them in the order of help.
func (c *cli) commands() []command {
	return slices.Concat(
		c.serveCommands(), c.ingressCommands(), c.migrateCommands(), c.tokenCommands(), c.policyCommands(), c.askCommands(), c.listCommands(), c.resolveCommands(), c.benchCommands(), c.demoCommands(), c.provokeCommands(),
		c.aboutCommands(), c.completionCommands(),
	)
}

// main finds the command and runs it.
func (c *cli) main(ctx context.Context, args []string) int {
	if len(args) == 0 {
		c.overview(c.stdout)
		return exitUsage
	}
	switch {
	case isHelp(args[0]):
		return c.help(args[1:])
	case args[0] == completeCommand:
		return c.complete(args[1:])
	}
	if args[0] == "--version" || args[0] == "-version" {
		args[0] = "version"
	}
	cmd, rest, err := c.find(args)
	if err != nil {
		if slices.ContainsFunc(args, func(a string) bool { return a != "help" && isHelp(a) }) && len(c.under(args[0])) > 0 {
			return c.help(args[:1])
		}
		return c.failed("idemsvc", err)
	}
	s, do := cmd.prepare()
	left, err := s.parse(rest, c.env)
	if errors.Is(err, errHelp) {
		c.describe(c.stdout, cmd, s)
		return exitOK
	}
	if err != nil {
		return c.failed("idemsvc "+cmd.name, usageError{err})
	}
	return c.failed("idemsvc "+cmd.name, do(ctx, left))
}

func isHelp(arg string) bool { return slices.Contains([]string{"help", "-h", "-help", "--help"}, arg) }

// find is the command whose words the arguments begin with.
func (c *cli) find(args []string) (command, []string, error) {
	var first []string
	for _, cmd := range c.commands() {
		words := strings.Fields(cmd.name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return cmd, args[len(words):], nil
		}
		first = append(first, words[0])
	}
	if under := c.under(args[0]); len(under) > 0 {
		said := strings.Join(args[:min(2, len(args))], " ")
		return command{}, nil, usageError{fmt.Errorf("%q is no command: use one of «%s»", said, strings.Join(names(under), "», «"))}
	}
	hint := ""
	if near := nearest(args[0], first); near != "" {
		hint = fmt.Sprintf(": is «%s» meant?", near)
	}
	return command{}, nil, usageError{fmt.Errorf("there is no command %q%s («idemsvc help» lists them)", args[0], hint)}
}

// under are the commands of several words that begin with the given one.
func (c *cli) under(first string) []command {
	return slices.DeleteFunc(c.commands(), func(cmd command) bool { return !strings.HasPrefix(cmd.name, first+" ") })
}

func names(cmds []command) []string {
	out := make([]string, len(cmds))
	for i, cmd := range cmds {
		out[i] = cmd.name
	}
	return out
}

// failed reports an error, if there is one, and returns the exit code.
func (c *cli) failed(who string, err error) int {
	if err == nil {
		return exitOK
	}
	lines := slices.Compact(strings.Split(strings.ReplaceAll(err.Error(), "\t", "  "), "\n")) // pgx says the same of each try
	if len(lines) == 1 {
		fmt.Fprintf(c.stderr, "%s: %s\n", who, lines[0])
	} else {
		fmt.Fprintf(c.stderr, "%s:\n  %s\n", who, strings.Join(lines, "\n  "))
	}
	return exitCode(err)
}

// print writes the result of a command: as JSON for scripts, else as the text for people.
func (c *cli) print(asJSON bool, v any, text string, args ...any) error {
	if !asJSON {
		_, err := fmt.Fprintf(c.stdout, text, args...)
		return err
	}
	e := json.NewEncoder(c.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// noArguments refuses what is left of the command line.
func noArguments(args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}
