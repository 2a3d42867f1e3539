package main

import (
	"fmt"
	"io"
	"strings"
)

// helpExitCodes is the topic that «help» knows beside the commands.
const helpExitCodes = "exit-codes"

// help tells about the command, the group of commands or the topic that the words name,
// and about all for none.
func (c *cli) help(words []string) int {
	if len(words) == 0 {
		c.overview(c.stdout)
		return exitOK
	}
	if words[0] == helpExitCodes {
		fmt.Fprint(c.stdout, exitHelp())
		return exitOK
	}
	if under := c.under(words[0]); len(words) == 1 && len(under) > 0 {
		c.list(c.stdout, under)
		return exitOK
	}
	cmd, _, err := c.find(words)
	if err != nil {
		return c.failed("idemsvc help", err)
	}
	s, _ := cmd.prepare()
	c.describe(c.stdout, cmd, s)
	return exitOK
}

func (c *cli) overview(w io.Writer) {
	fmt.Fprint(w, "idemsvc tells a fleet of consumers which of them may process an event now.\n\n")
	c.list(w, c.commands())
	fmt.Fprintf(w, "\n«idemsvc help COMMAND» describes one, «idemsvc help %s» what they end with. Flags\nmay also be given by the environment.\n", helpExitCodes)
}

func (c *cli) list(w io.Writer, cmds []command) {
	fmt.Fprintln(w, "Commands:")
	for _, cmd := range cmds {
		fmt.Fprintf(w, "  %-18s %s\n", cmd.name, cmd.brief)
	}
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
}
