package testenv

// Require is require, for tests of what a missing server does.
var Require = require
