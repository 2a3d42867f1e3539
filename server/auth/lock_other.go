//go:build !unix

package auth

import "os"

// lock does nothing where there are no locks that end with their process: there, one
// process at a time may change a file.
func lock(string) (unlock func(), err error) { return func() {}, nil }

func giveTo(*os.File, os.FileInfo) error { return nil }
