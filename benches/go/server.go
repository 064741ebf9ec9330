// The servers of ../src/server.rs in Go.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"
)

func serveFor(protocol string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	switch protocol {
	case "http":
		fmt.Println(l.Addr())
		hello := []byte("Hello, world!\n")
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(hello) })
		panic(http.Serve(l, handler))
	case "mixed":
		fmt.Println(l.Addr())
		startHogs()
		each(l, echoAny)
	case "redis":
		fmt.Println(l.Addr())
		store := newStore()
		each(l, func(c net.Conn) { serveRedis(c, store) })
	default:
		fmt.Fprintln(os.Stderr, "no such contestant or protocol: go", protocol)
		os.Exit(1)
	}
}

func each(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go serve(c)
	}
}

func startHogs() {
	for i := 0; i < runtime.NumCPU(); i++ {
		go func() {
			for {
				start := time.Now()
				for time.Since(start) < 5*time.Millisecond {
				}
				runtime.Gosched()
			}
		}()
	}
}

func echoAny(c net.Conn) {
	buf := make([]byte, 256)
	for {
		n, err := c.Read(buf)
		if err == io.EOF {
			return
		}
		if err == nil {
			_, err = c.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}
