package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/idemsvc/idemsvc/server/auth"
)

func (c *cli) tokenCommands() []command {
	return []command{
		{
			name: "token create", brief: "Make a bearer token and add its hash to the file",
			about:   "The token's text is printed once and kept nowhere: hand it to whoever needs it. A running server notices the change within seconds. It stands alone on the standard output, for scripts to take.",
			prepare: c.tokenCreate,
		},
		{
			name: "token list", brief: "List the tokens in the file", about: "Shows who holds them and what they allow, never their text.",
			prepare: c.tokenList,
		},
		{
			name: "token revoke", args: "ID...", brief: "Take tokens out of the file by their IDs",
			about:   "A running server refuses them within seconds. When one of the IDs is unknown nothing is changed.",
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

// tokenJSON is a token for scripts. Its text is there when it has just been made.
type tokenJSON struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Role       auth.Role  `json:"role"`
	Namespaces []string   `json:"namespaces"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	Token      string     `json:"token,omitempty"`
}

func tokenOf(e auth.Entry, text string) tokenJSON {
	return tokenJSON{e.ID, e.Name, e.Role, e.Namespaces, e.ExpiresAt, text}
}

func tokensOf(entries []auth.Entry) []tokenJSON {
	out := make([]tokenJSON, len(entries))
	for i, e := range entries {
		out[i] = tokenOf(e, "")
	}
	return out
}

func (c *cli) tokenCreate() (settings, action) {
	var path, name, role string
	var namespaces []string
	var ttl time.Duration
	asJSON := false
	s := settings{
		tokenFile(&path),
		{flag: "name", arg: "NAME", set: text(&name), doc: "Who holds it, such as billing-service. Shown to operators as the owner of claims. Required."},
		{flag: "namespaces", arg: "NAME,...", set: list(&namespaces), doc: "Namespaces that it may use. A namespace exists by being named here. Required."},
		{flag: "role", arg: "ROLE", def: "consumer", choices: []string{"consumer", "reader", "operator", "admin"}, set: text(&role), doc: "What it may do: consumer, reader, operator or admin."},
		{flag: "ttl", arg: "TIME", def: "0s", set: duration(&ttl, 0), doc: "How long it is valid, such as 2160h. 0s: for ever."},
		jsonFlag(&asJSON),
	}
	return s, func(_ context.Context, args []string) error {
		faults := []error{noArguments(args)}
		for _, required := range []struct{ flag, value string }{{"tokens", path}, {"name", name}, {"namespaces", strings.Join(namespaces, "")}} {
			if required.value == "" {
				faults = append(faults, fmt.Errorf("--%s is required", required.flag))
			}
		}
		if ttl > 0 && ttl < time.Second {
			faults = append(faults, errors.New("--ttl: less than 1s is over before anybody has it"))
		}
		if err := errors.Join(faults...); err != nil {
			return usageError{err}
		}
		token, e, err := auth.Create(path, name, namespaces, auth.Role(role), ttl)
		if err != nil {
			return err
		}
		if !asJSON {
			fmt.Fprintf(c.stderr, "%s, %s in %s, valid %s. This is the only time that it is shown:\n", e.ID, e.Role, strings.Join(e.Namespaces, ", "), until(e))
		}
		if err := c.print(asJSON, tokenOf(e, token), "%s\n", token); err != nil {
			return fmt.Errorf("the token could not be shown: revoke %s and make another: %w", e.ID, err)
		}
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
	asJSON := false
	return settings{tokenFile(&path), jsonFlag(&asJSON)}, func(_ context.Context, args []string) error {
		if err := errors.Join(noArguments(args), given(path)); err != nil {
			return usageError{err}
		}
		entries, err := auth.List(path)
		if err != nil {
			return noTokens(err)
		}
		if asJSON {
			return c.print(true, tokensOf(entries), "")
		}
		w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tROLE\tNAMESPACES\tVALID")
		for _, e := range entries {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", safe(e.ID), safe(e.Name), e.Role, safe(strings.Join(e.Namespaces, ",")), until(e))
		}
		return w.Flush()
	}
}

func (c *cli) tokenRevoke() (settings, action) {
	var path string
	asJSON := false
	return settings{tokenFile(&path), jsonFlag(&asJSON)}, func(_ context.Context, ids []string) error {
		faults := []error{given(path)}
		if len(ids) == 0 {
			faults = append(faults, errors.New("name the IDs of the tokens; «idemsvc token list» shows them"))
		}
		if err := errors.Join(faults...); err != nil {
			return usageError{err}
		}
		revoked, err := auth.Revoke(path, ids...)
		if err != nil {
			return noTokens(err)
		}
		return c.print(asJSON, tokensOf(revoked), "revoked %s\n", strings.Join(ids, ", "))
	}
}

func given(path string) error {
	if path == "" {
		return errors.New("--tokens is required")
	}
	return nil
}

// noTokens adds to the error of a file that does not exist what makes one.
func noTokens(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return notFound{fmt.Errorf("%w («idemsvc token create» makes it)", err)}
	}
	return err
}
