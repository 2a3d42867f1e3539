// Package idem holds the rules of idemsvc: who may process an event, what a
// claim, a fence, a lane and a side effect are, and how each command changes
// them. It is pure: standard library only, no clock, no randomness, no I/O.
//
// [Decide] is the one entrance. It takes what is stored ([World]), what is asked
// ([Command]) and the rules in force ([Policy]) and says what is answered and
// what is written ([Decision]). The PostgreSQL store, the in-memory store and the
// model test all run this same function.
//
// Time is an argument too. Decide compares instants of the database's clock that
// it was given, and never makes one: a new instant is a [When], a distance from
// the moment at which the write is applied, so that no lease is shortened by a
// queue or a lock wait.
//
// The state diagram is in states.md beside this file; a test keeps the diagram,
// the table of transitions and the code the same.
package idem
