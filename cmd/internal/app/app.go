// Package app is the composition root.
package app
