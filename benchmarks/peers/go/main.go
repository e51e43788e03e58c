// Go's channels: CommsTime and a choice, as benchmarks/commstime.py and stressed_alt.py have them.
//
//	main commstime N RUNS
//	main stressed_alt CHANNELS WRITERS SELECTS RUNS
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

// row prints the RESULT and SAMPLES lines of docs/reference.md.
func row(bench, variant string, n int, us []float64) {
	low, high, sum := us[0], us[0], 0.0
	for _, v := range us {
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	fields, _ := json.Marshal(map[string]any{
		"bench": bench, "lib": "go-channels", "variant": variant, "n": n, "runs": len(us),
		"us_min": low, "us_avg": sum / float64(len(us)), "us_max": high, "bytes_per_op": nil,
		"port": "go", "version": strings.TrimPrefix(runtime.Version(), "go"), "heap": nil})
	fmt.Printf("RESULT %s\n", fields)
	samples, _ := json.Marshal(us)
	fmt.Printf("SAMPLES %s\n", samples)
}

func since(start time.Time, operations int) float64 {
	return float64(time.Since(start).Nanoseconds()) / 1000 / float64(operations)
}

func ring(n int) float64 {
	a, b, c, d := make(chan int), make(chan int), make(chan int), make(chan int)
	var stop atomic.Bool
	go func() {
		defer close(a)
		a <- 0
		for v := range c {
			if stop.Load() {
				return
			}
			a <- v
		}
	}()
	go func() {
		defer close(b)
		defer close(d)
		for v := range a {
			b <- v
			d <- v
		}
	}()
	go func() {
		for v := range b {
			c <- v + 1
		}
	}()
	first := <-d + 1
	start := time.Now()
	for value := first; value < first+n; value++ {
		if v := <-d; v != value {
			fail("commstime go-channels: got %d instead of %d", v, value)
		}
	}
	us := since(start, 4*n)
	stop.Store(true)
	for range d {
	}
	return us
}

func commstime(n, runs int) {
	ring(n/10 + 1)
	us := make([]float64, runs)
	for i := range us {
		us[i] = ring(n)
	}
	row("commstime", "seq", n, us)
}

// choice is one receive from any of the channels. A select statement has a fixed number of cases;
// for any number reflect has one.
func choice(channels []chan int) func() int {
	if len(channels) == 5 {
		c := channels
		return func() (v int) {
			select {
			case v = <-c[0]:
			case v = <-c[1]:
			case v = <-c[2]:
			case v = <-c[3]:
			case v = <-c[4]:
			}
			return
		}
	}
	cases := make([]reflect.SelectCase, len(channels))
	for i, c := range channels {
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	return func() int {
		_, v, _ := reflect.Select(cases)
		return int(v.Int())
	}
}

func stressedAlt(channels, writers, selects, runs int) {
	var stop atomic.Bool
	var written, writtenSum, left atomic.Int64
	all := make([]chan int, channels)
	ended := make(chan int)
	for i := range all {
		all[i] = make(chan int)
		for j := 0; j < writers; j++ {
			left.Add(1)
			go func(c chan int) {
				value, sum := 0, 0
				for !stop.Load() {
					c <- value
					sum += value
					value++
				}
				written.Add(int64(value))
				writtenSum.Add(int64(sum))
				if left.Add(-1) == 0 {
					close(ended)
				}
			}(all[i])
		}
	}
	choose := choice(all)
	count, sum := 0, 0
	for i := 0; i < selects/10; i++ {
		sum += choose()
		count++
	}
	us := make([]float64, runs)
	for i := range us {
		start := time.Now()
		for j := 0; j < selects; j++ {
			sum += choose()
		}
		us[i] = since(start, selects)
		count += selects
	}
	stop.Store(true)
	// Those that still write: with the end as one more case.
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ended)}}
	for _, c := range all {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	for {
		i, v, _ := reflect.Select(cases)
		if i == 0 {
			break
		}
		sum += int(v.Int())
		count++
	}
	if written.Load() != int64(count) || writtenSum.Load() != int64(sum) {
		fail("stressed_alt go-channels: %d messages of sum %d were read, %d of %d written",
			count, sum, written.Load(), writtenSum.Load())
	}
	row("stressed_alt", fmt.Sprintf("%dx%d-select", channels, writers), selects, us)
}

func main() {
	numbers := make([]int, 0, 4)
	for _, text := range os.Args[min(2, len(os.Args)):] {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fail("a whole number from 1 is expected, not %q", text)
		}
		numbers = append(numbers, n)
	}
	switch {
	case len(os.Args) == 4 && os.Args[1] == "commstime":
		commstime(numbers[0], numbers[1])
	case len(os.Args) == 6 && os.Args[1] == "stressed_alt":
		stressedAlt(numbers[0], numbers[1], numbers[2], numbers[3])
	default:
		fail("usage: main commstime N RUNS | main stressed_alt CHANNELS WRITERS SELECTS RUNS")
	}
}
