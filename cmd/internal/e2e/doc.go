// Package e2e holds the tests of the whole service: requests go in at its API, and
// the tests compare what its API returns afterwards. They need the embedded stores
// and so the build tag embedded.
package e2e
