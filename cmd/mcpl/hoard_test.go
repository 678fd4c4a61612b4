package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// hoard is a client that begins sessions, opens the streams of some of them, says so and never ends: hoard URL N.
func hoard() {
	url := os.Args[1]
	n, err := strconv.Atoi(os.Args[2])
	for i := 0; i < n && err == nil; i++ {
		err = hold(url, i%100 == 0)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}

// hold begins a session, and opens its stream.
func hold(url string, opens bool) error {
	do := func(method, body, id string) (*http.Response, error) {
		req, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if id != "" {
			req.Header.Set("Mcp-Session-Id", id)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", method, resp.Status)
		}
		return resp, err
	}
	resp, err := do("POST", begins, "")
	if err != nil {
		return err
	}
	if _, err = io.Copy(io.Discard, resp.Body); err != nil || !opens {
		return err
	}
	_, err = do("GET", "", resp.Header.Get("Mcp-Session-Id")) // which is not read
	return err
}

// begins begins a session.
const begins = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
