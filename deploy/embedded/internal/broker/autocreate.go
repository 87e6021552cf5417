//go:build embedded

package broker

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// createAsked creates the topics that clients ask for with automatic creation.
// The broker's own way keeps them in memory alone until an orderly stop: a
// crash would lose them and everything in them.
func createAsked(cluster *kfake.Cluster) {
	var mu sync.Mutex // guards known
	known := map[string]bool{}
	observe := func(key kmsg.Key, look func(kmsg.Request)) {
		cluster.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
			look(r)
			return nil, nil, false //nolint:nilnil // not handled: the broker answers itself
		})
	}
	observe(kmsg.DeleteTopics, func(kmsg.Request) {
		mu.Lock()
		clear(known)
		mu.Unlock()
	})
	observe(kmsg.Metadata, func(r kmsg.Request) {
		request, is := r.(*kmsg.MetadataRequest)
		if !is || !request.AllowAutoTopicCreation {
			return
		}
		var missing []string
		mu.Lock()
		for _, topic := range request.Topics {
			if topic.Topic != nil && !known[*topic.Topic] {
				missing = append(missing, *topic.Topic)
			}
		}
		mu.Unlock()
		if len(missing) == 0 {
			return
		}
		cluster.SleepControl(func() { // the broker's loop must run for the creation
			for _, topic := range missing {
				// It may exist already, or its name may be illegal; the answer to the request tells.
				_ = cluster.CreateTopic(topic, -1, nil)
				mu.Lock()
				known[topic] = true
				mu.Unlock()
			}
		})
	})
}
