// SPDX-License-Identifier: Apache-2.0

package fleetmodel

import "slices"

// Result is what Explore has found.
type Result struct {
	States int
	Broken Promise
	Steps  []string // a shortest way to where it is broken
}

// Explore visits every state that can be reached, nearest first, until a promise is broken.
func Explore(r Rules, w World) (result Result) {
	states, parents := []state{w.start()}, []uint32{0}
	found := map[state]struct{}{states[0]: {}}
	broken, at := -1, 0
	x := explorer{rules: r, world: w}
	x.emit = func(_ string, next state) {
		if _, known := found[next]; known {
			return
		}
		found[next] = struct{}{}
		states, parents = append(states, next), append(parents, uint32(at))
		if next.broken != Kept && broken < 0 {
			broken = len(states) - 1
		}
	}
	for ; at < len(states) && broken < 0; at++ {
		s := states[at]
		x.steps(&s)
	}
	result.States = len(states)
	if broken < 0 {
		return result
	}
	result.Broken = states[broken].broken
	for i := uint32(broken); i != 0; i = parents[i] {
		result.Steps = append(result.Steps, x.between(states[parents[i]], states[i]))
	}
	slices.Reverse(result.Steps)
	return result
}

// between returns the name of a step from one state to another.
func (x *explorer) between(from, to state) (name string) {
	y := explorer{rules: x.rules, world: x.world, naming: true}
	y.emit = func(step string, next state) {
		if next == to {
			name = step
		}
	}
	y.steps(&from)
	return name
}

// start is the state in which nothing has happened.
func (w World) start() state {
	s := state{cuts: uint8(w.Cuts), cancels: uint8(w.Cancels), restarts: uint8(w.Restarts), kills: uint8(w.Kills),
		merges: uint8(w.Merges), async: w.Async}
	for d := range s.daemons {
		s.daemons[d].sure = true
	}
	for c := range w.Clients {
		s.attempts[c] = uint8(w.Attempts)
	}
	return s
}
