package webhook

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, ip := range []string{"1.1.1.1", "93.184.216.34", "2606:4700::1111", "172.32.0.1", "169.253.0.1", "223.255.255.1"} {
		require.True(t, public(netip.MustParseAddr(ip)), ip)
	}
	for _, ip := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
		"100.100.100.200", "192.0.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254",
		"ff02::1", "::127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "2001::1", "2001:db8::1", "fec0::1",
	} {
		require.False(t, public(netip.MustParseAddr(ip)), ip)
	}
}

func TestControlLooksAtWhatIsDialled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hook    Config
		address string
		ok      bool
	}{
		"public":             {Config{}, "1.1.1.1:443", true},
		"loopback":           {Config{}, "127.0.0.1:80", false},
		"mapped loopback":    {Config{}, "[::ffff:127.0.0.1]:80", false},
		"zone":               {Config{}, "[fe80::1%eth0]:80", false},
		"metadata":           {Config{}, "169.254.169.254:80", false},
		"allowed":            {Config{AllowPrivate: true}, "127.0.0.1:80", true},
		"allowed network":    {Config{AllowNetworks: []string{"10.1.0.0/16"}}, "10.1.2.3:80", true},
		"mapped and allowed": {Config{AllowNetworks: []string{"10.1.0.0/16"}}, "[::ffff:10.1.2.3]:80", true},
		"next network":       {Config{AllowNetworks: []string{"10.1.0.0/16"}}, "10.2.2.3:80", false},
		"no address":         {Config{AllowPrivate: true}, "localhost:80", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.hook.control()(t.Context(), "tcp", tt.address, nil)
			if tt.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, errForbiddenAddress)
		})
	}
}
