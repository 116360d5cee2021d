package recorder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"lightsout/internal/outage"
	"lightsout/internal/record"
	"lightsout/internal/report"
)

// trim removes the oldest records if all of them are too large, and never the newest.
func (r *Recorder) trim() {
	r.trimmed = r.opt.Now()
	gone, err := record.Trim(r.opt.Dir, r.opt.KeepBytes, r.newest)
	for _, dir := range gone {
		r.opt.Print("removed the oldest record, for the room: " + dir)
	}
	if err != nil {
		r.opt.Print(err.Error())
	}
}

// Interrupted writes the reports of the records in dir whose recorder was killed, and
// returns a sentence on each.
func Interrupted(dir string) (out []string) {
	for _, path := range record.SessionDirs(dir) {
		if exists(filepath.Join(path, record.SummaryFile)) || exists(filepath.Join(path, record.HTMLFile)) {
			continue
		}
		r, err := record.Open(path)
		if err == nil && r.End.IsZero() {
			err = errors.New("no line of it can be read")
		}
		if err == nil {
			_, err = report.Write(path)
		}
		if err != nil {
			out = append(out, fmt.Sprintf("an earlier recorder left %s, which cannot be read: %v", path, err))
			continue
		}
		out = append(out, fmt.Sprintf("an earlier recorder ended at %s during an outage: its record %s ends then, and what happened until now is in no record",
			r.End.UTC().Format("2006-01-02 15:04:05 UTC"), path))
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Folder is the folder of the records, in the state folder of a cluster.
const Folder = "outages"

// lockFile is the file in that folder which a program locks.
const lockFile = ".lock"

// errTaken is the advice when another program holds the lock.
var errTaken = errors.New("end it, or use another --state")

// Lock makes the folder of the records, and keeps other recorders out of it until unlock
// is called or the program ends.
func Lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another recorder, or a screen, writes to %s: %w", dir, errTaken)
	}
	return func() { _ = f.Close() }, nil
}

// lock locks the folder for the record of one outage, by its cause. The operator's own is recorded in any case: another
// recorder mutes it.
func (r *Recorder) lock(by outage.Cause) (unlock func(), err error) {
	if r.opt.Trial != nil {
		unlock, err = Lock(r.opt.Dir)
	}
	if unlock == nil && (err == nil || by == outage.Operator && errors.Is(err, errTaken)) {
		return func() {}, nil
	}
	return unlock, err
}
