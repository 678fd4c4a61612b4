package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"
)

// login types the command that mcpl advised, without a browser, and plays the browser: it opens the
// address that mcpl prints on stderr and follows it wherever it leads, at last back to mcpl.
func (u *user) login(ctx context.Context, advice []string) error {
	cmd := u.command(ctx, append(advice, "--no-browser")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return err
	}
	address := regexp.MustCompile(`https?://\S+/\S*\?\S*response_type=\S+`)
	opened := false
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fmt.Println(lines.Text())
		if url := address.FindString(lines.Text()); url != "" && !opened {
			opened = true
			if err := browse(ctx, url); err != nil {
				fmt.Println("browser:", err)
			}
		}
	}
	_, _ = io.Copy(io.Discard, stderr) // a line too long for the scanner must not block mcpl
	err = cmd.Wait()
	fmt.Printf("%s\n", out.Bytes())
	if err != nil {
		return fmt.Errorf("the login failed: %w", err)
	}
	return nil
}

// browse opens an address as a browser does.
func browse(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	fmt.Printf("browser: %s at %s\n", res.Status, res.Request.URL.Redacted())
	return nil
}
