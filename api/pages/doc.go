// Package pages is the buyer page of a sale: one page of plain HTML with ES
// modules and a style sheet, made without a build step and embedded here.
//
// It promises that a page holds only what stays true of a sale's terms, that its
// version names those and the build, and nothing else (so a CDN may keep it for
// ever), that nothing on it runs or loads but its own assets, and that the same page
// can be written to a folder. What moves – server time, state, sold out – the page
// asks the API for, twice at most before the sale opens.
//
// It refuses to know who is buying: a page is the same for everybody.
package pages
