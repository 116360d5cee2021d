package testenv

import (
	"fmt"
	"hash/crc32"
)

// JournalLine returns the line of a journal for an entry, with its checksum.
func JournalLine(entry []byte) string {
	text := entry[:len(entry)-1]
	return fmt.Sprintf("%s,\"sum\":\"%08x\"}\n", text, crc32.ChecksumIEEE(text))
}
