// Package config holds the settings of the program: their names, defaults,
// where they come from and what is wrong with them.
//
// It owns the list of settings (Settings) and the form of the settings file. A
// setting is one field with its flag, its variable and its sentence of help.
//
// Settings come from the command line, else from the environment, else from
// the file named by --config or SECKILL_CONFIG, else they have their default.
// An empty value counts as none. The file has one setting a line, under the
// name of its variable, as a shell or Docker would read it:
//
//	# comment
//	SECKILL_REDIS_URL=redis://:secret@cache.internal:6379/0
//	SECKILL_NAMESPACE="autumn"
//
// A name that is no setting is refused with its line, so that a slip of the
// pen is no silent default. In the environment, where others have names too, what is
// nearly a name of ours is refused, and anything else that begins like one is told of
// (Environment).
//
// Commands embed Settings as a kong struct; kong then fills it, reads the file
// and calls Validate, which reports all that is wrong at once. Other programs
// call Load.
//
// It refuses to print secrets: Secret and URL show themselves redacted in every
// form of fmt, JSON and slog, and no error repeats a value that may hold one.
package config
