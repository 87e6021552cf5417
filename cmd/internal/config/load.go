package config

import (
	"crypto/tls"
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

const envPrefix = "COLONNADE_"

// PathVariable names the configuration file.
const PathVariable = envPrefix + "CONFIG"

// Source tells where a setting came from.
type Source string

// The sources, from the weakest to the strongest.
const (
	FromDefault Source = "default"
	FromFile    Source = "file"
	FromEnv     Source = "environment"
)

// Loaded is a configuration and where each of its settings came from.
type Loaded struct {
	Config
	// Sources are by the setting's name in the file, such as "http.addr".
	Sources map[string]Source
	// Unknown are variables that begin with COLONNADE_ and set nothing. They
	// are no error: Kubernetes makes such variables for a service of our name.
	Unknown []string
}

// Load reads the file at path (none when empty) and the environment over the
// defaults, and validates the whole. Every mistake is named, not only the first.
func Load(path string, environ []string) (Loaded, error) {
	l := Loaded{Config: Default(), Sources: map[string]Source{}}
	var errs []error
	if path != "" {
		errs = append(errs, l.readFile(path))
	}
	errs = append(errs, l.readEnv(environ))
	l.Invoke.Models.FromEnvironment(environ)
	if err := errors.Join(errs...); err != nil {
		return l, err
	}
	l.Derive()
	return l, l.Validate()
}

func (l *Loaded) readFile(path string) error {
	raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("config: the file %s does not exist", path)
	}
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return fmt.Errorf("config: %s: %w", path, err)
	}
	if len(doc.Content) == 0 {
		return nil
	}
	var errs []error
	l.readNode(doc.Content[0], "", func(n *yaml.Node, format string, args ...any) {
		errs = append(errs, fmt.Errorf("config: %s:%d: %s", path, n.Line, fmt.Sprintf(format, args...)))
	})
	return errors.Join(errs...)
}

func (l *Loaded) readNode(n *yaml.Node, prefix string, fail func(n *yaml.Node, format string, args ...any)) {
	if n.Kind != yaml.MappingNode {
		fail(n, "%s must hold settings", cmpOr(strings.TrimSuffix(prefix, "."), "the file"))
		return
	}
	leaves, seen := l.leaves(), map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := prefix + key.Value
		if seen[name] {
			fail(key, "%s stands here twice", name)
		}
		seen[name] = true
		at := slices.IndexFunc(leaves, func(f leaf) bool { return f.name == name })
		switch {
		case at >= 0:
			if err := leaves[at].setNode(value); err != nil {
				fail(value, "%s: %v", name, err)
			}
			l.Sources[name] = FromFile
		case slices.ContainsFunc(leaves, func(f leaf) bool { return strings.HasPrefix(f.name, name+".") }):
			if value.Tag != "!!null" {
				l.readNode(value, name+".", fail)
			}
		default:
			fail(key, "unknown setting %s", name)
		}
	}
}

func cmpOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (l *Loaded) readEnv(environ []string) error {
	byVariable := map[string]leaf{}
	for _, f := range l.leaves() {
		byVariable[f.variable()] = f
	}
	var errs []error
	for _, entry := range environ {
		variable, text, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, envPrefix) || foreign(variable) {
			continue
		}
		f, ok := byVariable[variable]
		if !ok {
			l.Unknown = append(l.Unknown, variable)
			continue
		}
		if err := f.set(text); err != nil {
			errs = append(errs, fmt.Errorf("config: %s: %w", variable, err))
		}
		l.Sources[f.name] = FromEnv
	}
	slices.Sort(l.Unknown)
	return errors.Join(errs...)
}

// foreign tells whether a variable of ours is read elsewhere: by this
// package's caller, by the embedded engines, by client commands, by tests.
func foreign(variable string) bool {
	switch variable {
	case PathVariable, envPrefix + "ENGINES_DIR", envPrefix + "HOST", envPrefix + "API_KEY":
		return true
	default:
		return strings.HasPrefix(variable, envPrefix+"TEST_")
	}
}

// leaf is one setting: its name in the file and the field that holds it.
type leaf struct {
	name  string
	value reflect.Value
}

func (f leaf) variable() string { return Variable(f.name) }

// Variable is the environment's name of a setting: that of "http.addr" is COLONNADE_HTTP_ADDR.
func Variable(setting string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}

func (l *Loaded) leaves() []leaf { return leavesOf(reflect.ValueOf(&l.Config).Elem(), "") }

func leavesOf(v reflect.Value, prefix string) []leaf {
	var all []leaf
	for field, value := range v.Fields() {
		if !field.IsExported() {
			continue
		}
		if field.Anonymous { // its sections are those of the struct that embeds it
			all = append(all, leavesOf(value, prefix)...)
			continue
		}
		name := prefix + snake(field.Name)
		if derived(name) {
			continue
		}
		if value.Kind() == reflect.Struct && !isText(value) {
			all = append(all, leavesOf(value, name+".")...)
			continue
		}
		if settable(value) {
			all = append(all, leaf{name, value})
		}
	}
	return all
}

func isText(v reflect.Value) bool {
	_, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
	return ok
}

// settable leaves out what text cannot say, such as functions.
func settable(v reflect.Value) bool {
	if isText(v) {
		return true
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64,
		reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Pointer: // true stands for TLS with the system's certificates
		return v.Type() == reflect.TypeFor[*tls.Config]()
	case reflect.Slice:
		return v.Type().Elem().Kind() == reflect.String || v.Type().Elem().Kind() == reflect.Uint8
	default:
		return false
	}
}

func (f leaf) setNode(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode && f.value.Kind() == reflect.Slice && f.value.Type().Elem().Kind() == reflect.String {
		list := make([]string, len(n.Content))
		for i, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return errors.New("must be a list of words")
			}
			list[i] = item.Value
		}
		f.value.Set(reflect.ValueOf(list).Convert(f.value.Type()))
		return nil
	}
	if n.Kind != yaml.ScalarNode {
		return errors.New("must be one value")
	}
	if n.Tag == "!!null" { // however it is written: a key of "null" would be easily guessed
		return f.set("")
	}
	return f.set(n.Value)
}

// set reads the text of a file's scalar or of a variable.
func (f leaf) set(text string) error {
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](f.value.Addr()); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%q is not understood: %w", text, err)
		}
		return nil
	}
	switch v := f.value; v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Pointer:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetZero()
		if b {
			v.Set(reflect.ValueOf(&tls.Config{MinVersion: tls.VersionTLS12}))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(bytesOrNil(text))
			return nil
		}
		v.Set(reflect.ValueOf(words(text)).Convert(v.Type()))
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		v.SetFloat(x)
	default:
		return setWhole(v, text)
	}
	return nil
}

func bytesOrNil(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

func setWhole(v reflect.Value, text string) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 500ms or 10s", text)
		}
		v.SetInt(int64(d))
		return nil
	}
	n, err := parseSize(text)
	if err != nil || v.CanUint() && (n < 0 || v.OverflowUint(uint64(n))) || v.CanInt() && v.OverflowInt(n) {
		return fmt.Errorf("%q is not a whole number in range, such as 4096, 512KiB, 64MiB or 3GiB", text)
	}
	if v.CanUint() {
		v.SetUint(uint64(n)) //nolint:gosec // it was looked at above
		return nil
	}
	v.SetInt(n)
	return nil
}

// parseSize reads a whole number, with an optional binary unit: 64MiB.
func parseSize(text string) (int64, error) {
	shift := 0
	for unit, bits := range map[string]int{"KiB": 10, "MiB": 20, "GiB": 30} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			text, shift = strings.TrimSpace(rest), bits
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, err
	}
	if n<<shift>>shift != n {
		return 0, strconv.ErrRange
	}
	return n << shift, nil
}

func words(text string) []string {
	list := []string{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// snake turns a Go name into a setting's: MaxBodyBytes is max_body_bytes, HTTPAddr http_addr.
func snake(name string) string {
	switch name { // words that are written with inner capitals
	case "ClientID":
		return "client_id"
	default:
		name = strings.NewReplacer("ClickHouse", "Clickhouse", "IDs", "Ids").Replace(name)
	}
	var b strings.Builder
	upper := func(i int) bool { return i < len(name) && 'A' <= name[i] && name[i] <= 'Z' }
	for i := range len(name) {
		// A capital begins a word after a small letter, or before one at the end of an acronym.
		if i > 0 && upper(i) && (!upper(i-1) || i+1 < len(name) && !upper(i+1)) {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return strings.ToLower(b.String())
}
