// The workloads of ../src/channels.rs in Go.
package main

import "sync"

func pairs() {
	done := make(chan uint64, 1000)
	for n := uint64(0); n < 1000; n++ {
		go func() {
			ping, pong := make(chan uint64, 1), make(chan uint64, 1)
			go func() { pong <- <-ping + 1 }()
			ping <- n
			done <- <-pong
		}()
	}
	sum := uint64(0)
	for i := 0; i < 1000; i++ {
		sum += <-done
	}
	if sum != 500*1001 {
		panic("wrong sum")
	}
}

func pingPong() {
	ping, pong := make(chan uint64, 1), make(chan uint64, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range ping {
			pong <- n + 1
		}
	})
	for n := uint64(0); n < 1000; n++ {
		ping <- n
		if <-pong != n+1 {
			panic("wrong answer")
		}
	}
	close(ping)
	wg.Wait()
}

const sum40k = 4 * (9999 * 5000)

func produce(c chan uint64) *sync.WaitGroup {
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Go(func() {
			for n := uint64(0); n < 10000; n++ {
				c <- n
			}
		})
	}
	return &wg
}

func toFew(receivers, capacity int) {
	c := make(chan uint64, capacity)
	sums := make(chan uint64, receivers)
	for i := 0; i < receivers; i++ {
		go func() {
			sum := uint64(0)
			for n := range c {
				sum += n
			}
			sums <- sum
		}()
	}
	produce(c).Wait()
	close(c)
	sum := uint64(0)
	for i := 0; i < receivers; i++ {
		sum += <-sums
	}
	if sum != sum40k {
		panic("wrong sum")
	}
}

func selects() {
	a, b := make(chan uint64, 16), make(chan uint64, 16)
	for _, c := range []chan uint64{a, b} {
		go func() {
			for n := uint64(0); n < 10000; n++ {
				c <- n
			}
		}()
	}
	sum := uint64(0)
	for i := 0; i < 20000; i++ {
		select {
		case n := <-a:
			sum += n
		case n := <-b:
			sum += n
		}
	}
	if sum != 9999*10000 {
		panic("wrong sum")
	}
}
