// Package console is the operators' console: one page of plain HTML with ES modules
// and a style sheet, made without a build step and embedded here.
//
// It promises that the page holds no data, so that anybody may load it where it is
// served: what it shows it asks the API for, in the name of the operator who signed in,
// whose token is in a cookie that no script reads. Nothing on it runs or loads but its
// own assets, and its policy forbids scripts to make markup out of text at all.
//
// It refuses to do anything that the API does not: every action is one of its routes.
package console
