package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

const (
	// drain is how long requests may take to end when the server does.
	drain = 10 * time.Second
	// parting is how long requests that are cancelled after that may take to tell their clients so.
	parting = 2 * time.Second
	// sweepEvery is how often sessions that have expired are ended.
	sweepEvery = time.Minute
	// checkEvery is how often the tokens of open requests are judged again, and checkLimit how long that may take: the
	// rest is judged the next time.
	checkEvery = time.Second
	checkLimit = time.Second
)

// Listen serves HTTP at an address until ctx ends, and then lets requests end for 10 s. It cancels those that run on,
// and answers them so. listening is called with the URL once it can be connected to.
func (s *Server) Listen(ctx context.Context, address string, listening func(url string)) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(s.ServeHTTP), ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	listening("http://" + listener.Addr().String() + "/mcp")
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for serving := true; serving; {
		select {
		case err = <-ended:
			return errors.Join(err, s.Close())
		case <-sweep.C:
			s.sweep(ctx)
		case <-check.C:
			s.checkTokens(ctx)
		case <-ctx.Done():
			serving = false
		}
	}
	s.endStreams()
	if err = shutdown(ctx, server, drain); errors.Is(err, context.DeadlineExceeded) {
		// A client hears that its call was cancelled, instead of losing the connection.
		close(s.cutting)
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		if err = shutdown(ctx, server, parting); errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		<-ended
		return errors.Join(err, <-closed)
	}
	<-ended
	return errors.Join(err, s.Close())
}

// shutdown waits for requests to end, for a limited time, though ctx has ended.
func shutdown(ctx context.Context, server *http.Server, limit time.Duration) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return server.Shutdown(limited)
}

// endStreams ends what waits for messages until its client goes, which would keep the server from ending: the streams
// of sessions, and subscriptions.
func (s *Server) endStreams() {
	close(s.ending)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, session := range s.sessions {
		session.own.close()
	}
}
