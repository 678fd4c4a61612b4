// Package redis is what the replicas of a gateway share, in a Redis: the state of sessions, buckets of limits, and
// messages between replicas.
//
// Make one [Store] with [New], give it to pkg/gateway, and close it at the end. Nothing fails because Redis does: each
// method returns an error within 100 ms, unless the URL says otherwise, and the gateway goes on with what it has
// itself.
package redis

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// prefix is that of all keys and channels. The version is that of what is kept under them.
	prefix = "mcpl:1:"
	// defaultLimit bounds the time that Redis has for an answer, unless the URL says otherwise.
	defaultLimit = 100 * time.Millisecond
	// rest is how long Redis is left alone after it did not answer.
	rest = time.Second
	// silence is how long no message comes before the connection is tried, and how long the answer may take.
	silence = 5 * time.Second
)

// ErrURL says that a URL is not one of a Redis. It does not say more, since the URL may have a password.
var ErrURL = errors.New("the URL of Redis is not like redis://USER:PASSWORD@HOST:6379/0")

// errDown says that Redis has not answered a moment ago.
var errDown = errors.New("no answer from Redis a moment ago")

// Options make a [Store].
type Options struct {
	// URL is like redis://USER:PASSWORD@HOST:6379/0; rediss for TLS, unix for a socket. With ?read_timeout=500ms Redis has
	// so long for an answer, instead of 100 ms.
	URL string
	// Notice, if not nil, hears when Redis stops answering, and when it answers again. Several goroutines may call it at
	// the same time.
	Notice func(text string)
}

// Store is a Redis. Its methods may be called concurrently.
type Store struct {
	client *redis.Client
	limit  time.Duration // that Redis has for an answer
	notice func(string)

	mu    sync.Mutex
	down  bool
	until time.Time // Redis is left alone
}

// New returns a store. It does not connect yet. The error is [ErrURL].
func New(opt Options) (*Store, error) {
	o, err := redis.ParseURL(opt.URL)
	if err != nil {
		return nil, ErrURL
	}
	limit := o.ReadTimeout
	if limit <= 0 { // it is not given, or none is wanted, which would have requests wait for ever
		limit = defaultLimit
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = limit, limit, limit, limit
	o.MaxRetries, o.ContextTimeoutEnabled = -1, true
	o.DisableIdentity = true
	s := &Store{client: redis.NewClient(o), limit: limit, notice: opt.Notice}
	if s.notice == nil {
		s.notice = func(string) {}
	}
	return s, nil
}

// Silence has the library write nothing to stderr, which it does by itself. It is called once, before New.
func Silence() { redis.SetLogger(quiet{}) }

// quiet drops what the library says.
type quiet struct{}

// Printf implements the logger of the library.
func (quiet) Printf(context.Context, string, ...any) {}

// Close closes the connections. Receive has ended by then.
func (s *Store) Close() error { return s.client.Close() }

// Try has the notice given now if Redis does not answer.
func (s *Store) Try(ctx context.Context) {
	_ = s.do(ctx, func(ctx context.Context) error { return s.client.Ping(ctx).Err() }) // the notice says it
}

// do makes a request, for a limited time. While Redis is left alone it fails at once.
func (s *Store) do(ctx context.Context, request func(ctx context.Context) error) error {
	s.mu.Lock()
	resting := s.down && time.Now().Before(s.until)
	if s.down && !resting {
		s.until = time.Now().Add(rest) // this request tries it, and others do not wait for that
	}
	s.mu.Unlock()
	if resting {
		return errDown
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	err := request(limited)
	if err != nil && ctx.Err() != nil {
		return err // it says nothing of Redis
	}
	s.judge(err)
	return err
}

// judge notes whether Redis has answered.
func (s *Store) judge(err error) {
	s.mu.Lock()
	was := s.down
	s.down, s.until = err != nil, time.Now().Add(rest)
	s.mu.Unlock()
	switch {
	case err != nil && !was:
		s.notice("Redis does not answer; each replica goes on by itself: " + err.Error())
	case err == nil && was:
		s.notice("Redis answers again")
	}
}

// Fields implements gateway.Shared. A record is a hash.
func (s *Store) Fields(ctx context.Context, record string, lasts time.Duration, fields ...string) (
	map[string]string, error) {
	found := make(map[string]string)
	err := s.do(ctx, func(ctx context.Context) error {
		pipe := s.client.Pipeline()
		var all *redis.MapStringStringCmd
		var some *redis.SliceCmd
		if len(fields) == 0 {
			all = pipe.HGetAll(ctx, prefix+record)
		} else {
			some = pipe.HMGet(ctx, prefix+record, fields...)
		}
		pipe.PExpire(ctx, prefix+record, lasts)
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		if all != nil {
			found = all.Val()
			return nil
		}
		for i, value := range some.Val() {
			if text, is := value.(string); is {
				found[fields[i]] = text
			}
		}
		return nil
	})
	return found, err
}

// Change implements gateway.Shared.
func (s *Store) Change(ctx context.Context, record string, lasts time.Duration, set map[string]string,
	remove []string) error {
	return s.do(ctx, func(ctx context.Context) error {
		_, err := s.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			if len(set) > 0 {
				pipe.HSet(ctx, prefix+record, set)
			}
			if len(remove) > 0 {
				pipe.HDel(ctx, prefix+record, remove...)
			}
			pipe.PExpire(ctx, prefix+record, lasts)
			return nil
		})
		return err
	})
}

// take takes one out of a bucket that lacks some, which come back evenly. It returns after how many milliseconds there
// is one, and takes one if that is now.
const take = `
local now = redis.call('TIME')
now = tonumber(now[1]) + tonumber(now[2]) / 1000000
local most = tonumber(ARGV[1])
local lacks = tonumber(redis.call('HGET', KEYS[1], 'lacks') or '0')
local at = tonumber(redis.call('HGET', KEYS[1], 'at') or now)
lacks = math.max(0, lacks - math.max(0, now - at) * most / 60)
if lacks + 1 > most then
	return math.ceil((lacks + 1 - most) * 60000 / most)
end
redis.call('HSET', KEYS[1], 'lacks', tostring(lacks + 1), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], 120000)
return 0`

// Take implements gateway.Shared. The clock is that of Redis.
func (s *Store) Take(ctx context.Context, bucket string, perMinute int) (wait time.Duration, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		ms, err := redis.NewScript(take).Run(ctx, s.client, []string{prefix + "bucket:" + bucket}, perMinute).Int64()
		wait = time.Duration(ms) * time.Millisecond
		return err
	})
	return wait, err
}

// Publish implements gateway.Shared.
func (s *Store) Publish(ctx context.Context, channel string, message []byte) (receivers int, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		n, err := s.client.Publish(ctx, prefix+channel, message).Result()
		receivers = int(n)
		return err
	})
	return receivers, err
}

// Receive implements gateway.Shared.
func (s *Store) Receive(ctx context.Context, channels []string, handle func(message []byte)) {
	names := make([]string, len(channels))
	for i, channel := range channels {
		names[i] = prefix + channel
	}
	for ctx.Err() == nil {
		_ = s.receive(ctx, names, handle) // requests tell of a Redis that does not answer
		again := time.NewTimer(rest)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
		}
	}
}

// receive hands on messages until the connection fails or ctx ends.
func (s *Store) receive(ctx context.Context, names []string, handle func(message []byte)) error {
	connecting, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	from := s.client.Subscribe(connecting, names...)
	stop := context.AfterFunc(ctx, func() { _ = from.Close() }) // it ends the reading
	defer func() {
		if stop() {
			_ = from.Close() // it was only read
		}
	}()
	for asked := false; ; {
		got, err := from.ReceiveTimeout(ctx, silence)
		late := net.Error(nil)
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &late) && late.Timeout() && !asked:
			asked = true
			if err := from.Ping(ctx); err != nil {
				return err
			}
		default:
			return err
		}
		if m, is := got.(*redis.Message); is {
			handle([]byte(m.Payload))
		}
	}
}
