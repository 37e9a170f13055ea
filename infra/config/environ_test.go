package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"seckill/infra/config"
)

func TestASlipOfThePenInTheEnvironmentIsRefusedAndForeignNamesAreTold(t *testing.T) {
	var s config.Settings
	parser, err := kong.New(&s)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		environ []string
		meant   string // the setting that a refusal names
		told    []string
	}{
		"settings":            {environ: []string{"SECKILL_REDIS_URL=redis://h", "PATH=/bin", "SECKILLED=1"}},
		"letters changed":     {environ: []string{"SECKILL_REDIS_ULR=redis://h"}, meant: "SECKILL_REDIS_URL"},
		"a letter missing":    {environ: []string{"SECKILL_DATABSE_URL=postgres://h"}, meant: "SECKILL_DATABASE_URL"},
		"an empty one":        {environ: []string{"SECKILL_REDIS_ULR="}},
		"of somebody else":    {environ: []string{"SECKILL_POSTGRES_PASSWORD=x", "SECKILL_AAA=x"}, told: []string{"SECKILL_AAA", "SECKILL_POSTGRES_PASSWORD"}},
		"a cluster's service": {environ: []string{"SECKILL_SERVICE_HOST=10.0.0.1", "SECKILL_PORT_8080_TCP_ADDR=10.0.0.1", "SECKILL_API_SERVICE_PORT=80", "SECKILL_PORT=tcp://10.0.0.1:80"}},
	} {
		t.Run(name, func(t *testing.T) {
			told, err := config.Environment(parser.Model, c.environ)
			if diff := cmp.Diff(c.told, told); diff != "" {
				t.Errorf("told of (-want +got):\n%s", diff)
			}
			var invalid *config.InvalidError
			if c.meant == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
			} else if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.meant) || strings.Contains(err.Error(), "://") {
				t.Errorf("got %v, want %s named and no value", err, c.meant)
			}
		})
	}
}
