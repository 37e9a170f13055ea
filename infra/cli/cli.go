package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"seckill/infra/config"
)

// Exit codes.
const (
	exitGood    = 0
	exitFailure = 1
	exitUsage   = 2
	exitFinding = 3
)

// program is the command line: the settings, and the one list of commands.
type program struct {
	config.Settings

	Demo        demoCmd        `cmd:"" help:"Run a whole flash sale on this machine and prove the result."`
	Serve       serveCmd       `cmd:"" help:"Run the service, or some of its parts."`
	Migrate     migrateCmd     `cmd:"" help:"Bring the schema up to this program, or tell where it stands."`
	Sale        saleCmd        `cmd:"" help:"Create, list, show, revise, confirm, close, pause and resume sales."`
	Preheat     preheatCmd     `cmd:"" help:"Make the gate ready for a sale, and compare everything it holds with the log."`
	Switch      switchCmd      `cmd:"" help:"List switches, and turn them on and off in a hurry."`
	Drill       drillCmd       `cmd:"" help:"Rehearse the switches at a sale of their own, against nodes that serve, and take them back."`
	Order       orderCmd       `cmd:"" help:"Show, cancel and pay orders."`
	Simulator   simulatorCmd   `cmd:"" help:"Stand for a payment provider, for a look and for tests: no money moves."`
	Cleanup     cleanupCmd     `cmd:"" help:"End the life of a sale that is over: check that nothing is lost, then take away what need not be kept."`
	Replay      replayCmd      `cmd:"" help:"Print stored events."`
	Audit       auditCmd       `cmd:"" help:"Prove the log, or the proof of an order."`
	Statement   statementCmd   `cmd:"" help:"Make and verify the signed closing statement of a sale."`
	Archive     archiveCmd     `cmd:"" help:"Export closed parts of the log to files, and take them out of the database."`
	Checkpoints checkpointsCmd `cmd:"" help:"Tell where each projection stands."`
	Rebuild     rebuildCmd     `cmd:"" help:"Fold views again from the log, while people read them."`
	DeadLetters deadLettersCmd `cmd:"" help:"List, show, retry and drop events that a view could not apply."`
	Reconcile   reconcileCmd   `cmd:"" help:"Compare gate, log and views of every sale and report what differs."`
	Rehydrate   rehydrateCmd   `cmd:"" help:"Build the gate again from the log, under a new epoch."`
	ExportPage  exportPageCmd  `cmd:"" help:"Write the buyer page of a sale to a folder, for a CDN."`
	Plan        planCmd        `cmd:"" help:"Tell what a sale needs, from what single things cost: nodes, gate, settings, and which strategy."`
	Token       tokenCmd       `cmd:"" help:"Print a signed token for a buyer."`
	Version     versionCmd     `cmd:"" help:"Print the versions of module, Go and schema."`
}

// console is what a command works with beside its own flags.
type console struct {
	settings config.Settings
	out      io.Writer
	err      io.Writer
	signals  <-chan os.Signal
}

// Main runs the program with the arguments after its name and gives its exit
// code.
func Main(args []string) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	return run(args, console{out: os.Stdout, err: os.Stderr, signals: signals})
}

// helpShown ends a parse that printed its help.
type helpShown struct{}

func run(args []string, c console) (code int) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(helpShown); !ok {
				panic(v)
			}
			code = exitGood
		}
	}()
	var p program
	parser, err := kong.New(&p,
		kong.Name("seckill"),
		kong.Description("An event-sourced flash-sale engine. Settings come from flags, else from the environment, else from the file named by --config."),
		kong.Writers(c.out, c.err),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
	)
	if err != nil {
		return c.fail(fmt.Errorf("build the command line: %w", err))
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return c.fail(&usageError{err: withHelp(err)})
	}
	if err := wrongID(parsed); err != nil {
		return c.fail(err)
	}
	c.settings = p.Settings
	return c.fail(parsed.Run(c))
}

// withHelp says where what may be written stands, when the command line itself
// could not be read.
func withHelp(err error) error {
	var parse *kong.ParseError
	text := err.Error()
	if !errors.As(err, &parse) || !(strings.HasPrefix(text, "unexpected argument") || strings.HasPrefix(text, "unknown flag") || strings.HasPrefix(text, "expected ") || strings.HasPrefix(text, "missing flags")) {
		return err
	}
	command := "seckill"
	if parse.Context != nil && parse.Context.Selected() != nil {
		command += " " + parse.Context.Selected().Path()
	}
	return fmt.Errorf("%w (`%s --help` tells what can be written)", err, command)
}

// usageError is a command line or a setting that cannot work.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// errFound is the end of a command whose check found something. What it found
// is printed already.
var errFound = errors.New("the check found something")

// fail tells a person what went wrong and gives the exit code.
func (c console) fail(err error) int {
	switch {
	case err == nil:
		return exitGood
	case errors.Is(err, errFound):
		return exitFinding
	}
	fmt.Fprintln(c.err, "seckill: "+sentence(err))
	var u *usageError
	if errors.As(err, &u) {
		return exitUsage
	}
	return exitFailure
}

// stoppable gives a context that the first signal ends; the second one ends the
// process at once. Call done when the command is over.
func (c console) stoppable() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for _, act := range []func(){cancel, func() { os.Exit(exitFailure) }} {
			select {
			case <-c.signals:
				act()
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() {
		close(quit)
		<-ended
		cancel()
	}
}

// say writes one line for people to stderr.
func (c console) say(format string, args ...any) {
	fmt.Fprintln(c.err, strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}
