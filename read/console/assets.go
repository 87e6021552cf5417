package console

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// asset is a built file. Its name holds a hash of its bytes, so it never changes.
type asset struct {
	mediaType   string
	plain, gzip []byte // gzip is nil where compressing saved nothing
}

func readAssets(files fs.FS) (map[string]asset, error) {
	assets := map[string]asset{}
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".gz") {
			return err
		}
		a := asset{mediaType: mediaType(name)}
		if a.plain, err = fs.ReadFile(files, name); err != nil {
			return err
		}
		if a.gzip, err = fs.ReadFile(files, name+".gz"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		assets[strings.TrimPrefix(name, "assets/")] = a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("console: read the assets: %w", err)
	}
	return assets, nil
}

// mediaType is by the name alone and does not ask the machine, whose tables
// differ: a script of a wrong type is refused by browsers.
func mediaType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webmanifest":
		return "application/manifest+json"
	default:
		if t := mime.TypeByExtension(ext); t != "" {
			return t
		}
		return "application/octet-stream"
	}
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) error {
	body := a.plain
	h := w.Header()
	nonce, err := newNonce()
	if err != nil {
		return err
	}
	secure(h, nonce)
	h.Set("Content-Type", a.mediaType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if a.gzip != nil && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = a.gzip
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
	return nil
}

func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			q, found := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
			weight, err := strconv.ParseFloat(q, 64)
			return !found || err == nil && weight > 0
		}
	}
	return false
}
