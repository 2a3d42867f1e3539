package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/idemsvc/idemsvc/server/auth"
)

func (c *cli) tokenCommands() []command {
	return []command{
		{
			name: "token create", brief: "Make a bearer token and add its hash to the file",
			about:   "The token's text is printed once and kept nowhere: hand it to whoever needs it. A running server notices the change within seconds.",
			prepare: c.tokenCreate,
		},
		{
			name: "token list", brief: "List the tokens in the file", about: "Shows who holds them and what they allow, never their text.",
			prepare: c.tokenList,
		},
		{
			name: "token revoke", args: "ID...", brief: "Take tokens out of the file by their IDs",
			about:   "A running server refuses them within seconds.",
			prepare: c.tokenRevoke,
		},
	}
}

func tokenFile(path *string) setting {
	return setting{
		flag: "tokens", env: "IDEMSVC_TOKENS", arg: "FILE", set: text(path),
		doc: "File of bearer tokens' hashes. Required.",
	}
}

func (c *cli) tokenCreate() (settings, action) {
	var path, name, role string
	var namespaces []string
	var ttl time.Duration
	s := settings{
		tokenFile(&path),
		{flag: "name", arg: "NAME", set: text(&name), doc: "Who holds it, such as billing-service. Shown to operators as the owner of claims. Required."},
		{flag: "namespaces", arg: "NAME,...", set: list(&namespaces), doc: "Namespaces that it may use. A namespace exists by being named here. Required."},
		{flag: "role", arg: "ROLE", def: "consumer", set: oneOf(&role, "consumer", "reader", "operator", "admin"), doc: "What it may do: consumer, reader, operator or admin."},
		{flag: "ttl", arg: "TIME", def: "0s", set: duration(&ttl, 0), doc: "How long it is valid, such as 2160h. 0s: for ever."},
	}
	return s, func(_ context.Context, args []string) error {
		faults := []error{noArguments(args)}
		for _, required := range []struct{ flag, value string }{{"tokens", path}, {"name", name}, {"namespaces", strings.Join(namespaces, "")}} {
			if required.value == "" {
				faults = append(faults, fmt.Errorf("--%s is required", required.flag))
			}
		}
		if err := errors.Join(faults...); err != nil {
			return usageError{err}
		}
		token, e, err := auth.Create(path, name, namespaces, auth.Role(role), ttl)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.stderr, "%s, %s in %s, valid %s. This is the only time that it is shown:\n", e.ID, e.Role, strings.Join(e.Namespaces, ", "), until(e))
		fmt.Fprintln(c.stdout, token)
		return nil
	}
}

func until(e auth.Entry) string {
	if e.ExpiresAt == nil {
		return "for ever"
	}
	return "until " + e.ExpiresAt.Format(time.RFC3339)
}

func (c *cli) tokenList() (settings, action) {
	var path string
	return settings{tokenFile(&path)}, func(_ context.Context, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		entries, err := readTokens(path)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tROLE\tNAMESPACES\tVALID")
		for _, e := range entries {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.ID, e.Name, e.Role, strings.Join(e.Namespaces, ","), until(e))
		}
		return w.Flush()
	}
}

func (c *cli) tokenRevoke() (settings, action) {
	var path string
	return settings{tokenFile(&path)}, func(_ context.Context, args []string) error {
		if len(args) == 0 {
			return usageError{errors.New("name the IDs of the tokens; «idemsvc token list» shows them")}
		}
		entries, err := readTokens(path)
		if err != nil {
			return err
		}
		kept, missing := without(entries, args)
		if len(missing) > 0 {
			return notFound{fmt.Errorf("no token has the ID %s; nothing was changed", strings.Join(missing, ", "))}
		}
		if err := writeTokens(path, kept); err != nil {
			return err
		}
		fmt.Fprintf(c.stdout, "revoked %s\n", strings.Join(args, ", "))
		return nil
	}
}
