// The workloads of ../src/unmarked.rs in Go.
package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const blockers, syncCalls, pageSize = 4, 50, 4096

func block1ms() {
	var wg sync.WaitGroup
	var sum atomic.Int64
	for n := int64(0); n < blockers; n++ {
		wg.Go(func() {
			t := syscall.NsecToTimespec(int64(time.Millisecond))
			syscall.Nanosleep(&t, nil)
			sum.Add(n)
		})
	}
	wg.Wait()
	if sum.Load() != blockers*(blockers-1)/2 {
		panic("wrong sum")
	}
}

func syncOne(f *os.File) {
	page := make([]byte, pageSize)
	for n := 0; n < syncCalls; n++ {
		for i := range page {
			page[i] = byte(n)
		}
		if _, err := f.WriteAt(page, 0); err != nil {
			panic(err)
		}
		if err := f.Sync(); err != nil {
			panic(err)
		}
	}
	read := make([]byte, pageSize)
	if _, err := f.ReadAt(read, 0); err != nil || !bytes.Equal(read, page) {
		panic("the page was not written")
	}
}

func fsync() float64 {
	folder, err := os.MkdirTemp("", "gmp-bench-fsync-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	var files []*os.File
	for n := 0; n < blockers; n++ {
		f, err := os.Create(filepath.Join(folder, strconv.Itoa(n)))
		if err != nil {
			panic(err)
		}
		files = append(files, f)
	}
	return perOp(blockers*syncCalls, func() {
		var wg sync.WaitGroup
		for _, f := range files {
			wg.Go(func() { syncOne(f) })
		}
		wg.Wait()
	}) / 1000
}
