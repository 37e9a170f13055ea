//go:build !crashpoints

package skew

import "time"

// Now gives the time.
func Now() time.Time { return time.Now() }
