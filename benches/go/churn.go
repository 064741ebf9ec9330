// The workload of ../src/churn.rs in Go.
package main

import (
	"io"
	"net"
	"sync"
)

const churnClients, churnConnections = 32, 20

// Sends one byte back and closes the connection.
func answer(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 1)
	if _, err := io.ReadFull(c, buf); err != nil {
		panic(err)
	}
	if _, err := c.Write(buf); err != nil {
		panic(err)
	}
}

// One connection.
func ask(addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	// A reset instead of an orderly close, which would use up the ports of the machine in a second.
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		panic(err)
	}
	buf := []byte("x")
	if _, err := c.Write(buf); err != nil {
		panic(err)
	}
	if _, err := io.ReadFull(c, buf); err != nil || buf[0] != 'x' {
		panic("wrong answer")
	}
}

func churn() float64 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go each(l, answer)
	return perOp(churnClients*churnConnections, func() {
		var wg sync.WaitGroup
		for i := 0; i < churnClients; i++ {
			wg.Go(func() {
				for j := 0; j < churnConnections; j++ {
					ask(l.Addr().String())
				}
			})
		}
		wg.Wait()
	})
}
