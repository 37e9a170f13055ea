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
	"time"

	"github.com/alecthomas/kong"

	"seckill/domain"
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
	// Database is for this command alone, and so no setting.
	Database string `name:"database" placeholder:"NAME" help:"Where sales live on several databases: work on this one alone; main is the first."`

	Demo        demoCmd        `cmd:"" help:"Run a whole flash sale on this machine and prove the result."`
	Serve       serveCmd       `cmd:"" help:"Run the service, or some of its parts."`
	Migrate     migrateCmd     `cmd:"" help:"Bring the schema up to this program, or tell where it stands."`
	Sale        saleCmd        `cmd:"" help:"Create, list, show, revise, confirm, close, pause and resume sales."`
	Preheat     preheatCmd     `cmd:"" help:"Make the gate ready for a sale, and compare everything it holds with the log."`
	Switch      switchCmd      `cmd:"" help:"List switches, and turn them on and off in a hurry."`
	Drill       drillCmds      `cmd:"" help:"Rehearse the switches against nodes that serve, or broken stores on an installation of its own."`
	Order       orderCmd       `cmd:"" help:"Show, cancel and pay orders."`
	Trace       traceCmd       `cmd:"" help:"Tell the whole story of a purchase, from an order, a buyer or a trace id."`
	Receipt     receiptCmd     `cmd:"" help:"Tell what the receipt of a refused purchase says, and whether the log agrees."`
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
	Bench       benchCmd       `cmd:"" help:"Rehearse a sale over HTTP, on any URL: an open loop of people who press, look, pay, repeat and attack."`
	Plan        planCmd        `cmd:"" help:"Tell what a sale needs, from what single things cost: nodes, gate, settings, and which strategy."`
	Preflight   preflightCmd   `cmd:"" help:"Look at everything that a sale will stand on, as it runs, and say go or no-go."`
	Stacks      stacksCmd      `cmd:"" help:"Ask a node three times what its goroutines wait for: a connection, an answer, a lock."`
	Token       tokenCmd       `cmd:"" help:"Print a signed token for a buyer."`
	Version     versionCmd     `cmd:"" help:"Print the versions of module, Go and schema."`
	Probe       probeCmd       `cmd:"" help:"Ask a process on this machine whether it is ready, or lives: what health checks of containers run."`
	Completion  completionCmd  `cmd:"" help:"Print the script by which a shell completes commands and flags."`
	Man         manCmd         `cmd:"" help:"Print the manual page: seckill man | man -l -"`
}

// console is what a command works with beside its own flags.
type console struct {
	settings config.Settings
	// only names the one of several databases to work on; "" where nobody does.
	only string
	// narrowed: others of several databases are left out.
	narrowed bool
	// house is what the application is one of several in; nil where it is alone.
	house   *house
	out     io.Writer
	err     io.Writer
	signals <-chan os.Signal
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
	parser, err := newParser(&p, c)
	if err != nil {
		return c.fail(fmt.Errorf("build the command line: %w", err))
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return c.fail(&usageError{err: withHelp(err)})
	}
	without, err := config.Environment(parser.Model, os.Environ())
	for _, name := range without {
		fmt.Fprintf(c.err, "%s is set, and has no effect: it is not a setting.\n", name)
	}
	if err != nil {
		return c.fail(&usageError{err: err})
	}
	if err := wrongID(parsed); err != nil {
		return c.fail(err)
	}
	c.settings, c.only = p.Settings, p.Database
	return c.dispatch(parsed)
}

// newParser makes the command line that fills p.
func newParser(p *program, c console) (*kong.Kong, error) {
	return kong.New(p,
		kong.Name("seckill"),
		kong.Description("An event-sourced flash-sale engine. Settings come from flags, else from the environment, else from the file named by --config."),
		kong.Writers(c.out, c.err),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
	)
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
	var refusal *domain.Problem
	if errors.As(err, &u) || errors.As(err, &refusal) && refusal.Code == domain.CodeInvalidRequest {
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
		c.obey(quit, time.Now, []func(){cancel, func() { os.Exit(exitFailure) }})
	}()
	return ctx, func() {
		close(quit)
		<-ended
		cancel()
	}
}

// sameStop is how soon a signal after the first is still the same wish: `timeout` sends
// its own to the process and to its group.
const sameStop = time.Second

// obey acts on one signal after the other until quit is closed.
func (c console) obey(quit <-chan struct{}, now func() time.Time, acts []func()) {
	var last time.Time
	for len(acts) > 0 {
		select {
		case <-c.signals:
			if at := now(); last.IsZero() || at.Sub(last) >= sameStop {
				last = at
				acts[0]()
				acts = acts[1:]
			}
		case <-quit:
			return
		}
	}
}

// say writes one line for people to stderr.
func (c console) say(format string, args ...any) {
	fmt.Fprintln(c.err, strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}
