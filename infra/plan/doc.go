// Package plan computes what a sale needs from what single things cost: requests a
// second at the peak, API nodes, the load of the gate, buckets, partitions,
// connections, the time until all is recorded, settings, and which strategy to choose.
//
// It owns the table of unit costs (Measured) and the form in which a machine's own are
// kept (Measurement), which take their place. Each of the table's was measured, on two
// cores that carried everything at once, and stands beside the command that measures
// it again. It promises arithmetic: the
// same wish and the same costs give the same plan. What it says about a size that
// nobody has run is an extrapolation, and its warnings say where that begins.
//
// It refuses wishes that cannot be meant (Wish.Validate), and it talks to no store.
package plan
