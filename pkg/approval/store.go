package approval

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/atomicfile"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
	"github.com/mcp-launchpad/mcpl/pkg/policy"
	"github.com/mcp-launchpad/mcpl/pkg/tool"
)

// Store keeps requests in a folder, for any number of processes at once.
type Store struct {
	// Dir is mcpl's state folder.
	Dir string
	Now func() time.Time
}

// now returns the time as the file has it: in UTC, without fractions of a second.
func (s Store) now() time.Time { return s.Now().UTC().Truncate(time.Second) }

func (s Store) path() string { return filepath.Join(s.Dir, "approvals.json") }

// lockWait bounds how long an update waits for another mcpl. Each holds the lock for milliseconds.
const lockWait = 10 * time.Second

// Pass reports whether the call has been approved, in one of these ways, and uses the approval up: of many processes
// that make the same call at once, one passes.
func (s Store) Pass(ctx context.Context, call Call, by []policy.Way) (passed bool, err error) {
	if ok, err := s.Has(call, by); !ok || err != nil { // mostly there is nothing to lock for
		return false, err
	}
	err = s.update(ctx, func(c *content) (bool, error) {
		passed = c.pass(call, by, s.now())
		return passed, nil
	})
	return passed && err == nil, err
}

// Has reports whether [Store.Pass] would pass, and changes nothing.
func (s Store) Has(call Call, by []policy.Way) (bool, error) {
	c, err := s.read()
	if err != nil {
		return false, err
	}
	return c.pass(call, by, s.now()), nil
}

// Denied returns the [Request.Outcome] of a call that was denied, "" for others.
func (s Store) Denied(call Call) (string, error) {
	c, err := s.read()
	if err != nil {
		return "", err
	}
	i := -1
	if c.Key != nil {
		i = c.open(call, s.now())
	}
	if i < 0 || c.Requests[i].State != Denied {
		return "", nil
	}
	return c.Requests[i].Outcome(), nil
}

// Open returns the request for a call: the one that is open or was denied, or a new one. If the call has been approved
// meanwhile, it passes instead, as with [Store.Pass].
func (s Store) Open(ctx context.Context, call Call, about About) (r Request, passed bool, err error) {
	if len(about.Shown) > maxArguments {
		return Request{}, false, fault.New(fault.ApprovalRequired, fmt.Sprintf(
			"the call of %s needs an approval, and its arguments have %d bytes: more than %d cannot be shown to a person",
			call.Ref, len(about.Shown), maxArguments), "Make a smaller call.").On(call.Ref.Server, call.Ref.Tool())
	}
	err = s.update(ctx, func(c *content) (bool, error) {
		if passed = c.pass(call, about.By, s.now()); passed {
			return true, nil
		}
		r, err = c.ask(call, about, s.now())
		return true, err
	})
	if err != nil || passed {
		return Request{}, passed && err == nil, err
	}
	return r, false, nil
}

// ask returns the request for a call, as it is open or was denied, or a new one, with its token if one may approve it.
func (c *content) ask(call Call, about About, now time.Time) (Request, error) {
	i := c.open(call, now)
	if i < 0 {
		if !c.isWithin(call.Principal, len(about.Shown)) {
			return Request{}, fault.New(fault.ApprovalRequired, fmt.Sprintf("this client waits for so many approvals that "+
				"no more are taken: it may have %d open or denied, with %d bytes of arguments", maxOwnRequests, maxOwnSize),
				fmt.Sprintf("Wait until a person has decided, or until they expire, %d hours after they were asked for.",
					int(Lifetime.Hours()))).On(call.Ref.Server, call.Ref.Tool())
		}
		if !c.fits(len(about.Shown)) {
			return Request{}, fault.New(fault.ApprovalRequired, fmt.Sprintf("so much has been asked for within %d hours "+
				"that no more is taken", int(Lifetime.Hours())), "Wait until requests expire.").
				Then("See them with", fault.Step{Verb: "approvals", Args: []string{"list"}}).On(call.Ref.Server, call.Ref.Tool())
		}
		i = len(c.Requests)
		c.Requests = append(c.Requests, Request{ID: c.newID(), Server: call.Ref.Server, Name: call.Ref.Name,
			Kind: call.Ref.Kind, Principal: call.Principal, Arguments: about.Shown, Folder: about.Folder, Asked: now,
			Expires: now.Add(Lifetime), State: Pending, Call: c.Key.digest(call)})
	}
	c.Requests[i].By, c.Requests[i].Reason = about.By, about.Reason // the rule may have changed since
	r := c.Requests[i]
	if r.State == Pending && r.takes(policy.Token) {
		r.Token = c.Key.sign(r)
	}
	return r, nil
}

// isWithin reports whether a principal may have one more request with so many bytes of arguments.
func (c *content) isWithin(principal tool.Principal, size int) bool {
	if principal == "" {
		return true
	}
	n := 0
	for _, r := range c.Requests {
		if r.Principal == principal && r.State != Used && r.State != Revoked {
			n, size = n+1, size+len(r.Arguments)
		}
	}
	return n < maxOwnRequests && size <= maxOwnSize
}

// fits reports whether there is room for one more request with so many bytes of arguments. If need be, it forgets
// requests that were used or revoked: nothing depends on them.
func (c *content) fits(size int) bool {
	n := len(c.Requests)
	for _, r := range c.Requests {
		size += len(r.Arguments)
	}
	c.Requests = slices.DeleteFunc(c.Requests, func(r Request) bool { // the oldest first
		full := n >= maxRequests || size > maxSize
		if !full || r.State != Used && r.State != Revoked {
			return false
		}
		n, size = n-1, size-len(r.Arguments)
		return true
	})
	return n < maxRequests && size <= maxSize
}

// List returns the requests that have not expired, the newest first.
func (s Store) List() ([]Request, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	c.prune(s.now())
	slices.SortStableFunc(c.Requests, func(a, b Request) int {
		return cmp.Or(b.Asked.Compare(a.Asked), cmp.Compare(a.ID, b.ID))
	})
	return c.Requests, nil
}

// Find returns the request that an id or a token names. With a token, genuine says so: its holder may approve.
func (s Store) Find(which string) (r Request, genuine bool, err error) {
	c, err := s.read()
	if err != nil {
		return Request{}, false, err
	}
	i, genuine, err := c.find(which, s.now())
	if err != nil {
		return Request{}, false, err
	}
	return c.Requests[i], genuine, nil
}

// Decision is what somebody decides about a request.
type Decision struct {
	Approve bool
	// Way is how an approval comes. A token is a way of its own, whatever Way says.
	Way policy.Way
	// Note is a reason for people. It may be empty.
	Note string
	// By are the ways of approving that the rule has now. If nil, those of the request count.
	By []policy.Way
}

// Decide approves or denies the request that an id or a token names, and returns it as it is then. Deciding the same
// again is harmless.
func (s Store) Decide(ctx context.Context, which string, d Decision) (Request, error) {
	return s.change(ctx, which, func(r *Request, genuine bool) error {
		if !d.Approve {
			return r.deny(d.Note, s.now())
		}
		if genuine {
			d.Way = policy.Token
		}
		if d.By != nil {
			r.By = d.By
		}
		return r.approve(d.Way, d.Note, s.now())
	})
}

// Revoke takes back a request or the decision on it: the next such call is asked for anew. The way matters for a
// denial. A token is a way of its own, whatever way says.
func (s Store) Revoke(ctx context.Context, which string, way policy.Way) (Request, error) {
	return s.change(ctx, which, func(r *Request, genuine bool) error {
		if genuine {
			way = policy.Token
		}
		return r.revoke(way, s.now())
	})
}

// change edits the request that an id or a token names.
func (s Store) change(ctx context.Context, which string,
	edit func(r *Request, genuine bool) error) (r Request, err error) {
	if _, _, err := s.Find(which); err != nil { // before a file or a folder is made
		return Request{}, err
	}
	err = s.update(ctx, func(c *content) (bool, error) {
		i, genuine, err := c.find(which, s.now())
		if err == nil {
			err = edit(&c.Requests[i], genuine)
			r = c.Requests[i]
		}
		return true, err
	})
	return r, err
}

// update changes the file by edit: one locked read, edit and replacement, so that concurrent updates lose nothing. If
// edit fails or changes nothing, or the file cannot be read, the file stays as it is.
func (s Store) update(ctx context.Context, edit func(*content) (changed bool, err error)) error {
	return atomicfile.Edit(ctx, s.path(), lockWait, func() ([]byte, error) {
		c, err := s.read()
		if err != nil {
			return nil, err
		}
		if c.Key == nil {
			c.Key = make(key, keySize)
			_, _ = rand.Read(c.Key) // never fails (crypto/rand)
		}
		c.prune(s.now())
		if changed, err := edit(&c); err != nil || !changed {
			return nil, err
		}
		return c.render()
	})
}

// prune forgets requests that have expired, whatever became of them.
func (c *content) prune(now time.Time) {
	c.Requests = slices.DeleteFunc(c.Requests, func(r Request) bool { return !now.Before(r.Expires) })
}

// pass uses up an approval of the call, if there is one, and reports whether there was.
func (c *content) pass(call Call, by []policy.Way, now time.Time) bool {
	if c.Key == nil {
		return false
	}
	digest := c.Key.digest(call)
	for i := range c.Requests {
		r := &c.Requests[i]
		if r.Call == digest && r.State == Approved && now.Before(r.Expires) && slices.Contains(by, r.Way) {
			r.State, r.Decided = Used, now
			return true
		}
	}
	return false
}

// open returns the index of the request for a call that is open, or was denied; -1 if there is none.
func (c *content) open(call Call, now time.Time) int {
	digest := c.Key.digest(call)
	return slices.IndexFunc(c.Requests, func(r Request) bool {
		return r.Call == digest && now.Before(r.Expires) && (r.State == Pending || r.State == Denied)
	})
}

// newID returns an id that no request has.
func (c *content) newID() string {
	taken := func(id string) bool {
		return slices.ContainsFunc(c.Requests, func(r Request) bool { return r.ID == id })
	}
	for {
		b := make([]byte, idSize)
		_, _ = rand.Read(b) // never fails (crypto/rand)
		for i := range b {
			b[i] = idLetters[int(b[i])%len(idLetters)]
		}
		if id := string(b); !taken(id) {
			return id
		}
	}
}

// find returns the index of the request that an id or a token names. It fails for a token that is not the request's.
func (c *content) find(which string, now time.Time) (i int, genuine bool, err error) {
	id := which
	var t token
	if IsToken(which) {
		if t, err = parseToken(which); err != nil {
			return 0, false, fault.New(fault.Usage, "this token cannot be used: "+err.Error(), "Copy the whole token.")
		}
		if c.Key == nil || t.Key != c.Key.id() {
			return 0, false, fault.New(fault.Usage, "this token is not of this user and machine: another key signed it",
				"Approve it where the call was made, as the same user.")
		}
		if id = t.Request; !now.Before(t.Expires) {
			return 0, false, fault.New(fault.ApprovalRequired, "this token expired at "+clock(t.Expires),
				"Make the call again: it gets a new one.")
		}
	}
	i = slices.IndexFunc(c.Requests, func(r Request) bool { return r.ID == id && now.Before(r.Expires) })
	switch {
	case i < 0:
		return 0, false, fault.New(fault.Usage, fmt.Sprintf("there is no request %q", id),
			"It may have expired: then make the call again.").
			Then("See the open ones with", fault.Step{Verb: "approvals", Args: []string{"list"}})
	case id != which && !c.Key.signed(t, c.Requests[i]):
		return 0, false, fault.New(fault.Usage, "this token was changed: its signature does not fit",
			"Copy the token anew.")
	}
	return i, id != which, nil
}
