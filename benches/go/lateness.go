// The cells of ../src/lateness in Go: `late/SOURCE/LOAD/SAMPLES/SECONDS`. Each prints a line
// `sample AT LATE` for each event, in nanoseconds after the start of the program.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var programStart = time.Now()

// nanos reads the monotonic clock.
func nanos() int64 { return int64(time.Since(programStart)) }

// random is a xorshift generator.
type random uint64

func newRandom(seed uint64) *random {
	r := random(seed*0x9E3779B97F4A7C15 | 1)
	return &r
}

func (r *random) below(bound uint64) uint64 {
	x := uint64(*r)
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*r = random(x)
	return (x >> 8) % bound
}

// about returns a duration between 0.9 and 1.1 times mean.
func (r *random) about(mean time.Duration) time.Duration {
	return mean*9/10 + time.Duration(r.below(uint64(mean)/5+1))
}

// gap returns the time to the next event: 0.5 to 3.5 ms.
func (r *random) gap() time.Duration {
	return 500*time.Microsecond + time.Duration(r.below(3000))*time.Microsecond
}

type sample struct{ at, late int64 }

// probe keeps the samples. At most one event is in flight.
type probe struct {
	wanted   int
	mu       sync.Mutex
	samples  []sample
	inFlight atomic.Int64 // the time of the event, or 0
	done     chan struct{}
}

func newProbe(wanted int) *probe {
	return &probe{wanted: wanted, samples: make([]sample, 0, min(wanted, 1<<15)), done: make(chan struct{}, 1)}
}

// begin takes the time of an event that the caller is about to cause.
func (p *probe) begin() int64 {
	event := nanos()
	p.inFlight.Store(event)
	return event
}

// end records the lateness. The woken goroutine calls this first.
func (p *probe) end(event int64) {
	now := nanos()
	p.mu.Lock()
	p.samples = append(p.samples, sample{event, max(now-event, 0)})
	if len(p.samples) == p.wanted {
		p.done <- struct{}{}
	}
	p.mu.Unlock()
	p.inFlight.Store(0)
}

func (p *probe) isIdle() bool { return p.inFlight.Load() == 0 }

// print writes the samples. An event that is still in flight counts with its lateness up to now.
func (p *probe) print() {
	now := nanos()
	p.mu.Lock()
	defer p.mu.Unlock()
	if event := p.inFlight.Load(); event != 0 && event < now && len(p.samples) < p.wanted {
		p.samples = append(p.samples, sample{event, now - event})
	}
	out := bufio.NewWriter(os.Stdout)
	for _, s := range p.samples {
		fmt.Fprintln(out, "sample", s.at, s.late)
	}
	if err := out.Flush(); err != nil {
		panic(err)
	}
}

// nextDue returns the first whole millisecond that is at least `least` away.
func nextDue(least time.Duration) int64 {
	const milli = int64(time.Millisecond)
	return (nanos() + int64(least) + milli - 1) / milli * milli
}

func sleepUntil(due int64) { time.Sleep(time.Duration(due - nanos())) }

// onExternalThread calls fire again and again on a goroutine that is locked to its thread, because
// Go has no external threads.
func onExternalThread(p *probe, fire func()) {
	go func() {
		runtime.LockOSThread()
		r := newRandom(2)
		for {
			if p.isIdle() {
				time.Sleep(r.gap())
				fire()
			} else {
				time.Sleep(200 * time.Microsecond)
			}
		}
	}()
}

// startSource starts a source. It returns false if there is no such source.
func startSource(source string, p *probe) bool {
	receive := func(c chan int64) {
		for event := range c {
			p.end(event)
		}
	}
	switch source {
	case "timer":
		go func() {
			r := newRandom(1)
			for {
				due := nextDue(r.gap())
				p.inFlight.Store(due)
				sleepUntil(due)
				p.end(due)
			}
		}()
	case "send":
		c := make(chan int64, 1)
		go receive(c)
		onExternalThread(p, func() { c <- p.begin() })
	case "spawn":
		onExternalThread(p, func() {
			event := p.begin()
			go p.end(event)
		})
	case "socket":
		startSocket(p)
	case "wake":
		c := make(chan int64, 1)
		go receive(c)
		go func() {
			r := newRandom(3)
			for {
				sleepUntil(nextDue(r.gap()))
				if p.isIdle() {
					c <- p.begin()
				}
			}
		}()
	default:
		return false
	}
	return true
}

// startSocket writes into a socket that a goroutine reads.
func startSocket(p *probe) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	server, err := l.Accept()
	if err != nil {
		panic(err)
	}
	go func() {
		event := make([]byte, 8)
		for {
			_, err := server.Read(event)
			p.end(int64(binary.NativeEndian.Uint64(event)))
			if err != nil {
				panic(err)
			}
		}
	}()
	// A blocking descriptor, as an external thread would use it.
	file, err := client.(*net.TCPConn).File()
	if err != nil {
		panic(err)
	}
	fd := int(file.Fd())
	onExternalThread(p, func() {
		event := make([]byte, 8)
		binary.NativeEndian.PutUint64(event, uint64(p.begin()))
		if n, err := syscall.Write(fd, event); n != 8 {
			panic(err)
		}
		runtime.KeepAlive(file)
	})
}

func spin(span time.Duration) {
	start := time.Now()
	for time.Since(start) < span {
	}
}

func blockThread(span time.Duration) {
	t := syscall.NsecToTimespec(int64(span))
	syscall.Nanosleep(&t, nil)
}

// polls starts goroutines that call work for about span and yield.
func polls(count int, work func(time.Duration), span time.Duration) {
	for n := 0; n < count; n++ {
		go func() {
			r := newRandom(uint64(n))
			for {
				work(r.about(span))
				runtime.Gosched()
			}
		}()
	}
}

// checkpoints starts goroutines with 20 ms of work. Go preempts them, so they have no checkpoint.
func checkpoints() {
	for n := 0; n < 100; n++ {
		go func() {
			r := newRandom(uint64(n))
			for {
				for step := 0; step < 400; step++ {
					spin(r.about(50 * time.Microsecond))
				}
				runtime.Gosched()
			}
		}()
	}
}

func pingPongPairs(count int) {
	for i := 0; i < count; i++ {
		ping, pong := make(chan uint64, 1), make(chan uint64, 1)
		go func() {
			for n := range ping {
				pong <- n + 1
			}
		}()
		go func() {
			n := uint64(0)
			for {
				ping <- n
				n = <-pong
			}
		}()
	}
}

// echoPairs starts an echo server and 32 clients that send 64 bytes and wait for them.
func echoPairs() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go each(l, echoAny)
	for i := 0; i < 32; i++ {
		go func() {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				panic(err)
			}
			// The process ends before the rounds do.
			roundTrips(c, math.MaxInt)
		}()
	}
}

// startLoad starts a load. It returns false if there is no such load.
func startLoad(load string) bool {
	switch load {
	case "none":
	case "compute_4":
		polls(4, spin, 50*time.Microsecond)
	case "compute_100":
		polls(100, spin, 50*time.Microsecond)
	case "compute_1ms":
		polls(4, spin, time.Millisecond)
	case "checkpoint":
		checkpoints()
	case "pairs_4":
		pingPongPairs(4)
	case "pairs_100":
		pingPongPairs(100)
	case "mutex":
		startMutex()
	case "spawn_join":
		startSpawnJoin()
	case "fan_out":
		go fanOut()
	case "echo":
		echoPairs()
	case "hogs":
		polls(2, spin, 5*time.Millisecond)
	case "blockers":
		polls(4, blockThread, 5*time.Millisecond)
	default:
		return false
	}
	return true
}

func startMutex() {
	var mu sync.Mutex
	n := 0
	for i := 0; i < 8; i++ {
		go func() {
			for {
				mu.Lock()
				n++
				mu.Unlock()
			}
		}()
	}
}

func startSpawnJoin() {
	for i := 0; i < 4; i++ {
		go func() {
			for {
				c := make(chan struct{}, 1)
				go func() { c <- struct{}{} }()
				<-c
			}
		}()
	}
}

func fanOut() {
	for {
		var wg sync.WaitGroup
		wg.Add(1000)
		for i := 0; i < 1000; i++ {
			go wg.Done()
		}
		wg.Wait()
	}
}

// runLateness runs a cell. It returns false if the name is not the name of a cell.
func runLateness(name string) bool {
	parts := strings.Split(name, "/")
	if parts[0] == "hogs" || parts[0] == "plain" {
		return runHogs(parts)
	}
	if parts[0] != "late" || len(parts) != 5 {
		return false
	}
	samples, errSamples := strconv.Atoi(parts[3])
	seconds, errSeconds := strconv.Atoi(parts[4])
	if errSamples != nil || errSeconds != nil {
		return false
	}
	p := newProbe(samples)
	if !startSource(parts[1], p) || !startLoad(parts[2]) {
		return false
	}
	select {
	case <-p.done:
	case <-time.After(time.Duration(seconds)*time.Second - time.Since(programStart)):
	}
	p.print()
	return true
}
