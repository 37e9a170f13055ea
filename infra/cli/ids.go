package cli

import (
	"reflect"

	"github.com/alecthomas/kong"

	"seckill/domain"
)

// wrongID is the usage error of a command line that names an order or a sale by what
// can be no id of one, an empty one included: a script whose variable is empty must
// not mean every sale. It is nil otherwise, and asks no store: whether there is such
// an order or sale the command finds out.
func wrongID(parsed *kong.Context) error {
	for _, p := range parsed.Path {
		value := p.Positional
		if p.Flag != nil {
			value = p.Flag.Value
		}
		if value == nil || value.Target.Kind() != reflect.String {
			continue
		}
		id := value.Target.String()
		switch value.Name {
		case "stream", "type": // of replay: empty is none of them either
			if id == "" {
				return usage("--%s is empty: leave it out to choose by nothing", value.Name)
			}
		case "order":
			if _, err := domain.ParseOrderID(id); err != nil {
				return usage("%q is no order id: one has %d letters and digits, as a purchase is answered with (order_id)", id, domain.OrderIDLength)
			}
		case "sale":
			if _, err := domain.ParseSaleID(id); err != nil {
				return usage("%q is no sale id: one has 8 letters and digits, as `seckill sale list` shows", id)
			}
		}
	}
	return nil
}
