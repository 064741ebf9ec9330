// The workloads of ../src/compute.rs in Go.
package main

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

const item, items, threadsPerCPU = 20, 500, 4
const itemsSum = items * (items - 1) / 2

// The same steps as in ../src/work.rs.
func work(micros int) {
	const stepsPerMicro = 500
	state := seed.Load()
	for i := 0; i < micros*stepsPerMicro; i++ {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
	}
	if state == 0 {
		panic("a step never gives 0")
	}
}

// Always 1, but the compiler does not know that.
var seed atomic.Uint64

func init() { seed.Store(1) }

func fork2() {
	done := make(chan int, 1)
	go func() {
		work(1000)
		done <- 1
	}()
	work(1000)
	if <-done != 1 {
		panic("wrong answer")
	}
}

func pipeline2() {
	c := make(chan uint64, 16)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := uint64(0); n < items; n++ {
			work(item)
			c <- n
		}
		close(c)
	})
	count, sum := 0, uint64(0)
	wg.Go(func() {
		for n := range c {
			work(item)
			count++
			sum += n
		}
	})
	wg.Wait()
	if count != items || sum != itemsSum {
		panic("wrong sum")
	}
}

func oversubscribed() float64 {
	threads := threadsPerCPU * runtime.NumCPU()
	runtime.GOMAXPROCS(threads)
	return perOp(items, func() { computingWorkers(threads) }) / 1000
}

func computingWorkers(n int) {
	jobs, results := make(chan uint64, 64), make(chan uint64, 64)
	var wg sync.WaitGroup
	for i := 0; i < n; i++ {
		wg.Go(func() {
			for n := range jobs {
				work(item)
				results <- n
			}
		})
	}
	go func() {
		for n := uint64(0); n < items; n++ {
			jobs <- n
		}
		close(jobs)
		wg.Wait()
		close(results)
	}()
	count, sum := 0, uint64(0)
	for n := range results {
		count++
		sum += n
	}
	if count != items || sum != itemsSum {
		panic("wrong sum")
	}
}

func mutexCompute() (float64, float64) {
	const locksPerCheck = 64
	start := time.Now()
	isOver := func() bool { return time.Since(start) >= span }
	var mu sync.Mutex
	value := 0
	var locks, computed atomic.Int64
	var lockers, computers sync.WaitGroup
	for i := 0; i < 8; i++ {
		lockers.Go(func() {
			n := int64(0)
			for n == 0 || !isOver() {
				for j := 0; j < locksPerCheck; j++ {
					mu.Lock()
					value++
					mu.Unlock()
				}
				n += locksPerCheck
			}
			locks.Add(n)
		})
	}
	for i := 0; i < 4; i++ {
		computers.Go(func() {
			n := int64(0)
			for {
				work(item)
				n++
				if isOver() {
					break
				}
				runtime.Gosched()
			}
			computed.Add(n)
		})
	}
	computers.Wait()
	itemsTook := time.Since(start)
	lockers.Wait()
	locksTook := time.Since(start)
	if int64(value) != locks.Load() {
		panic("a lock was lost")
	}
	return float64(itemsTook.Nanoseconds()) / 1000 / float64(computed.Load()),
		float64(locksTook.Nanoseconds()) / float64(locks.Load())
}

func bursts() (float64, float64) {
	const n = 400
	burst()
	var times []float64
	before := cpuMicros()
	for i := 0; i < n; i++ {
		time.Sleep(time.Millisecond)
		start := time.Now()
		burst()
		times = append(times, float64(time.Since(start).Nanoseconds())/1000)
	}
	cpu := (cpuMicros() - before) / n
	sort.Float64s(times)
	return times[n*99/100], cpu
}

func burst() {
	var wg sync.WaitGroup
	var sum atomic.Int64
	for n := int64(0); n < 4; n++ {
		wg.Go(func() {
			work(50)
			sum.Add(n)
		})
	}
	wg.Wait()
	if sum.Load() != 6 {
		panic("wrong sum")
	}
}
