package power

import (
	"bytes"
	"fmt"
)

// LeftOff tells which machines of this journal's cluster were switched off and
// have not been seen on again, oldest first. It reads only what was appended
// since the last call, by any program.
func (j *Journal) LeftOff() ([]LeftOff, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.catchUp(); err != nil {
		return nil, err
	}
	return j.left.list(), nil
}

// LeftCordoned tells which nodes of this journal's cluster this program has
// cordoned and not uncordoned since, oldest first.
func (j *Journal) LeftCordoned() ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.catchUp(); err != nil {
		return nil, err
	}
	return j.left.cordons(), nil
}

// Cordoned writes down that this program is about to cordon a node, which was
// not cordoned before. Nothing must be changed when it returns an error.
func (j *Journal) Cordoned(node, text string) error {
	return j.append(Entry{Kind: EntryCordoned, Node: node, Text: Clean(text)})
}

// Uncordoned settles what Cordoned wrote: the node has been uncordoned, or was
// found not to be cordoned any more, or is gone.
func (j *Journal) Uncordoned(node, text string) error {
	return j.append(Entry{Kind: EntryUncordoned, Node: node, Text: Clean(text)})
}

// catchUp takes in what was appended since the last call; j.mu is held.
func (j *Journal) catchUp() error {
	if j.file == nil {
		return fmt.Errorf("the journal %s is closed", j.path)
	}
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("the journal %s can't be read: %w", j.path, err)
	}
	if info.Size() < j.read { // truncated or replaced by hand: begin again
		j.read, j.left = 0, newLedger(j.cluster)
	}
	if info.Size() > j.read {
		data := make([]byte, info.Size()-j.read)
		n, err := j.file.ReadAt(data, j.read)
		if n < len(data) && err != nil {
			return fmt.Errorf("the journal %s can't be read: %w", j.path, err)
		}
		// A last line without its end is being written, or was torn.
		whole := bytes.LastIndexByte(data, '\n') + 1
		entries, _, err := ReadJournal(bytes.NewReader(data[:whole]))
		if err != nil {
			return fmt.Errorf("the journal %s can't be read: %w", j.path, err)
		}
		for _, e := range entries {
			j.left.fold(e)
		}
		j.read += int64(whole)
	}
	return nil
}
