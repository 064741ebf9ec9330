// The part of ../../examples/mini_redis in Go that redis-benchmark's SET and GET need, with the
// same buffering: all requests that have arrived are answered with one write.
package main

import (
	"bufio"
	"bytes"
	"hash/maphash"
	"io"
	"net"
	"strconv"
	"sync"
)

type shard struct {
	mu   sync.Mutex
	keys map[string][]byte
}

type store struct {
	seed   maphash.Seed
	shards [16]shard
}

func newStore() *store {
	s := &store{seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].keys = make(map[string][]byte)
	}
	return s
}

func (s *store) shard(key []byte) *shard {
	return &s.shards[maphash.Bytes(s.seed, key)%16]
}

func serveRedis(c net.Conn, s *store) {
	defer c.Close()
	r, w := bufio.NewReaderSize(c, 16*1024), bufio.NewWriterSize(c, 64*1024)
	var words [][]byte
	for {
		var ok bool
		words, ok = readRequest(r, words)
		if !ok {
			return
		}
		execute(s, words, w)
		if r.Buffered() == 0 {
			if w.Flush() != nil {
				return
			}
		}
	}
}

// Parses a line as a number, without its sign and its line end.
func readNumber(r *bufio.Reader, sign byte) (int, bool) {
	line, err := r.ReadSlice('\n')
	if err != nil || len(line) < 4 || line[0] != sign {
		return 0, false
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	return n, err == nil && n >= 0
}

func readRequest(r *bufio.Reader, words [][]byte) ([][]byte, bool) {
	count, ok := readNumber(r, '*')
	if !ok {
		return nil, false
	}
	for len(words) < count {
		words = append(words, nil)
	}
	words = words[:count]
	for i := range words {
		length, ok := readNumber(r, '$')
		if !ok {
			return nil, false
		}
		if cap(words[i]) < length+2 {
			words[i] = make([]byte, length+2)
		}
		word := words[i][:length+2]
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, false
		}
		words[i] = word[:length]
	}
	return words, true
}

var get, set, config = []byte("GET"), []byte("SET"), []byte("CONFIG")

func execute(s *store, words [][]byte, w *bufio.Writer) {
	switch name := words[0]; {
	case bytes.EqualFold(name, get):
		sh := s.shard(words[1])
		sh.mu.Lock()
		value, ok := sh.keys[string(words[1])]
		sh.mu.Unlock()
		if !ok {
			w.WriteString("$-1\r\n")
			return
		}
		w.WriteByte('$')
		w.WriteString(strconv.Itoa(len(value)))
		w.WriteString("\r\n")
		w.Write(value)
		w.WriteString("\r\n")
	case bytes.EqualFold(name, set):
		value := append([]byte(nil), words[2]...)
		sh := s.shard(words[1])
		sh.mu.Lock()
		sh.keys[string(words[1])] = value
		sh.mu.Unlock()
		w.WriteString("+OK\r\n")
	case bytes.EqualFold(name, config):
		w.WriteString("*2\r\n$4\r\nsave\r\n$0\r\n\r\n")
	default:
		w.WriteString("-ERR unknown command\r\n")
	}
}
