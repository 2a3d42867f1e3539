package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

// lookup finds a variable of the environment.
type lookup func(name string) (value string, ok bool)

// setting is one thing that a command can be told: by a flag, else by a variable of the
// environment, else by its default. The same table feeds parsing, help, completion, the
// page of settings and the log at the start.
type setting struct {
	flag    string
	env     string   // empty: no variable
	arg     string   // what the value is, for help; empty: a switch
	choices []string // all values there are, beside none where there is no default; empty: not a choice
	def     string
	doc     string
	secret  bool
	set     func(text string) error

	text string // as told
	from string // who told it
}

// settings is the table of a command.
type settings []setting

// errHelp is the wish for help.
var errHelp = errors.New("help is asked for")

// parse reads the flags and the environment. What is left of the arguments is returned;
// everything that is wrong is reported together. errHelp asks for help.
func (s settings) parse(args []string, env lookup) (rest []string, err error) {
	for i := range s {
		x := &s[i]
		x.text, x.from = x.def, "default"
		if x.arg == "" && x.def == "" {
			x.text = "false"
		}
		if v, ok := env(x.env); ok && x.env != "" && v != "" {
			x.text, x.from = v, x.env
		}
	}
	rest, err = s.flags(args)
	if errors.Is(err, errHelp) {
		return nil, err
	}
	faults := []error{err}
	for i := range s {
		if err := s[i].apply(); err != nil {
			faults = append(faults, err)
		}
	}
	return rest, errors.Join(faults...)
}

// apply takes the value that was told.
func (x *setting) apply() error {
	err := x.set(x.text)
	if err == nil && len(x.choices) > 0 && (x.text != "" || x.def != "") && !slices.Contains(x.choices, x.text) {
		err = fmt.Errorf("%q is none of %s", x.text, strings.Join(x.choices, ", "))
	}
	switch {
	case err == nil:
		return nil
	case x.secret:
		err = errors.New("cannot be read") // the value must not reach a log
	}
	return fmt.Errorf("%s: %w", x.where(), err)
}

// where names the place that a value came from.
func (x *setting) where() string {
	if x.from == x.env && x.env != "" {
		return x.env
	}
	return "--" + x.flag
}

// flags takes the flags out of the arguments, wherever they stand before a «--».
func (s settings) flags(args []string) (rest []string, err error) {
	var faults []error
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(rest, args...), errors.Join(faults...)
		}
		name, isFlag := flagName(arg)
		if !isFlag {
			rest = append(rest, arg)
			continue
		}
		name, value, given := strings.Cut(name, "=")
		x := s.find(name)
		switch {
		case x == nil && (name == "help" || name == "h"):
			return nil, errHelp
		case x == nil:
			faults = append(faults, fmt.Errorf("there is no flag --%s%s", name, s.meant(name)))
			continue
		case given:
		case x.arg == "":
			value = "true"
		case len(args) == 0 || s.isFlag(args[0]):
			faults = append(faults, fmt.Errorf("--%s needs a value: %s", name, x.arg))
			continue
		default:
			value, args = args[0], args[1:]
		}
		x.text, x.from = value, "flag"
	}
	return rest, errors.Join(faults...)
}

// flagName is what follows the dashes of a flag.
func flagName(arg string) (name string, ok bool) {
	if len(arg) < 2 || arg[0] != '-' {
		return "", false
	}
	return strings.TrimPrefix(arg[1:], "-"), true
}

// isFlag reports whether the argument is a flag of this table.
func (s settings) isFlag(arg string) bool {
	name, ok := flagName(arg)
	name, _, _ = strings.Cut(name, "=")
	return ok && s.find(name) != nil
}

func (s settings) find(name string) *setting {
	for i := range s {
		if s[i].flag == name {
			return &s[i]
		}
	}
	return nil
}

// meant proposes the flag that somebody may have meant.
func (s settings) meant(name string) string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = s[i].flag
	}
	if near := nearest(name, names); near != "" {
		return ": is --" + near + " meant?"
	}
	return ""
}

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

// settingJSON is a setting for scripts.
type settingJSON struct {
	Flag        string   `json:"flag"`
	Environment string   `json:"environment,omitempty"`
	Value       string   `json:"value,omitempty"` // what kind; empty for a switch
	Choices     []string `json:"choices,omitempty"`
	Default     string   `json:"default,omitempty"`
	Secret      bool     `json:"secret,omitempty"`
	Doc         string   `json:"doc"`
}

func (s settings) json() []settingJSON {
	out := make([]settingJSON, len(s))
	for i := range s {
		x := &s[i]
		out[i] = settingJSON{x.flag, x.env, x.arg, x.choices, x.def, x.secret, x.doc}
	}
	return out
}
