// Command analyze adds to `go vet` the checks of `make lint` that are analysers of Go code: errorlint
// (errors are compared and unwrapped by errors.Is and errors.As) and bodyclose (the body of a
// response is closed). `go vet -vettool` runs it, so that the build cache keeps its findings and
// a second run asks only for what has changed.
package main

import (
	"github.com/polyfloyd/go-errorlint/errorlint"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() { unitchecker.Main(errorlint.NewAnalyzer(), bodyclose.Analyzer) }
