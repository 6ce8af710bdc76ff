// Command mechanisms writes docs/mechanisms.md: what the protos say of each mechanism,
// where its descriptor is defined, and what the accountant answers about the workload
// in examples/mechanisms. Run it as `make docs`.
package main

import (
	"bytes"
	"log"
	"os"
	"path/filepath"
)

// page is where it goes, from the root of the repository.
const page = "docs/mechanisms.md"

func main() {
	log.SetFlags(0)
	text, err := write(".")
	if err == nil {
		err = os.WriteFile(page, text, 0o644)
	}
	if err != nil {
		log.Fatal("mechanisms: ", err)
	}
}

// write makes the page of the repository at root.
func write(root string) ([]byte, error) {
	comments, err := readComments(filepath.Join(root, "gen/accountant/v1/mechanism.pb.go"))
	if err != nil {
		return nil, err
	}
	var all []*kind
	for _, field := range kinds() {
		k, err := describe(root, field, comments)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	var out bytes.Buffer
	err = layout.Execute(&out, all)
	return out.Bytes(), err
}
