// Package obs lets people see what the process does: metrics and logs.
//
// It owns the metric families, all named seckill_…, and the form of a log line.
// It promises that every family is there from the start, known label values at
// 0, so that an absent series is never mistaken for a quiet one; that a label
// takes known values only, so that nothing a caller sends can grow the memory;
// that a log line is one JSON object whose fields keep their names: trace_id,
// buyer_id, sale_id, order_id, gate, bus, store; and that a crowd before a store
// that is away does not fill the disk: of one warning or error ten lines a second are
// written, and the others counted in a line of their own. Alarms, and every line below
// a warning, are written.
//
// It refuses to ask anybody for anything: what it shows is handed to it.
package obs
