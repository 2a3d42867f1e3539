package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lookup finds a variable of the environment.
type lookup func(name string) (value string, ok bool)

// setting is one thing that a command can be told: by a flag, else by a variable of the
// environment, else by its default. The same table feeds parsing, help, the page of
// settings and the log at the start.
type setting struct {
	flag   string
	env    string // empty: no variable
	arg    string // what the value is, for help; empty: a switch
	def    string
	doc    string
	secret bool
	set    func(text string) error

	text string // as told
	from string // who told it
}

// settings is the table of a command.
type settings []setting

// parse reads the flags and the environment. What is left of the arguments is returned;
// everything that is wrong is reported together. flag.ErrHelp asks for help.
func (s settings) parse(args []string, env lookup) (rest []string, err error) {
	var faults []error
	for i := range s {
		x := &s[i]
		x.text, x.from = x.def, "default"
		if v, ok := env(x.env); ok && x.env != "" && v != "" {
			x.text, x.from = v, x.env
		}
	}
	rest, err = s.flags(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil, err
	}
	if err != nil {
		faults = append(faults, err)
	}
	for i := range s {
		x := &s[i]
		if err := x.set(x.text); err != nil {
			if x.secret {
				err = errors.New("cannot be read") // the value must not reach a log
			}
			faults = append(faults, fmt.Errorf("%s: %w", x.where(), err))
		}
	}
	return rest, errors.Join(faults...)
}

// where names the place that a value came from.
func (x *setting) where() string {
	if x.from == x.env && x.env != "" {
		return x.env
	}
	return "--" + x.flag
}

// flags takes the flags out of the arguments, wherever they stand.
func (s settings) flags(args []string) (rest []string, err error) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	for i := range s {
		fs.Var((*flagValue)(&s[i]), s[i].flag, s[i].doc)
	}
	for {
		if err := fs.Parse(args); err != nil {
			return rest, err
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}

// flagValue is a setting as a flag.
type flagValue setting

// String implements flag.Value.
func (v *flagValue) String() string { return "" }

// Set implements flag.Value.
func (v *flagValue) Set(text string) error {
	v.text, v.from = text, "flag"
	return nil
}

// IsBoolFlag lets a switch stand without a value.
func (v *flagValue) IsBoolFlag() bool { return v.arg == "" }

// shown is the value as it may be seen by anybody.
func (x *setting) shown() string {
	if !x.secret || x.text == "" {
		return x.text
	}
	if u, err := url.Parse(x.text); err == nil && u.Scheme != "" && u.Host+u.RawQuery != "" {
		q := u.Query()
		for name := range q {
			if strings.Contains(strings.ToLower(name), "pass") {
				q.Set(name, "xxxxx")
			}
		}
		u.RawQuery = q.Encode()
		return u.Redacted()
	}
	return "(not shown)"
}

// logged is the table for the log at the start.
func (s settings) logged() []any {
	out := make([]any, 0, len(s))
	for i := range s {
		out = append(out, slog.String(s[i].flag, s[i].shown()))
	}
	return out
}

// help writes the table for people.
func (s settings) help(w io.Writer) {
	for i := range s {
		x := &s[i]
		head := "  --" + x.flag
		if x.arg != "" {
			head += " " + x.arg
		}
		fmt.Fprintln(w, head)
		doc := x.doc
		if x.def != "" && x.arg != "" {
			doc += " Default: " + x.def + "."
		}
		if x.env != "" {
			doc += " [" + x.env + "]"
		}
		for _, line := range wrap(doc, 84) {
			fmt.Fprintln(w, "        "+line)
		}
	}
}

// markdown writes the table for the documentation.
func (s settings) markdown(w io.Writer) {
	fmt.Fprintln(w, "| flag | environment | default | what it does |")
	fmt.Fprintln(w, "| --- | --- | --- | --- |")
	for i := range s {
		x := &s[i]
		fmt.Fprintf(w, "| `--%s` | %s | %s | %s |\n", x.flag, code(x.env), code(x.def), strings.ReplaceAll(x.doc, "|", `\|`))
	}
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// The kinds of values.

func text(v *string) func(string) error {
	return func(s string) error { *v = s; return nil }
}

func list(v *[]string) func(string) error {
	return func(s string) error {
		*v = nil
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*v = append(*v, part)
			}
		}
		return nil
	}
}

func toggle(v *bool) func(string) error {
	return func(s string) (err error) {
		if s == "" {
			s = "false"
		}
		if *v, err = strconv.ParseBool(s); err != nil {
			return fmt.Errorf("%q is neither true nor false", s)
		}
		return nil
	}
}

func duration(v *time.Duration, least time.Duration) func(string) error {
	return func(s string) (err error) {
		if *v, err = time.ParseDuration(s); err != nil {
			return fmt.Errorf("%q is not a duration such as 20s", s)
		}
		if *v < least {
			return fmt.Errorf("%s is less than %s", s, least)
		}
		return nil
	}
}

func number(v *int, least, most int) func(string) error {
	return func(s string) (err error) {
		if *v, err = strconv.Atoi(s); err != nil {
			return fmt.Errorf("%q is not a number", s)
		}
		if *v < least || *v > most {
			return fmt.Errorf("%s is not between %d and %d", s, least, most)
		}
		return nil
	}
}

func oneOf(v *string, allowed ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(allowed, s) {
			return fmt.Errorf("%q is none of %s", s, strings.Join(allowed, ", "))
		}
		*v = s
		return nil
	}
}
