// Package assets holds the files that a page of this program loads: modules of plain
// JavaScript, style sheets and the page itself, embedded and without a build step.
//
// It promises that an asset never changes under its path, since the path names the
// build, which follows from the content of all files. Modules that several pages load
// (the server's clock, the language) are here; each page has them under its own build.
//
// It refuses to know what a page is for.
package assets
