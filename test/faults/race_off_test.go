//go:build !race && linux

package faults_test

var buildFlags []string
