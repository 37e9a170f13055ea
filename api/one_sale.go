package api

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// OneSale is a sale in a body where leaving it out means every sale. Given but empty,
// or null, is none: a script whose variable is empty must not mean every sale.
type OneSale struct {
	ID    string
	given bool
}

// Only gives the sale of this id; with "" it is left out.
func Only(id string) OneSale { return OneSale{ID: id, given: id != ""} }

// empty tells whether a sale was given that is none.
func (o OneSale) empty() bool { return o.given && o.ID == "" }

// IsZero tells whether it is left out.
func (o OneSale) IsZero() bool { return o == OneSale{} }

// MarshalJSON writes the id.
func (o OneSale) MarshalJSON() ([]byte, error) { return json.Marshal(o.ID) }

// UnmarshalJSON reads the id, and notes that there was something.
func (o *OneSale) UnmarshalJSON(raw []byte) error {
	*o = OneSale{given: true}
	return json.Unmarshal(raw, &o.ID)
}

// Schema says that it is a text that is not empty.
func (OneSale) Schema(huma.Registry) *huma.Schema {
	least := 1
	return &huma.Schema{Type: huma.TypeString, MinLength: &least}
}
