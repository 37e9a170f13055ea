package redisconn

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Info asks a server for sections of INFO, the default ones where none is named, and
// gives their fields. The error is that of the client.
func Info(ctx context.Context, c redis.UniversalClient, sections ...string) (map[string]string, error) {
	text, err := c.Info(ctx, sections...).Result()
	if err != nil {
		return nil, err
	}
	return infoFields(text), nil
}

func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}
