package bus

import (
	"log/slog"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
)

// Local is a bus within this process: publisher and subscriber at once.
type Local interface {
	message.Publisher
	message.Subscriber
}

// NewLocal gives a bus within this process. Publishing waits until every
// subscriber has taken the message, so a relay never runs far ahead. What is
// published while nobody subscribes is gone.
func NewLocal(log *slog.Logger) Local {
	return gochannel.NewGoChannel(gochannel.Config{BlockPublishUntilSubscriberAck: true}, watermillLogger(log))
}

// watermillLogger lowers watermill's own chatter, which repeats per message, to
// debug; its errors stay errors.
func watermillLogger(log *slog.Logger) watermill.LoggerAdapter {
	return watermill.NewSlogLoggerWithLevelMapping(log, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
}
