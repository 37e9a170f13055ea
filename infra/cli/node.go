package cli

import (
	"crypto/rand"
	"os"
	"strings"

	"seckill/commands"
)

// nodeName gives the name of this process: the one that was set, or that of the
// host and four random letters, so that two processes of a host differ.
func nodeName(set string) string {
	if set != "" {
		return set
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "node"
	}
	const tail = 4
	host = strings.Map(func(c rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", c) {
			return c
		}
		return '-'
	}, host)
	host = host[:min(len(host), commands.MaxNode-tail-1)]
	return host + "-" + strings.ToLower(rand.Text()[:tail])
}
