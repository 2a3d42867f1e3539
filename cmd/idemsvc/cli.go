package main

import (
	"context"
	"errors"
	"flag"
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
	name    string // its words, such as "token create"
	args    string // what follows the flags, for help
	brief   string
	about   string                    // more, for help
	prepare func() (settings, action) // made anew for each run: nothing is kept between runs
}

// action does it.
type action func(ctx context.Context, args []string) error

// commands lists all of them in the order of help.
func (c *cli) commands() []command {
	return slices.Concat(c.serveCommands(), c.migrateCommands(), c.tokenCommands(), c.askCommands(), c.benchCommands(), c.aboutCommands())
}

// main finds the command and runs it.
func (c *cli) main(ctx context.Context, args []string) int {
	if len(args) == 0 || isHelp(args[0]) {
		if len(args) > 1 {
			return c.help(args[1:])
		}
		c.overview(c.stdout)
		if len(args) == 0 {
			return exitUsage
		}
		return exitOK
	}
	cmd, rest, err := c.find(args)
	if err != nil {
		return c.failed("idemsvc", err)
	}
	s, do := cmd.prepare()
	left, err := s.parse(rest, c.env)
	if errors.Is(err, flag.ErrHelp) {
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
	var under []string
	for _, cmd := range c.commands() {
		words := strings.Fields(cmd.name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return cmd, args[len(words):], nil
		}
		if words[0] == args[0] {
			under = append(under, cmd.name)
		}
	}
	if len(under) > 0 {
		return command{}, nil, usageError{fmt.Errorf("%q is not complete: use one of «%s»", strings.Join(args, " "), strings.Join(under, "», «"))}
	}
	return command{}, nil, usageError{fmt.Errorf("there is no command %q: «idemsvc help» lists them", args[0])}
}

// failed reports an error, if there is one, and returns the exit code.
func (c *cli) failed(who string, err error) int {
	if err == nil {
		return exitOK
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) == 1 {
		fmt.Fprintf(c.stderr, "%s: %s\n", who, lines[0])
	} else {
		fmt.Fprintf(c.stderr, "%s:\n  %s\n", who, strings.Join(lines, "\n  "))
	}
	return exitCode(err)
}

func (c *cli) help(words []string) int {
	cmd, _, err := c.find(words)
	if err != nil {
		return c.failed("idemsvc", err)
	}
	s, _ := cmd.prepare()
	c.describe(c.stdout, cmd, s)
	return exitOK
}

func (c *cli) overview(w io.Writer) {
	fmt.Fprint(w, "idemsvc tells a fleet of consumers which of them may process an event now.\n\nCommands:\n")
	for _, cmd := range c.commands() {
		fmt.Fprintf(w, "  %-18s %s\n", cmd.name, cmd.brief)
	}
	fmt.Fprint(w, "\n«idemsvc help COMMAND» describes one. Flags may also be given by the environment.\n\n", exitHelp)
}

func (c *cli) describe(w io.Writer, cmd command, s settings) {
	fmt.Fprintf(w, "Usage: idemsvc %s", cmd.name)
	if len(s) > 0 {
		fmt.Fprint(w, " [flags]")
	}
	if cmd.args != "" {
		fmt.Fprint(w, " ", cmd.args)
	}
	fmt.Fprintf(w, "\n\n%s.\n", cmd.brief)
	if cmd.about != "" {
		fmt.Fprintf(w, "\n%s\n", strings.Join(wrap(cmd.about, 92), "\n"))
	}
	if len(s) > 0 {
		fmt.Fprint(w, "\nFlags:\n")
		s.help(w)
	}
	fmt.Fprint(w, "\n", exitHelp)
}

// noArguments refuses what is left of the command line.
func noArguments(args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}
