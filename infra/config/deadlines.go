package config

import "time"

// Deadlines bound what a buyer waits for. Each is shorter than the one around it,
// so that whoever asks is answered before he gives up, and nobody works for
// somebody who is gone.
type Deadlines struct {
	Gateway   time.Duration `name:"gateway-timeout" env:"SECKILL_GATEWAY_TIMEOUT" default:"1s" placeholder:"TIME" help:"How long what stands in front of this node waits for an answer; what a buyer reads is given up after it. Default: ${default}."`
	Handler   time.Duration `name:"handler-timeout" env:"SECKILL_HANDLER_TIMEOUT" default:"800ms" placeholder:"TIME" help:"How long a purchase may take once its body is here. Default: ${default}."`
	Queue     time.Duration `name:"queue-timeout" env:"SECKILL_QUEUE_TIMEOUT" default:"300ms" placeholder:"TIME" help:"How long a purchase may wait for its turn at the opening of a sale. Default: ${default}."`
	Gate      time.Duration `name:"gate-timeout" env:"SECKILL_GATE_TIMEOUT" default:"250ms" placeholder:"TIME" help:"How long one question to the gate may take, with its retries. Default: ${default}."`
	Redis     time.Duration `name:"redis-timeout" env:"SECKILL_REDIS_TIMEOUT" default:"150ms" placeholder:"TIME" help:"How long one command of a purchase may take in Redis. Default: ${default}."`
	Statement time.Duration `name:"statement-timeout" env:"SECKILL_STATEMENT_TIMEOUT" default:"500ms" placeholder:"TIME" help:"How long PostgreSQL may work on one statement of what buyers ask. Default: ${default}."`
	Lock      time.Duration `name:"lock-timeout" env:"SECKILL_LOCK_TIMEOUT" default:"200ms" placeholder:"TIME" help:"How long such a statement may wait for a lock. Default: ${default}."`
	Recorder  time.Duration `name:"recorder-timeout" env:"SECKILL_RECORDER_TIMEOUT" default:"5s" placeholder:"TIME" help:"How long PostgreSQL may work on one statement of everything else, such as recording. Default: ${default}."`
}

// Spare is what a purchase has left of its time when it has waited for its turn
// and for the gate: it is spent on finding out what became of an answer that did
// not arrive.
func (d Deadlines) Spare() time.Duration { return d.Handler - d.Queue - d.Gate }

// Admission bounds how many purchases a node works on at once.
type Admission struct {
	Floor Count `name:"admission-floor" env:"SECKILL_ADMISSION_FLOOR" default:"128" placeholder:"N" help:"Purchases at once that a node takes however slow the gate is. Default: ${default}."`
	Cap   Count `name:"admission-cap" env:"SECKILL_ADMISSION_CAP" default:"1024" placeholder:"N" help:"Purchases at once that a node takes at most. Default: ${default}."`
	Queue Count `name:"admission-queue" env:"SECKILL_ADMISSION_QUEUE" default:"2000" placeholder:"N" help:"Purchases that may wait for their turn in the first two seconds of a sale; 0: none. Default: ${default}."`
}

// deadlines refuses a chain in which an inner time is not shorter.
func (p *problems) deadlines(d Deadlines) {
	if d == (Deadlines{}) {
		return // settings that were not read
	}
	shorter := func(name string, inner time.Duration, around string, outer time.Duration) {
		p.check(inner >= time.Millisecond && inner < outer,
			"%s must be a time of at least 1ms that is shorter than %s, which is %s, but it is %s.", name, around, outer, inner)
	}
	shorter("SECKILL_HANDLER_TIMEOUT", d.Handler, "SECKILL_GATEWAY_TIMEOUT", d.Gateway)
	shorter("SECKILL_QUEUE_TIMEOUT", d.Queue, "SECKILL_HANDLER_TIMEOUT", d.Handler)
	shorter("SECKILL_GATE_TIMEOUT", d.Gate, "SECKILL_QUEUE_TIMEOUT", d.Queue)
	shorter("SECKILL_REDIS_TIMEOUT", d.Redis, "SECKILL_GATE_TIMEOUT", d.Gate)
	shorter("SECKILL_STATEMENT_TIMEOUT", d.Statement, "SECKILL_HANDLER_TIMEOUT", d.Handler)
	shorter("SECKILL_LOCK_TIMEOUT", d.Lock, "SECKILL_STATEMENT_TIMEOUT", d.Statement)
	shorter("SECKILL_STATEMENT_TIMEOUT", d.Statement, "SECKILL_RECORDER_TIMEOUT", d.Recorder)
	p.check(d.Queue >= d.Handler || d.Spare() > 0,
		"SECKILL_QUEUE_TIMEOUT and SECKILL_GATE_TIMEOUT must together be shorter than SECKILL_HANDLER_TIMEOUT, which is %s, but they are %s.", d.Handler, d.Queue+d.Gate)
	p.check(d.Recorder <= 5*time.Second, "SECKILL_RECORDER_TIMEOUT must be at most 5s, but it is %s: no transaction may live longer beside the log.", d.Recorder)
}

// maxAdmitted bounds the settings of an admission: more would be no bound.
const maxAdmitted = 100_000

func (p *problems) admission(a Admission) {
	if a == (Admission{}) {
		return
	}
	p.check(a.Cap >= 1 && a.Cap <= maxAdmitted, "SECKILL_ADMISSION_CAP must be a number from 1 to %d, but it is %d.", maxAdmitted, a.Cap)
	p.check(a.Floor >= 1 && a.Floor <= a.Cap, "SECKILL_ADMISSION_FLOOR must be a number from 1 to SECKILL_ADMISSION_CAP, which is %d, but it is %d.", a.Cap, a.Floor)
	p.check(a.Queue >= 0 && a.Queue <= maxAdmitted, "SECKILL_ADMISSION_QUEUE must be a number from 0 to %d, but it is %d.", maxAdmitted, a.Queue)
}
