// Command eval judges the ranking of pkg/search on labelled queries.
//
//	go run ./internal/eval -data DIR [-set NAME] [-background DIR] [-json FILE] [-ablate] [-empty] [-typos]
//
// DIR holds a folder for each set, with tools.jsonl ({"server","tool","description",
// "inputSchema"} a line) and queries.jsonl ({"id","query","relevant":[{"server","tool","g",
// "rel"}]}; tools with the same g are interchangeable), or is such a folder itself. For each
// set and as the mean over sets it prints recall, mean reciprocal rank and nDCG of the method
// in force and of plain BM25. It leaves ranking to pkg/search, which it uses as mcpl does:
// Build, Open, Search.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mcp-launchpad/mcpl/pkg/search"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	}
}

// report is what -json writes.
type report struct {
	Set     string   `json:"set"`
	Tools   int      `json:"tools"`
	Queries int      `json:"queries"`
	Method  measures `json:"method"`
	Plain   measures `json:"plain"`
}

func run(args []string, w io.Writer) error {
	fs := flag.NewFlagSet("eval", flag.ContinueOnError)
	data := fs.String("data", "", "folder of the sets")
	only := fs.String("set", "", "name of the only set to judge")
	background := fs.String("background", "", "folder of a set whose tools are mixed in")
	out := fs.String("json", "", "file to write the figures to")
	ablation := fs.Bool("ablate", false, "print what each idea of the ranking is worth")
	empty := fs.Bool("empty", false, "judge when search says that nothing fits")
	slips := fs.Bool("typos", false, "judge the correction of misspelt words")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *data == "" {
		return fmt.Errorf("-data is missing: the folder of the labelled sets")
	}
	sets, err := readSets(*data, *only)
	if err != nil {
		return err
	}
	if *background != "" {
		bg, err := readSet(*background)
		if err != nil {
			return err
		}
		for _, s := range sets {
			mixIn(s, bg)
		}
	}
	if *ablation {
		return ablate(sets, w)
	}
	if *empty {
		return emptiness(sets, w)
	}
	if *slips {
		return typos(sets, w)
	}
	reports, err := judge(sets)
	if err != nil {
		return err
	}
	printReports(w, reports)
	if *out == "" {
		return nil
	}
	b, err := json.MarshalIndent(reports, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*out, append(b, '\n'), 0o644)
}

// judge measures both methods on every set and appends the mean over sets.
func judge(sets []*set) ([]report, error) {
	var reports []report
	var method, base []measures
	for _, s := range sets {
		m, err := judgeSet(s, search.DefaultModel())
		if err != nil {
			return nil, err
		}
		p := newPlain(s.docs)
		var ps []measures
		for i := range s.queries {
			ps = append(ps, measure(p.rank(s.queries[i].text, depth), &s.queries[i]))
		}
		r := report{s.name, len(s.docs), len(s.queries), mean(m), mean(ps)}
		reports = append(reports, r)
		method, base = append(method, r.Method), append(base, r.Plain)
	}
	if len(sets) > 1 {
		reports = append(reports, report{"mean", 0, 0, mean(method), mean(base)})
	}
	return reports, nil
}

// judgeSet measures each query of s with the model m.
func judgeSet(s *set, m search.Model) ([]measures, error) {
	ix, err := search.Open(search.BuildWith(s.docs, m))
	if err != nil {
		return nil, err
	}
	var all []measures
	for i := range s.queries {
		hits, err := ix.Search(search.Query{Text: s.queries[i].text, Limit: depth, Model: &m})
		if err != nil {
			return nil, err
		}
		docs := make([]int, len(hits))
		for j, h := range hits {
			docs[j] = h.Doc
		}
		all = append(all, measure(docs, &s.queries[i]))
	}
	return all, nil
}

func printReports(w io.Writer, reports []report) {
	fmt.Fprintf(w, "%-18s %6s %7s %-6s   R@1   R@3   R@5  R@10   MRR  nDCG\n", "set", "tools", "queries", "")
	for _, r := range reports {
		for _, row := range []struct {
			label string
			m     measures
		}{{"mcpl", r.Method}, {"plain", r.Plain}} {
			fmt.Fprintf(w, "%-18s %6d %7d %-6s", r.Set, r.Tools, r.Queries, row.label)
			for _, v := range row.m.values() {
				fmt.Fprintf(w, " %.3f", *v)
			}
			fmt.Fprintln(w)
		}
	}
}
