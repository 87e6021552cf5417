//go:build !console

package console

import "io/fs"

// dist returns nil: this build embeds no console.
func dist() fs.FS { return nil }
