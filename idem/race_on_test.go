//go:build race

package idem_test

// stateLimit bounds the states of one domain; the race detector makes a step about ten
// times as slow.
const stateLimit = 150

// slow divides the rounds of random tests.
const slow = 10
