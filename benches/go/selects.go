// The workloads of ../src/selects.rs in Go.
package main

import "reflect"

const selectValues = 10000

// Starts n senders, each on its own channel.
func selectSenders(n int) []chan uint64 {
	channels := make([]chan uint64, n)
	for i := range channels {
		c := make(chan uint64, 16)
		channels[i] = c
		go func() {
			for value := 0; value < selectValues/n; value++ {
				c <- uint64(value)
			}
		}()
	}
	return channels
}

func checkSelected(n int, sum uint64) {
	perChannel := uint64(selectValues / n)
	if sum != uint64(n)*(perChannel*(perChannel-1)/2) {
		panic("wrong sum")
	}
}

func select10() {
	c := selectSenders(10)
	sum := uint64(0)
	for i := 0; i < selectValues; i++ {
		var n uint64
		select {
		case n = <-c[0]:
		case n = <-c[1]:
		case n = <-c[2]:
		case n = <-c[3]:
		case n = <-c[4]:
		case n = <-c[5]:
		case n = <-c[6]:
		case n = <-c[7]:
		case n = <-c[8]:
		case n = <-c[9]:
		}
		sum += n
	}
	checkSelected(10, sum)
}

func select100() {
	var cases []reflect.SelectCase
	for _, c := range selectSenders(100) {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	sum := uint64(0)
	for i := 0; i < selectValues; i++ {
		_, value, ok := reflect.Select(cases)
		if !ok {
			panic("closed")
		}
		sum += value.Uint()
	}
	checkSelected(100, sum)
}
