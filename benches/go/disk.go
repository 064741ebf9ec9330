// The workloads of ../src/disk.rs in Go.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
)

const diskTasks, smallFileCount, smallSize, largeSize = 4, 50, 1 << 10, 1 << 20
const treeDirs, treeFiles, processCount = 20, 50, 5

// Calls f with a temporary folder that is removed at the end.
func inFolder(f func(folder string) float64) float64 {
	folder, err := os.MkdirTemp("", "gmp-bench-disk-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	return f(folder)
}

func writeAndRead(path string, data []byte) {
	if err := os.WriteFile(path, data, 0o666); err != nil {
		panic(err)
	}
	read, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(read, data) {
		panic("the file was not written")
	}
}

func smallFiles(folder string) float64 {
	return perOp(diskTasks*smallFileCount, func() {
		var wg sync.WaitGroup
		for task := 0; task < diskTasks; task++ {
			wg.Go(func() {
				for n := 0; n < smallFileCount; n++ {
					data := bytes.Repeat([]byte{byte(n)}, smallSize)
					writeAndRead(filepath.Join(folder, fmt.Sprintf("%d-%d", task, n)), data)
				}
			})
		}
		wg.Wait()
	})
}

func largeFile(folder string) float64 {
	return perOp(1, func() {
		writeAndRead(filepath.Join(folder, "file"), bytes.Repeat([]byte{7}, largeSize))
	}) / 1000
}

func plant(folder string) {
	for d := 0; d < treeDirs; d++ {
		dir := filepath.Join(folder, strconv.Itoa(d))
		if err := os.Mkdir(dir, 0o777); err != nil {
			panic(err)
		}
		for f := 0; f < treeFiles; f++ {
			if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(f)), []byte("x"), 0o666); err != nil {
				panic(err)
			}
		}
	}
}

// The number of files below a folder, and the sum of their sizes. The directory is read in the
// order of the file system, as by the others.
func sizes(folder string) (files int, size int64) {
	dir, err := os.Open(folder)
	if err != nil {
		panic(err)
	}
	entries, err := dir.ReadDir(-1)
	dir.Close()
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			n, s := sizes(filepath.Join(folder, entry.Name()))
			files, size = files+n, size+s
			continue
		}
		info, err := entry.Info()
		if err != nil {
			panic(err)
		}
		files, size = files+1, size+info.Size()
	}
	return files, size
}

func walk(folder string) float64 {
	plant(folder)
	return perOp(treeDirs*(treeFiles+1), func() {
		if files, size := sizes(folder); files != treeDirs*treeFiles || size != treeDirs*treeFiles {
			panic("wrong number of files")
		}
	})
}

func processes() {
	var wg sync.WaitGroup
	for task := 0; task < diskTasks; task++ {
		wg.Go(func() {
			for n := 0; n < processCount; n++ {
				if err := exec.Command("true").Run(); err != nil {
					panic(err)
				}
			}
		})
	}
	wg.Wait()
}
