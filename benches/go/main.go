// The workloads of ../src in Go. `prog run NAME` prints its figure, `prog serve PROTOCOL` its
// address.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const span = 400 * time.Millisecond

func median(v []float64) float64 {
	sort.Float64s(v)
	return v[len(v)/2]
}

func perOp(ops int, round func()) float64 {
	round()
	var times []float64
	start := time.Now()
	for time.Since(start) < span || len(times) < 3 {
		t := time.Now()
		round()
		times = append(times, float64(time.Since(t).Nanoseconds())/float64(ops))
	}
	return median(times)
}

func spawnMany() {
	var wg sync.WaitGroup
	wg.Add(10000)
	for i := 0; i < 10000; i++ {
		go wg.Done()
	}
	wg.Wait()
}

func spawnJoin() {
	sum := 0
	for n := 0; n < 1000; n++ {
		c := make(chan int, 1)
		go func() { c <- n }()
		sum += <-c
	}
	if sum != 999*500 {
		panic("wrong sum")
	}
}

func yields() {
	var wg sync.WaitGroup
	wg.Add(200)
	for i := 0; i < 200; i++ {
		go func() {
			for j := 0; j < 1000; j++ {
				runtime.Gosched()
			}
			wg.Done()
		}()
	}
	wg.Wait()
}

func link(left int, done chan int) {
	if left == 0 {
		done <- left
		return
	}
	go link(left-1, done)
}

func chain() {
	done := make(chan int, 1)
	go link(999, done)
	<-done
}

func node(c chan uint64, base, size uint64) {
	if size == 1 {
		c <- base
		return
	}
	rc := make(chan uint64, 10)
	step := size / 10
	for n := uint64(0); n < 10; n++ {
		go node(rc, base+n*step, step)
	}
	var sum uint64
	for n := 0; n < 10; n++ {
		sum += <-rc
	}
	c <- sum
}

func skynet() {
	c := make(chan uint64, 1)
	go node(c, 0, 1000000)
	if <-c != 499999500000 {
		panic("wrong sum")
	}
}

func sleeps() float64 {
	var times []float64
	for r := 0; r < 3; r++ {
		start := time.Now()
		var wg sync.WaitGroup
		wg.Add(200000)
		for n := 0; n < 200000; n++ {
			go func() {
				time.Sleep(time.Duration(1000+n*7919%49000) * time.Microsecond)
				wg.Done()
			}()
		}
		wg.Wait()
		times = append(times, float64(time.Since(start).Nanoseconds())/200000)
	}
	return median(times)
}

func timeouts() {
	for i := 0; i < 1000; i++ {
		// A timer alone, without the context that context.WithTimeout adds.
		timer := time.NewTimer(5 * time.Second)
		runtime.Gosched()
		if !timer.Stop() {
			panic("five seconds have passed")
		}
	}
}

func resident() float64 {
	b, _ := os.ReadFile("/proc/self/statm")
	n, _ := strconv.ParseFloat(strings.Split(string(b), " ")[1], 64)
	return n * 4096
}

func memory() float64 {
	const N = 1000000
	c := make(chan struct{})
	var parked atomic.Int64
	before := resident()
	for i := 0; i < N; i++ {
		go func() {
			parked.Add(1)
			<-c
		}()
	}
	for parked.Load() < N {
		time.Sleep(20 * time.Millisecond)
	}
	return (resident() - before) / N
}

func wake() float64 {
	var times []float64
	for i := 0; i < 300; i++ {
		c := make(chan time.Time, 1)
		go func() {
			runtime.LockOSThread()
			time.Sleep(time.Millisecond)
			c <- time.Now()
		}()
		sent := <-c
		times = append(times, float64(time.Since(sent).Nanoseconds()))
	}
	return median(times)
}

func cpuMicros() float64 {
	const processCPUTime = 2
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, processCPUTime, uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		panic(errno)
	}
	return float64(t.Nano()) / 1000
}

func idle() float64 {
	for i := 0; i < 10000; i++ {
		go time.Sleep(time.Hour)
	}
	time.Sleep(300 * time.Millisecond)
	before := cpuMicros()
	time.Sleep(3 * time.Second)
	return (cpuMicros() - before) / 3
}

func files() {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	var wg sync.WaitGroup
	wg.Add(8)
	for i := 0; i < 8; i++ {
		go func() {
			page := make([]byte, 4096)
			for n := int64(0); n < 1000; n++ {
				if got, _ := f.ReadAt(page, n%16*4096); got != 4096 {
					panic("short read")
				}
			}
			wg.Done()
		}()
	}
	wg.Wait()
}

func block() {
	t := syscall.NsecToTimespec(int64(500 * time.Millisecond))
	syscall.Nanosleep(&t, nil)
}

func compute() {
	start := time.Now()
	for time.Since(start) < 800*time.Millisecond {
	}
}

func lateness(n int, work func()) float64 {
	time.Sleep(20 * time.Millisecond)
	var left atomic.Int64
	left.Store(int64(n))
	worst := make(chan time.Duration)
	go func() {
		var w time.Duration
		for left.Load() > 0 {
			start := time.Now()
			time.Sleep(time.Millisecond)
			w = max(w, time.Since(start)-time.Millisecond)
		}
		worst <- w
	}()
	for i := 0; i < n; i++ {
		go func() {
			work()
			left.Add(-1)
		}()
	}
	return float64((<-worst).Nanoseconds()) / 1000
}

func serve(c net.Conn) {
	buf := make([]byte, 64)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if _, err := c.Write(buf[:n]); err != nil {
			panic(err)
		}
	}
}

func roundTrips(c net.Conn, rounds int) {
	ping, pong := make([]byte, 64), make([]byte, 64)
	for i := range ping {
		ping[i] = 7
	}
	for i := 0; i < rounds; i++ {
		if _, err := c.Write(ping); err != nil {
			panic(err)
		}
		if _, err := io.ReadFull(c, pong); err != nil {
			panic(err)
		}
		if string(pong) != string(ping) {
			panic("wrong echo")
		}
	}
}

func echo() float64 {
	const connections, rounds = 100, 300
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go serve(c)
		}
	}()
	var clients []net.Conn
	for i := 0; i < connections; i++ {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			panic(err)
		}
		clients = append(clients, c)
	}
	var times []float64
	for part := 0; part < 6; part++ {
		start := time.Now()
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Add(1)
			go func() {
				roundTrips(c, rounds)
				wg.Done()
			}()
		}
		wg.Wait()
		if part > 0 {
			times = append(times, float64(time.Since(start).Nanoseconds())/(connections*rounds))
		}
	}
	return median(times)
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: prog run WORKLOAD | prog serve PROTOCOL")
		os.Exit(1)
	}
	if os.Args[1] == "serve" {
		serveFor(os.Args[2])
		return
	}
	if runLateness(os.Args[2]) {
		return
	}
	var v float64
	switch os.Args[2] {
	case "grow_1k":
		v = perOp(1000, func() { grow(1000) })
	case "grow_1m":
		v = perOp(1000000, func() { grow(1000000) })
	case "timers_1m":
		v = timers()
	case "join_all":
		v = perOp(10000, joinDeep)
	case "spawn_many":
		v = perOp(10000, spawnMany)
	case "spawn_join":
		v = perOp(1000, spawnJoin)
	case "yield":
		v = perOp(200000, yields)
	case "chain":
		v = perOp(1000, chain)
	case "skynet":
		v = perOp(1111111, skynet)
	case "sleeps":
		v = sleeps()
	case "timeout":
		v = perOp(1000, timeouts)
	case "memory":
		v = memory()
	case "wake":
		v = wake()
	case "idle":
		v = idle()
	case "file":
		v = perOp(8000, files)
	case "blocked":
		v = lateness(4, block)
	case "hogs2":
		v = lateness(2, compute)
	case "hogs4":
		v = lateness(4, compute)
	case "pairs":
		v = perOp(1000, pairs)
	case "ping_pong":
		v = perOp(2000, pingPong)
	case "fan_in":
		v = perOp(40000, func() { toFew(1, 128) })
	case "many":
		v = perOp(40000, func() { toFew(4, 128) })
	case "rendezvous":
		v = perOp(40000, func() { toFew(4, 0) })
	case "select":
		v = perOp(20000, selects)
	case "workers":
		v = perOp(10000, workers)
	case "pipeline":
		v = perOp(10000, pipeline)
	case "mutex":
		v = perOp(32000, mutex)
	case "broadcast":
		v = broadcast()
	case "outside":
		v = perOp(10000, spawnOutside)
	case "echo":
		v = echo()
	case "small_files":
		v = inFolder(smallFiles)
	case "file_1m":
		v = inFolder(largeFile)
	case "walk":
		v = inFolder(walk)
	case "process":
		v = perOp(diskTasks*processCount, processes) / 1000
	case "churn":
		v = churn()
	case "bulk":
		v = bulk()
	case "fork2":
		v = perOp(1, fork2) / 1e3
	case "pipeline2":
		v = perOp(items, pipeline2) / 1e3
	case "oversubscribed":
		v = oversubscribed()
	case "mutex_compute":
		fmt.Println(mutexCompute())
		return
	case "bursts":
		fmt.Println(bursts())
		return
	case "select10":
		v = perOp(selectValues, select10)
	case "select100":
		v = perOp(selectValues, select100)
	case "block1ms":
		v = perOp(1, block1ms) / 1e6
	case "fsync":
		v = fsync()
	default:
		fmt.Fprintln(os.Stderr, "no such contestant or workload: go", os.Args[2])
		os.Exit(1)
	}
	fmt.Println(v)
}
