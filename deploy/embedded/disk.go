package embedded

import "fmt"

// Disk is the room on the disk of the data directory.
type Disk struct {
	Dir string
	// Free is what this process's user may still write, in bytes. Below Reserve the
	// broker takes no records: ClickHouse and Postgres need room to store what it has.
	Free, Reserve int64
}

// Err returns an error that names the disk and its free space when it is below the reserve.
func (d Disk) Err() error {
	if d.Free >= d.Reserve {
		return nil
	}
	return fmt.Errorf("the disk of %s is full: %d MiB are free, and below %d MiB no writes are taken", d.Dir, d.Free>>20, d.Reserve>>20)
}
