// The workload of ../src/bulk.rs in Go.
package main

import (
	"io"
	"net"
)

const chunkSize, bulkWrites = 64 << 10, 4096

// The first byte of a chunk: its number modulo 251.
func mark(chunk int) byte { return byte(chunk % 251) }

// Writes all chunks and closes the connection.
func fill(c net.Conn) {
	defer c.Close()
	chunk := make([]byte, chunkSize)
	for n := 0; n < bulkWrites; n++ {
		chunk[0] = mark(n)
		if _, err := c.Write(chunk); err != nil {
			panic(err)
		}
	}
}

// Reads to the end and checks the marks. Returns the number of bytes.
func drain(c net.Conn) int {
	defer c.Close()
	buf, total := make([]byte, chunkSize), 0
	for {
		n, err := c.Read(buf)
		chunk := (total + chunkSize - 1) / chunkSize
		if at := chunk*chunkSize - total; at < n && buf[at] != mark(chunk) {
			panic("a chunk begins at the wrong byte")
		}
		total += n
		if err == io.EOF {
			return total
		}
		if err != nil {
			panic(err)
		}
	}
}

// Milliseconds per GiB.
func bulk() float64 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	nanosPerWrite := perOp(bulkWrites, func() {
		total := make(chan int, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			total <- drain(c)
		}()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			panic(err)
		}
		fill(c)
		if <-total != bulkWrites*chunkSize {
			panic("bytes were lost")
		}
	})
	return nanosPerWrite * ((1 << 30) / chunkSize) / 1e6
}
