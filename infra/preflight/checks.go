package preflight

import "context"

// check looks at one thing, or a few that belong together.
type check func(context.Context, *Site) []Row

// checks is the one list of them, in the order in which they are told.
func checks() []check {
	return []check{
		saleIsReady,
		switchesAreOff,
		gateHoldsTheSale,
		ticketsCanBeHad,
		redisKeepsEverything,
		redisAcknowledges,
		redisHasRoom,
		clocksAgree,
		schemaFits,
		postgresIsDurable,
		postgresHasConnections,
		postgresHeedsDeadlines,
		postgresHasRoomForWAL,
		viewsAreFresh,
		rolesAreHeld,
		nodesAreReady,
		filesSuffice,
		kafkaCarries,
		tokensCanBeVerified,
		pageIsCurrent,
	}
}
