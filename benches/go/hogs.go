// The cells of ../src/lateness/hogs in Go: `hogs/N/SECONDS` and `plain/SECONDS`.
package main

import (
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

// counter is the work of one hog. Two counters never share a cache line.
type counter struct {
	n atomic.Uint64
	_ [120]byte
}

func sumOf(counters []counter) uint64 {
	sum := uint64(0)
	for i := range counters {
		sum += counters[i].n.Load()
	}
	return sum
}

var hogSeed atomic.Uint64
var hogSink atomic.Uint64

// computeForEver counts units of 10,000 steps.
func computeForEver(c *counter) {
	x := hogSeed.Load() | 0x2545F4914F6CDD1D
	for {
		for i := 0; i < 10000; i++ {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		if x == 0 {
			hogSink.Store(x)
		}
		// The hog is the only writer of its counter.
		c.n.Store(c.n.Load() + 1)
	}
}

func sleepUntilSecond(second int) {
	time.Sleep(time.Duration(second)*time.Second - time.Since(programStart))
}

func printWork(counters []counter) {
	fmt.Println("work", nanos(), sumOf(counters))
}

// runHogs runs a cell. It returns false if the name is not the name of a cell.
func runHogs(parts []string) bool {
	var numbers []int
	for _, part := range parts[1:] {
		n, err := strconv.Atoi(part)
		if err != nil {
			return false
		}
		numbers = append(numbers, n)
	}
	switch {
	case parts[0] == "plain" && len(numbers) == 1:
		runPlain(numbers[0])
	case parts[0] == "hogs" && len(numbers) == 2:
		runBesideHogs(numbers[0], numbers[1])
	default:
		return false
	}
	return true
}

// runPlain lets two goroutines compute that are locked to their threads.
func runPlain(seconds int) {
	counters := make([]counter, 2)
	fmt.Println("work", nanos(), 0)
	for i := range counters {
		go func() {
			runtime.LockOSThread()
			computeForEver(&counters[i])
		}()
	}
	sleepUntilSecond(seconds)
	printWork(counters)
}

func runBesideHogs(hogs, seconds int) {
	p := newProbe(1 << 30)
	go func() {
		for {
			due := nanos() + int64(time.Millisecond)
			p.inFlight.Store(due)
			time.Sleep(time.Millisecond)
			p.end(due)
		}
	}()
	counters := make([]counter, hogs)
	for i := range counters {
		go computeForEver(&counters[i])
	}
	for _, bound := range []int{0, 3, 20, 23} {
		if bound <= seconds {
			sleepUntilSecond(bound)
			printWork(counters)
		}
	}
	p.print()
}
