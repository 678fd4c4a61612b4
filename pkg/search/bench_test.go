package search

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// synthetic makes n tools whose words are as unevenly spread as those of real catalogues: a
// third of them get, list or create something.
func synthetic(n int) []Document {
	rng := rand.New(rand.NewPCG(1, 2))
	verbs := strings.Fields("get list create search update delete send read write find add run export merge close")
	nouns := strings.Fields("issue file user message event image page table branch invoice order ticket note task report " +
		"calendar contact channel commit document folder payment server cluster metric log query product customer deployment")
	for i := range 300 { // and the words of special fields
		nouns = append(nouns, fmt.Sprintf("%c%c%cer", "bdfgklmnprst"[i%12], "aeiou"[i/12%5], "bdfgklmnprst"[i/60]))
	}
	fill := strings.Fields("the a of for with given by id name and optional returns specified in from to all this tool be " +
		"used when you need data results details current new filter date range limit")
	word := func(list []string) string {
		x := rng.Float64()
		return list[int(x*x*float64(len(list)))]
	}
	rare := func() string { return fmt.Sprintf("%s%c%c", word(nouns), 'a'+rng.IntN(26), 'a'+rng.IntN(26)) }
	docs := make([]Document, n)
	for i := range docs {
		verb, noun := word(verbs), word(nouns)
		d := Document{Server: fmt.Sprintf("%s-%d", nouns[i/12%len(nouns)], i/12), Name: fmt.Sprintf("%s_%s_%s", verb, noun, rare())}
		text := []string{verb, noun}
		for range 8 + rng.IntN(40) {
			switch x := rng.Float64(); {
			case x < .6:
				text = append(text, word(fill))
			case x < .9:
				text = append(text, word(nouns))
			default:
				text = append(text, rare())
			}
		}
		d.Description = strings.Join(text[:8], " ") + ". " + strings.Join(text[8:], " ")
		for range rng.IntN(6) {
			d.Params = append(d.Params, Param{word(nouns) + "_id", "The " + word(fill) + " " + word(nouns)})
		}
		docs[i] = d
	}
	return docs
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		docs := synthetic(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				size = len(Build(docs))
			}
			b.ReportMetric(float64(size)/float64(n), "B/tool")
		})
	}
}

// BenchmarkSearch opens the index for every query, as a process that answers one does.
func BenchmarkSearch(b *testing.B) {
	queries := []Query{
		{Text: "create an issue"},
		{Text: "send a message to the channel when a deployment fails and close the ticket"},
		{Text: "crate isssue"},
		{Text: "issue", Method: Exact},
		{Text: "get.*invoice", Method: Regex},
	}
	for _, n := range []int{1_000, 10_000, 100_000} {
		packed := Build(synthetic(n))
		for _, q := range queries {
			q.Limit = 5
			b.Run(fmt.Sprintf("%d/%s %.12s", n, q.Method, q.Text), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ix, err := Open(packed)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := ix.Search(q); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
