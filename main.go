// Command seckill is an event-sourced flash-sale engine; see infra/cli.
package main

import (
	"os"

	"seckill/infra/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:]))
}
