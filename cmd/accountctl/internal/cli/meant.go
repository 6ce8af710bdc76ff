package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Meant is "did you mean …? " with the name that a misspelt one is most like, or "" where it is
// like none.
func Meant(word string, names []string) string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2} // cobra knows what is alike
	for _, name := range names {
		all.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if like := all.SuggestionsFor(word); len(like) > 0 {
		return "did you mean " + like[0] + "? "
	}
	return ""
}

// WrongFlags says what is wrong with the flags of a command.
func WrongFlags(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return Usage(c, "%v", err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return Usage(c, "unknown flag: %s; %sallowed: those that the help lists", "--"+unknown.GetSpecifiedName(),
		Meant("--"+unknown.GetSpecifiedName(), names))
}
