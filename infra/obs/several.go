package obs

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// ofProcess begin the names of what a process counts once, whatever it works on.
var ofProcess = [...]string{"seckill_http_", "seckill_purchase_seconds", "seckill_purchases_total", "seckill_purchase_results_total", "seckill_purchase_success_baseline", "seckill_go_", "seckill_process_"}

// OfSeveral shows what a process over several databases counts: what is the process's
// own from its metrics, and everything else from those of each database, with the label
// database.
func OfSeveral(process *Metrics, databases map[string]*Metrics) http.Handler {
	all := prometheus.Gatherers{only(process.registry, true)}
	for _, name := range slices.Sorted(maps.Keys(databases)) {
		all = append(all, labelled(only(databases[name].registry, false), name))
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{})
}

// only gathers what is the process's own, or all the rest.
func only(from prometheus.Gatherer, process bool) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := from.Gather()
		return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
			own := slices.ContainsFunc(ofProcess[:], func(prefix string) bool { return strings.HasPrefix(f.GetName(), prefix) })
			return own != process
		}), err
	})
}

func labelled(from prometheus.Gatherer, database string) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := from.Gather()
		name := "database"
		for _, f := range families {
			for _, m := range f.Metric {
				m.Label = append(m.Label, &dto.LabelPair{Name: &name, Value: &database})
				slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
			}
		}
		return families, err
	})
}
