package spelling

import (
	"strings"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Contributions are the API's, as flags spell them.
func Contributions() (out []string) {
	for i := 1; i < len(accountantv1.SetPart_Contribution_name); i++ {
		out = append(out, Contribution(accountantv1.SetPart_Contribution(i)))
	}
	return out
}

// Contribution is a contribution as --contribution takes it.
func Contribution(c accountantv1.SetPart_Contribution) string {
	return strings.ToLower(Dashed(c.String()))
}
