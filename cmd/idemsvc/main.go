// Command idemsvc runs and operates the service that tells a fleet of consumers which of
// them may process an event now.
//
// Exit codes: 0 it worked, 1 it failed, 2 the command line or configuration is wrong,
// 3 the server or database cannot be reached, 4 nothing was found, 5 access was refused.
package main

import (
	"context"
	"io"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program, without its process: it returns the exit code.
func run(ctx context.Context, args []string, env lookup, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	return c.main(ctx, args)
}
