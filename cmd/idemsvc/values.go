package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The kinds of values of settings.

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

// jsonFlag is the setting of commands whose output scripts read.
func jsonFlag(v *bool) setting {
	return setting{flag: "json", set: toggle(v), doc: "Print JSON, for scripts."}
}
