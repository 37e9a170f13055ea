// Package model holds the protocol between gate and log, as it is built, as a formal
// model (Promela, *.pml) and the tests that have spin check it: within small bounds in
// every run of the tests, within larger ones by `make model`; that it catches each of
// its mutants; and that README.md, which says what of the code each step stands for,
// names what is there. It holds no code that ships.
package model
