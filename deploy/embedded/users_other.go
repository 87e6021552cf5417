//go:build embedded && !linux

package embedded

// userOf returns 0: engines run as this process's user.
func userOf(string) int { return 0 }

func mayRunAs(string) error { return nil }
