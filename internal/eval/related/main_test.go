package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestTableIsCurrent fails when groups.txt was changed and the table was not made again.
func TestTableIsCurrent(t *testing.T) {
	t.Parallel()
	in, err := os.Open("groups.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := read(in)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := write(&want, r); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../pkg/search/related_table.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("run: go run ./internal/eval/related < internal/eval/related/groups.txt > pkg/search/related_table.go")
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	r, err := read(strings.NewReader("# nothing\nremove delete\npr > pull ~request # why\nweather = wetter\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(b.String(), "`")
	const want = ":delet remov\n:pr pull ~request\n:remov delet\n:weather wetter\n:wetter weather\n`\n"
	if table != want {
		t.Errorf("the table is\n%s\nwant\n%s", table, want)
	}
	if _, err := read(strings.NewReader("two words > one\n")); err == nil {
		t.Error("two words before > are no error")
	}
}
