package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/mcp-launchpad/mcpl/internal/mcptest"
)

// perServer is how many of n tools a server of the synthetic catalogue has: 50, or more where
// that would make more than 20 servers, since the first list starts all of them at once.
func perServer(n int) int { return max(50, (n+19)/20) }

// The vocabulary of the synthetic catalogue. With Zipf's law over it, posting lists get lengths
// like those of real definitions.
var (
	verbs = strings.Fields("list get create update delete search send read write add remove fetch find run stop start " +
		"export import merge move")
	nouns = strings.Fields("issue file message user event repository branch commit page database table record image " +
		"invoice customer order channel thread calendar contact document folder note task project team label webhook " +
		"secret key bucket container cluster pod node deployment pipeline build artifact release tag metric " +
		"alert log trace dashboard query report template workflow schedule payment subscription product price " +
		"coupon ticket comment review attachment video audio transcript translation map route place weather " +
		"stock")
	fillers = strings.Fields("the a of in with by for given from all one current new existing selected optional first " +
		"last matching returns supports including based using when where its each per between within after before")
)

// script makes a scripted server with n tools of realistic size.
func script(seed uint64, n int) mcptest.Script {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(words []string) string { return words[int(float64(len(words))*r.Float64()*r.Float64())] }
	sentence := func(length int) string {
		words := make([]string, length)
		for i := range words {
			words[i] = pick(fillers)
			if i%3 == 0 {
				words[i] = pick(nouns)
			}
		}
		return strings.Join(words, " ")
	}
	var s mcptest.Script
	for i := range n {
		verb, noun := pick(verbs), pick(nouns)
		properties := make(map[string]any)
		for range 1 + r.IntN(6) {
			properties[pick(nouns)+"_"+pick(nouns)] = map[string]string{"type": "string", "description": sentence(8)}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
		if err != nil {
			panic(err) // maps of strings always encode
		}
		s.Tools = append(s.Tools, mcptest.Tool{
			Name:        fmt.Sprintf("%s_%s_%s_%d", verb, noun, pick(nouns), i),
			Description: fmt.Sprintf("%s %s %s. %s.", strings.ToUpper(verb[:1])+verb[1:], pick(fillers), noun, sentence(15)),
			InputSchema: mcptest.Raw(schema),
		})
	}
	return s
}
