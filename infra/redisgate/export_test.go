package redisgate

// ActAsVersion72 makes a gate believe that its server knows WAITAOF.
func ActAsVersion72(g *Gate) { g.waitAOF.Store(true) }

// NamespaceOf gives the first part of a gate's keys.
func NamespaceOf(g *Gate) string { return g.opt.Namespace }
