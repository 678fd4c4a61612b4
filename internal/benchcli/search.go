package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// point is what searching in one size costs.
type point struct {
	tools         int
	hello, search time.Duration
	rss           int64
	build         time.Duration
}

// search compares a search on a fresh index of several sizes with hello-world.
func (b *bench) search(ctx context.Context, sizes string) error {
	fmt.Printf("search on a fresh index as a whole process, medians of %d runs\n", b.runs)
	fmt.Printf("  %7s  %9s  %9s  %6s  %9s  %9s\n", "tools", "hello", "search", "ratio", "peak RSS", "list (1)")
	var points []point
	for _, word := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		p, err := b.size(ctx, n)
		if err != nil {
			return err
		}
		points = append(points, p)
		fmt.Printf("  %7d  %6.2f ms  %6.2f ms  %6.2f  %6.1f MB  %6.0f ms\n", n, ms(p.hello), ms(p.search),
			ratio(p.search, p.hello), float64(p.rss)/1e6, ms(p.build))
	}
	fmt.Printf("  (1) the first list: starting the servers, reading and indexing their tools, once\n")
	if b.plot == "" {
		return nil
	}
	return os.WriteFile(b.plot, plotSVG(points), 0o644)
}

func (b *bench) size(ctx context.Context, n int) (point, error) {
	p := point{tools: n}
	self, err := os.Executable()
	if err != nil {
		return p, err
	}
	name := fmt.Sprintf("search-%d", n)
	var entries []string
	if err := os.MkdirAll(filepath.Join(b.dir, name), 0o700); err != nil {
		return p, err
	}
	each := perServer(n)
	for i := 0; i*each < n; i++ {
		raw, err := json.Marshal(script(uint64(i), min(each, n-i*each)))
		if err != nil {
			return p, err
		}
		path := filepath.Join(b.dir, name, fmt.Sprintf("script-%d.json", i))
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			return p, err
		}
		entries = append(entries, fmt.Sprintf(`"server%d": {"command": %q, "env": {"MCPTEST_SCRIPT": %q}}`, i, self, path))
	}
	c, err := b.configured(name, strings.Join(entries, ", "))
	if err != nil {
		return p, err
	}
	u, err := c.with("--connect-timeout", "300", "list").run(ctx)
	if err != nil {
		return p, err
	}
	p.build = u.wall
	times, err := alternate(ctx, b.runs, b.hello, c.with("--json", "search", "create a new issue in a repository"))
	if err != nil {
		return p, err
	}
	p.hello, p.search = median(times[0]), median(times[1])
	slices.SortFunc(times[1], func(x, y usage) int { return cmp.Compare(x.rss, y.rss) })
	p.rss = times[1][len(times[1])/2].rss
	return p, nil
}

// plotSVG draws search and hello-world time against the number of tools, both axes logarithmic
// in tools and linear in time.
func plotSVG(points []point) []byte {
	const left, right, top, bottom = 60.0, 620.0, 30.0, 300.0
	var most time.Duration
	for _, p := range points {
		most = max(most, p.search)
	}
	x := func(i int) float64 { return left + (right-left)*float64(i)/float64(max(len(points)-1, 1)) }
	y := func(d time.Duration) float64 { return bottom - (bottom-top)*float64(d)/(1.1*float64(most)) }
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 350" font-family="sans-serif" ` +
		`font-size="12">` + "\n")
	fmt.Fprintf(&b, `<rect width="660" height="350" fill="white"/>`+
		`<text x="%.0f" y="18">time of a whole process (ms) against the number of tools</text>`+"\n", left)
	fmt.Fprintf(&b, `<path d="M%.0f %.0fV%.0fH%.0f" fill="none" stroke="black"/>`+"\n", left, top, bottom, right)
	for i, p := range points {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle">%d</text>`+"\n", x(i), bottom+18, p.tools)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle" fill="#06c">%.1f</text>`+"\n",
			x(i), y(p.search)-8, ms(p.search))
	}
	line := func(color, name string, at func(point) time.Duration) {
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, color)
		for i, p := range points {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(i), y(at(p)))
		}
		fmt.Fprintf(&b, `"/><text x="%.0f" y="%.0f" fill="%s">%s</text>`+"\n", left+10, y(at(points[0]))-22, color, name)
	}
	line("#06c", "mcpl search", func(p point) time.Duration { return p.search })
	line("#888", "hello-world", func(p point) time.Duration { return p.hello })
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
