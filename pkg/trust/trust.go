// Package trust keeps which servers of projects a person has approved.
//
// A configuration file that comes with a project names programs to run, and anybody can write one and publish it. So a
// server of such a file is neither started nor contacted before a person has seen its entry and approved it. An
// approval covers the entry as written, with the content of the files of the repository that it runs: [Of] makes a
// [Subject] of it, whose Hash changes with any of that. A [Book] keeps approvals in a file of the user's. A [Judge]
// reads the book and is the [config.Approver] of a process.
//
// Servers of the user's own files, and of files that the user named, need no approval: package config does not ask
// about them.
package trust

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcp-launchpad/mcpl/pkg/config"
	"github.com/mcp-launchpad/mcpl/pkg/fault"
)

// Judge says which servers may be used: those that the book approves, those in trusted folders, and all if MCPL_TRUST
// is "all". It implements [config.Approver] and is safe for concurrent use. It reads the book again if that changed.
type Judge struct {
	book    Book
	folders []string
	all     bool
	trusts  func(folder string) bool

	mu    sync.Mutex
	read  bool
	stamp string // of the file as last read
	known []Approval
	bad   error // why the file could not be read: then nothing is approved
}

// NewJudge returns the judge for a process environment. folders is the setting "trusted".
func NewJudge(env config.Env, folders []string) *Judge {
	return &Judge{book: BookIn(env.StateDir()), folders: folders, all: env.TrustsAll(), trusts: env.TrustsFolder(folders)}
}

// Stamp implements [config.Approver].
func (j *Judge) Stamp() string {
	return fmt.Sprintf("%s %t %q", j.book.stamp(), j.all, j.folders)
}

// State says how a server stands.
type State string

// The states of servers. Only the last two are not used.
const (
	Own      State = "own"      // of a file of the user's own, or of one that the user named
	Trusted  State = "trusted"  // all of its folder is
	Approved State = "approved" // as it is now
	Changed  State = "changed"  // since it was approved
	New      State = "new"
)

// Status is how a server stands, and what is or would be approved.
type Status struct {
	State   State
	Subject Subject // the zero one for Own
	// Before is the approval that counts, or the newest that another entry of this name had, of this folder if there is
	// one. It is nil if there was none.
	Before *Approval
	// Declined says that a person has seen this entry and not approved it.
	Declined bool
}

// Status says how a server stands. If the approvals or a file that the server runs cannot be read, it fails; then the
// server may not be used unless its State is Trusted.
func (j *Judge) Status(s *config.Server) (Status, error) {
	if s.Project == "" {
		return Status{State: Own}, nil
	}
	st := Status{State: New}
	if j.trustsAll(s) {
		st.State = Trusted
	}
	known, err := j.approvals()
	if err != nil && st.State != Trusted {
		return st, err
	}
	if st.Subject, err = Of(s); err != nil {
		return st, fmt.Errorf("a file that it runs cannot be read: %w", err)
	}
	if st.State != Trusted {
		st.compare(known, s.Name)
	}
	return st, nil
}

// compare enters what is known of a server of a project.
func (st *Status) compare(known []Approval, server string) {
	for _, a := range known { // the oldest first
		switch {
		case !a.isOf(st.Subject.Project, server):
		case a.isDecline():
			st.Declined = st.Declined || a.Declined == st.Subject.Hash
		case a.Hash == st.Subject.Hash:
			st.State, st.Before = Approved, &a
		case st.State == Approved:
		case st.Before == nil || st.Before.Folder != st.Subject.Folder || a.Folder == st.Subject.Folder:
			st.State, st.Before = Changed, &a
		}
	}
}

// trustsAll reports whether a server of a project needs no approval, whatever it runs.
func (j *Judge) trustsAll(s *config.Server) bool { return j.all || j.trusts(s.Project) }

// Approve implements [config.Approver].
//
// An approved server uses logins that were made for it, in its project; those of a server that is not approved can be
// shown and forgotten. A server that was in use before there were
// approvals keeps those that it had, and a server in a trusted folder is as good as the user's own.
func (j *Judge) Approve(s *config.Server) (config.Allowed, error) {
	if j.trustsAll(s) { // without a look at what it runs, which may be unreadable
		return config.Allowed{WholeEnv: s.InheritEnv}, nil
	}
	st, err := j.Status(s)
	switch {
	case fault.Is(err, fault.Config):
		return config.Allowed{LoginOwner: Project(s.Project)}, unreadable(s, err)
	case err != nil:
		return config.Allowed{LoginOwner: Project(s.Project)}, refusal(s, st, err.Error())
	case st.State == New || st.State == Changed:
		return config.Allowed{LoginOwner: st.Subject.Project}, refusal(s, st, "")
	case st.Before.WholeEnv:
		return config.Allowed{WholeEnv: true}, nil
	}
	return config.Allowed{WholeEnv: s.InheritEnv, LoginOwner: st.Subject.Project}, nil
}

// unreadable is the fault of a server that may not be used because the approvals cannot be read: err says why.
func unreadable(s *config.Server, err error) *fault.Fault {
	f := *fault.From(err) // which is shared by all servers
	return f.On(s.Name, "")
}

// Adopt implements [config.Approver]. The index that speaks for the server may stay on disk for long, so what the book
// says of the server counts, also that its approval was taken back.
func (j *Judge) Adopt(s *config.Server) error {
	st, err := j.Status(s)
	if err != nil || st.Before != nil {
		return err
	}
	a := st.Subject.Approval(time.Now())
	a.WholeEnv = true
	return j.book.Adopt(context.Background(), a)
}

// approvals returns what the book holds now.
func (j *Judge) approvals() ([]Approval, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if stamp := j.book.stamp(); !j.read || stamp != j.stamp {
		j.known, j.bad = j.book.Read()
		j.read, j.stamp = true, stamp
	}
	return j.known, j.bad
}

// refusal is the fault of a server that may not be used.
func refusal(s *config.Server, st Status, why string) *fault.Fault {
	message := s.Name + " comes with this project, and no one has approved it"
	switch {
	case why != "":
		message = s.Name + " comes with this project and is not approved: " + why
	case st.State == Changed:
		message = s.Name + " comes with this project and has changed since it was approved"
	}
	d := s.Shown()
	does := "runs " + d.Command
	if d.URL != "" {
		does = "contacts " + d.URL
	}
	if names := s.References(); len(names) > 0 {
		does += " with " + strings.Join(names, ", ")
	}
	f := fault.New(fault.ApprovalRequired, message, "").On(s.Name, "").
		Trace(fmt.Sprintf("the entry stands in %s, line %d", s.File, s.Line))
	f.Next = []fault.Next{{Why: "Do not approve it yourself: it " + does}}
	f.Then("A person types", fault.Step{Verb: "trust", Server: s.Name})
	f.Approval = st.Wanted(s)
	f.Approval.Why = cmp.Or(why, f.Approval.Why)
	return f
}

// Wanted returns the approval that a server waits for, as an error has it.
func (st Status) Wanted(s *config.Server) *fault.Approval {
	d, why := s.Shown(), "new in this project"
	if st.State == Changed {
		why = "changed since it was approved"
	}
	return &fault.Approval{Kind: "trust", Command: d.Command, URL: d.URL, Why: why}
}

// Approval is an approved server, or one that was declined. A server may have several, of different entries.
type Approval struct {
	// Project tells projects apart: see [Subject].
	Project string `json:"project"`
	Server  string `json:"server"`
	// Hash is that of the [Subject] that was approved, 64 hex digits. It is empty if none was.
	Hash string `json:"hash,omitempty"`
	// Declined is the hash of a subject that a person has seen and not approved. Either it or Hash is empty.
	Declined string `json:"declined,omitempty"`
	// Folder is the folder of the project where it was approved. Terms are what was shown then.
	Folder string   `json:"folder"`
	Terms  []string `json:"terms,omitempty"`
	// WholeEnv says that the server gets the whole environment, although its entry does not ask for it: it was listed
	// before there were approvals.
	WholeEnv bool      `json:"wholeEnv,omitempty"`
	Approved time.Time `json:"approved"`
}

func (a Approval) isOf(project, server string) bool {
	return a.Project == project && a.Server == server
}

// isDecline reports whether a person has seen the entry and not approved it.
func (a Approval) isDecline() bool { return a.Hash == "" }

// entry returns the hash of the entry that was approved or declined.
func (a Approval) entry() string { return cmp.Or(a.Hash, a.Declined) }
