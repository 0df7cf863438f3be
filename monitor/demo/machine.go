package demo

import (
	"fmt"
	"math"

	"nvtop-lite/monitor"
)

const (
	gib = 1 << 30
	mib = 1 << 20
)

// model is a kind of card.
type model struct {
	name, arch     string
	memory         int64   // bytes
	idleW, limitW  float64 // watts
	graphics       float64 // highest clock, MHz
	memoryClock    float64 // MHz
	generation     int64   // of PCIe
	laneGB         float64 // GB/s a lane
	slowdownC      float64
	links          int64   // NVLink links
	linkGB         float64 // GB/s of all links together
	datacenter     bool    // has ECC, GPM and HBM, and no fan
	coolC, heatedC float64 // temperature at rest and at full load
}

var (
	h100 = model{
		name: "NVIDIA H100 80GB HBM3", arch: "hopper", memory: 80 * gib, idleW: 70, limitW: 700, graphics: 1980,
		memoryClock: 2619, generation: 5, laneGB: 3.938, slowdownC: 87, links: 18, linkGB: 450, datacenter: true,
		coolC: 33, heatedC: 69,
	}
	rtx4090 = model{
		name: "NVIDIA GeForce RTX 4090", arch: "ada", memory: 24 * gib, idleW: 22, limitW: 450, graphics: 2745,
		memoryClock: 10501, generation: 4, laneGB: 1.969, slowdownC: 90, coolC: 38, heatedC: 74,
	}
)

// job is what keeps a card busy.
type job uint8

const (
	training  job = iota // nearly always at its limit, with dips
	inference            // comes in waves
	notebook             // idle, now and then a burst
	game                 // busy, with the encoder in use
	sliced               // MIG: three instances
	walking              // a random walk
)

// task is a process of the simulation.
type task struct {
	pid     uint32
	types   monitor.ProcessTypes
	share   float64 // of the card's load
	memory  int64   // bytes, the middle of where it moves
	sway    float64 // how far it moves, in parts of memory
	host    int64   // bytes
	cpu     float64 // percent of one core at full load
	age     float64 // seconds at the start of the machine
	every   float64 // seconds from one run to the next; 0: always there
	lasts   float64 // seconds a run lasts
	name    string
	command string
	user    string
	job     string // of slurm
	slice   int    // GPU instance, None outside of MIG
	encodes bool
}

// slice is a MIG instance.
type slice struct {
	gi, ci  int
	profile string
	memory  int64 // bytes
}

// card is one simulated GPU.
type card struct {
	model
	index int
	job   job
	seed  uint64
	width int64 // PCIe lanes in use
	tasks []task
	parts []slice

	// Energy is added up from one reading to the next.
	energyJ  float64
	energyAt int64
}

// build makes the cards of the machine.
func build(o Options) []*card {
	cards := make([]*card, o.GPUs)
	for i := range cards {
		c := &card{model: h100, index: i, seed: hash(o.Seed, uint64(i)), width: 16}
		switch {
		case o.Step > 0:
			c.job = walking
		case i == 0 || i == 1:
			c.job = training
		case i == 2:
			c.job, c.width = inference, 8
		case i == 3:
			c.job, c.model = game, rtx4090
		case i == 6:
			c.job = sliced
			c.parts = []slice{{1, 0, "1g.10gb", 9984 * mib}, {2, 0, "2g.20gb", 20096 * mib}, {5, 0, "3g.40gb", 40320 * mib}}
		default:
			c.job = []job{notebook, training, inference}[c.seed%3]
		}
		c.tasks = tasks(c, o.Processes)
		cards[i] = c
	}
	return cards
}

// tasks makes the processes of a card: those that fit its job, or n made-up
// ones.
func tasks(c *card, n int) []task {
	base := uint32(4000 + 1200*c.index)
	var list []task
	add := func(t task) {
		t.pid = base + uint32(len(list))*77 + uint32(hash(c.seed, uint64(len(list)))%70)
		if t.slice == 0 {
			t.slice = monitor.None
		}
		if t.types == 0 {
			t.types = monitor.Compute
		}
		list = append(list, t)
	}
	if n != 0 {
		each := int64(float64(c.memory) * 0.8 / float64(max(n, 1)))
		for i := range max(n, 0) {
			h := hash(c.seed, 77, uint64(i))
			add(task{
				share: 1 / float64(n), memory: each * int64(60+h%40) / 100, host: 2 * gib, cpu: 100, age: float64(h % 400000),
				name: fmt.Sprintf("train%d.py", i), command: fmt.Sprintf("python train%d.py --rank %d --world-size %d", i, i, n),
				user: []string{"kim", "root", "ana", "svc-llm"}[h>>8%4],
			})
		}
		return list
	}
	switch c.job {
	case training:
		add(task{share: 0.96, memory: 66 * gib, sway: 0.04, host: 41 * gib, cpu: 104, age: 8040, user: "kim", job: "88123",
			name: "train.py", command: fmt.Sprintf("python train.py --config big.yaml --rank %d --resume last", c.index)})
		add(task{share: 0.04, memory: 3 * gib, host: 2 * gib, cpu: 35, age: 8000, user: "kim", job: "88123", every: 300, lasts: 75,
			name: "eval.py", command: "python eval.py --checkpoint last"})
	case inference:
		add(task{share: 0.9, memory: 58 * gib, host: 12 * gib, cpu: 31, age: 529200, user: "svc-llm",
			name: "vllm", command: "vllm serve demo/large-model --tensor-parallel-size 1"})
		add(task{share: 0.1, memory: 3 * gib, sway: 0.1, host: 1100 * mib, cpu: 98, age: 31, user: "ana", every: 240, lasts: 150,
			name: "bench.py", command: "python ./bench.py --requests 4096"})
	case notebook:
		add(task{share: 1, memory: 2 * gib, sway: 0.3, host: 3 * gib, cpu: 12, age: 96000, user: "ana",
			name: "ipykernel_launcher", command: "python -m ipykernel_launcher -f kernel.json"})
	case game:
		add(task{types: monitor.Graphics, share: 0, memory: 220 * mib, host: 180 * mib, cpu: 2, age: 40000, user: "root",
			name: "Xorg", command: "/usr/lib/xorg/Xorg :0 -nolisten tcp"})
		add(task{types: monitor.Compute | monitor.Graphics, share: 0.92, memory: 11 * gib, sway: 0.08, host: 9 * gib, cpu: 310, age: 2400,
			user: "lee", name: "blender", command: "blender --python-expr demo scene.blend"})
		add(task{types: monitor.Compute | monitor.Graphics, share: 0.08, memory: 1100 * mib, host: 700 * mib, cpu: 24, age: 1900,
			user: "lee", name: "obs", command: "obs --startrecording", encodes: true})
	case sliced:
		add(task{share: 0.3, memory: 3 * gib, sway: 0.1, host: 2 * gib, cpu: 40, age: 5000, user: "ana", name: "nb.py", command: "python nb.py", slice: 1})
		add(task{share: 0.6, memory: 17 * gib, host: 8 * gib, cpu: 22, age: 200000, user: "svc-llm", name: "vllm", command: "vllm serve demo/small-model", slice: 2})
	}
	return list
}

// load is the utilization in percent at t seconds.
func (c *card) load(t, step float64) float64 {
	switch c.job {
	case walking:
		return walk(c.seed, int64(math.Floor(t)), step)
	case training:
		// A checkpoint every minute and a half stops the work for a moment.
		if into := math.Mod(t+float64(c.index)*2, 95); into < 5 {
			return 8 + 20*noise(c.seed, t/2)
		}
		return 88 + 12*noise(c.seed, t/3)
	case inference:
		wave := 0.5 + 0.5*math.Sin(t/37+float64(c.index))
		return 100 * clamp(0.08+0.6*wave*noise(c.seed, t/9)+0.25*noise(c.seed+1, t/2), 0, 1)
	case game:
		return 100 * clamp(0.72+0.3*noise(c.seed, t/6)-0.25*math.Pow(noise(c.seed+1, t/17), 4), 0, 1)
	case sliced:
		return 35 + 40*noise(c.seed, t/8)
	}
	burst := noise(c.seed, t/25)
	if burst < 0.62 {
		return 0
	}
	return 100 * clamp((burst-0.62)*3*noise(c.seed+1, t/2), 0, 1)
}

// powered is the power in watts that goes with a load, and whether it is held
// down by the limit.
func (c *card) powered(load float64) (watts float64, capped bool) {
	watts = c.idleW + (c.limitW-c.idleW)*math.Pow(load/100, 0.8)*1.06
	if load > 0 {
		watts += 0.05 * (c.limitW - c.idleW)
	}
	if top := c.limitW * 0.985; watts > top {
		return top + (watts-top)*0.1, true
	}
	return watts, false
}

// heat is the temperature at t seconds: it follows the load with a lag.
func (c *card) heat(t, step float64) float64 {
	var sum, weight float64
	for back, w := 0.0, 1.0; back <= 60; back, w = back+4, w*0.82 {
		sum += w * c.load(t-back, step)
		weight += w
	}
	return c.coolC + (c.heatedC-c.coolC)*sum/weight/100 + 2*noise(c.seed+5, t/30)
}

// running reports whether a task is there at t seconds, the number of its run
// and its age in seconds.
func (k *task) running(t float64) (ok bool, run uint64, age float64) {
	if k.every == 0 {
		return true, 0, k.age + math.Mod(t, 7*86400)
	}
	at := t + float64(k.pid)
	n := math.Floor(at / k.every)
	age = at - n*k.every
	return age < k.lasts, uint64(int64(n)), age
}

// bytes is the memory a task uses at t seconds, in whole MiB.
func (k *task) bytes(t float64) int64 {
	v := float64(k.memory) * (1 + k.sway*(noise(uint64(k.pid), t/20)-0.5))
	return int64(v/mib) * mib
}

// cpuPercent is the load of one core that a task makes at t seconds, when that
// of its card is load.
func (k *task) cpuPercent(t, load float64) float64 {
	return math.Round(k.cpu*(0.25+0.7*load/100)*(0.95+0.1*noise(uint64(k.pid), t/2))*10) / 10
}

func clamp(v, lo, hi float64) float64 { return math.Max(lo, math.Min(hi, v)) }
