package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// hoard is a client that begins sessions, opens the streams of some of them, says so and never ends: hoard URL N.
func hoard() {
	url := os.Args[1]
	n, err := strconv.Atoi(os.Args[2])
	var streams []net.Conn // one that is forgotten would be closed
	for i := 0; i < n && err == nil; i++ {
		var id string
		if id, err = hold(url); err != nil || i%100 > 0 {
			continue
		}
		var stream net.Conn
		stream, err = follow(url, id)
		streams = append(streams, stream)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // the test does not close it
	for _, stream := range streams {
		stream.Close()
	}
}

// hold begins a session and returns its id.
func hold(url string) (id string, err error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("initialize: %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("Mcp-Session-Id"), err
}

// follow opens the stream of a session, which is not read.
func follow(url, id string) (net.Conn, error) {
	address, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", path,
		address, id)
	if err != nil {
		return nil, err
	}
	status, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && !strings.Contains(status, " 200 ") {
		err = fmt.Errorf("GET: %s", status)
	}
	return c, err
}
