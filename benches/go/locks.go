// The workloads of ../src/locks.rs in Go.
package main

import (
	"sync"
	"sync/atomic"
	"time"
)

func mutex() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := 0
	for i := 0; i < 32; i++ {
		wg.Go(func() {
			for j := 0; j < 1000; j++ {
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if n != 32000 {
		panic("wrong sum")
	}
}

func broadcast() float64 {
	const n = 10000
	var times []float64
	for i := 0; i < 20; i++ {
		gate := make(chan struct{})
		var waiting atomic.Int64
		var wg sync.WaitGroup
		for j := 0; j < n; j++ {
			wg.Go(func() {
				waiting.Add(1)
				<-gate
			})
		}
		for waiting.Load() < n {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Millisecond)
		start := time.Now()
		close(gate)
		wg.Wait()
		times = append(times, float64(time.Since(start).Nanoseconds())/n)
	}
	return median(times)
}

func spawnOutside() {
	var wg sync.WaitGroup
	wg.Add(10000)
	for i := 0; i < 10000; i++ {
		go wg.Done()
	}
	wg.Wait()
}

func workers() {
	jobs, results := make(chan uint64, 64), make(chan uint64, 64)
	for i := 0; i < 8; i++ {
		go func() {
			for n := range jobs {
				results <- n * 2
			}
		}()
	}
	go func() {
		for n := uint64(0); n < 10000; n++ {
			jobs <- n
		}
		close(jobs)
	}()
	sum := uint64(0)
	for i := 0; i < 10000; i++ {
		sum += <-results
	}
	if sum != 9999*10000 {
		panic("wrong sum")
	}
}

func pipeline() {
	first := make(chan uint64, 16)
	in := first
	for i := 0; i < 10; i++ {
		out := make(chan uint64, 16)
		go func(in, out chan uint64) {
			for n := range in {
				out <- n + 1
			}
			close(out)
		}(in, out)
		in = out
	}
	go func() {
		for n := uint64(0); n < 1000; n++ {
			first <- n
		}
		close(first)
	}()
	sum := uint64(0)
	for n := range in {
		sum += n
	}
	if sum != 999*500+10*1000 {
		panic("wrong sum")
	}
}
