package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Waits until that many have arrived.
func arrived(n *atomic.Int64, all int) {
	for n.Load() < int64(all) {
		runtime.Gosched()
	}
}

func grow(n int) {
	gate := make(chan struct{})
	var wg sync.WaitGroup
	var come atomic.Int64
	wg.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			come.Add(1)
			<-gate
			wg.Done()
		}()
	}
	arrived(&come, n)
	close(gate)
	wg.Wait()
}

func timers() float64 {
	const pending = 1000000
	var come atomic.Int64
	for n := 0; n < pending; n++ {
		go func() {
			come.Add(1)
			time.Sleep(time.Duration(3600000000+n*7919) * time.Microsecond)
		}()
	}
	arrived(&come, pending)
	return perOp(1000, timeouts)
}

func joinDeep() {
	var groups sync.WaitGroup
	sums := make([]int, 100)
	for group := range sums {
		groups.Go(func() {
			var parts sync.WaitGroup
			values := make([]int, 100)
			for n := range values {
				parts.Go(func() { values[n] = group*100 + n })
			}
			parts.Wait()
			for _, value := range values {
				sums[group] += value
			}
		})
	}
	groups.Wait()
	sum := 0
	for _, s := range sums {
		sum += s
	}
	if sum != 9999*5000 {
		panic("wrong sum")
	}
}
