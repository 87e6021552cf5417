//go:build console

package console

import (
	"embed"
	"io/fs"
)

//go:embed dist/index.html dist/assets
var embedded embed.FS //nolint:gochecknoglobals // the only form in which files can be embedded

// dist returns the files that `make console` built.
func dist() fs.FS {
	files, err := fs.Sub(embedded, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}
