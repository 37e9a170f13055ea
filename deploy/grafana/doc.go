// Package grafana holds no code. Beside it lie the dashboard of the day of the sale and
// the files by which Grafana finds it and its Prometheus.
//
// The package's test reads the dashboard with Grafana's own SDK, and every expression in
// it with promtool.
package grafana
