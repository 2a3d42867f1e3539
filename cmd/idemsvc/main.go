// Command idemsvc runs and operates the service that tells a fleet of consumers which of
// them may process an event now. «idemsvc help» lists its commands, and «idemsvc help
// exit-codes» what they end with.
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
