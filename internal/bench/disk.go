package bench

import "fmt"

const (
	// storedBytes is what a stored event needs at most: its record, which its page leaves
	// room beside, its key, and its entries in the look-up index.
	storedBytes = 1600
	// spareBytes is what an empty cluster needs, and mostLog what the write-ahead log may take
	// beside: as much as is stored, up to a bound.
	spareBytes = 1 << 30
	mostLog    = 8 << 30
)

// noRoom says why so many events cannot be stored below a directory; empty: they can.
func noRoom(dir string, events int) string {
	free, ok := freeBytes(dir)
	stored := int64(events) * storedBytes
	need := stored + min(stored, mostLog) + spareBytes
	if !ok || free >= need {
		return ""
	}
	return fmt.Sprintf("%s events need about %.0f GB of disk, and %s has %.0f GB free; set TMPDIR to another place or store fewer",
		grouped(events), float64(need)/1e9, dir, float64(free)/1e9)
}
