package process

import (
	"strings"
	"testing"

	"nvtop-lite/monitor"
)

func TestNameOf(t *testing.T) {
	tests := []struct {
		command string // | stands for NUL
		comm    string
		want    string
	}{
		{"/usr/bin/blender|-b|scene.blend", "blender", "blender"},
		{"python|train.py|--lr|1", "python", "train.py"},
		{"/opt/conda/bin/python3.11|-u|/home/kim/src/train.py", "python3.11", "train.py"},
		{"python3|-m|vllm.entrypoints.openai.api_server|--model|x", "python3", "vllm.entrypoints.openai.api_server"},
		{"python3|-mvllm|serve", "python3", "vllm"},
		{"python3|-m", "python3", "python3"},
		{"python|-W|ignore|run.py", "python", "run.py"},
		{"python|-Wignore|run.py", "python", "run.py"},
		{"python|-X|utf8|run.py", "python", "run.py"},
		{"python|-Xutf8|run.py", "python", "run.py"},
		{"python|-BuW|ignore|run.py", "python", "run.py"},
		{"python|-um|pkg|x.py", "python", "pkg"},
		{"python|--check-hash-based-pycs|always|run.py", "python", "run.py"},
		{"python|-c|import torch; torch.zeros(1).cuda()", "python", "python -c"},
		{"python3|-cimport torch", "python3", "python3 -c"},
		{"python|-Bc|x", "python", "python -c"},
		{"python3|-|x.py", "python3", "python3"},
		{"python3|-u", "python3", "python3"},
		{"python3", "python3", "python3"},
		{"python_tool|x.py", "python_tool", "python_tool"},
		{"/usr/bin/python3|/usr/local/bin/jupyter-lab|--port|1", "jupyter-lab", "jupyter-lab"},
		{"/usr/bin/python3|/usr/local/bin/torchrun|--nproc_per_node|8|train.py|--epochs|3", "torchrun", "train.py"},
		{"torchrun|--standalone|--nproc-per-node=8|-m|pkg.train|x.py", "torchrun", "pkg.train"},
		{"torchrun|--help", "torchrun", "torchrun"},
		{"python|-m|torch.distributed.run|--nproc_per_node=2|/src/ddp.py", "python", "ddp.py"},
		{"/usr/bin/python3|/usr/bin/accelerate|launch|--config_file|cfg.yaml|--main_process_port|29500|finetune.py", "accelerate", "finetune.py"},
		{"accelerate|env", "accelerate", "accelerate"},
		{"deepspeed|--include|localhost:0,1|train.py|--deepspeed|ds.json", "deepspeed", "train.py"},
		{"deepspeed|--module|pkg.mod", "deepspeed", "pkg.mod"},
		{"env|-u|X|CUDA_VISIBLE_DEVICES=0|python|a.py", "env", "a.py"},
		{"env", "env", "env"},
		{"uv|run|--with|torch|train.py", "uv", "train.py"},
		{"uv|run|--|python|-u|train.py", "uv", "train.py"},
		{"uv|run|-m|pkg.mod|x", "uv", "pkg.mod"},
		{"uv|pip|install|torch", "uv", "uv"},
		{"bash|-c|cd /src && OMP_NUM_THREADS=4 exec python train.py --x", "bash", "train.py"},
		{"/bin/bash|-lc|source env.sh; torchrun --nproc_per_node 8 main.py", "bash", "main.py"},
		{"bash|-c|true", "bash", "bash -c"},
		{"bash|-c", "bash", "bash -c"},
		{"sh|-e|/opt/run.sh|x", "sh", "run.sh"},
		{"bash|-o|pipefail|run.sh", "bash", "run.sh"},
		{"-bash", "bash", "bash"},
		{"bash|/dev/fd/63", "bash", "bash"},
		{"python3|-u|/dev/fd/63", "python3", "python3"},
		{"timeout|-s|KILL|10m|python|a.py", "timeout", "a.py"},
		{"taskset|-c|0-3|./a.out", "taskset", "a.out"},
		{"numactl|-N|0|--membind=0|./a.out", "numactl", "a.out"},
		{"nohup|nice|-n|5|python3|a.py", "nohup", "a.py"},
		{"conda|run|-n|env|python|a.py", "conda", "a.py"},
		{"nginx: worker process", "nginx", "nginx"},
		{"VLLM::EngineCore", "VLLM::EngineCor", "VLLM::EngineCore"},
		{"ray::Trainer.step (pid 3)", "ray::Trainer", "ray::Trainer.step"},
		{"/opt/My App/bin/viewer", "viewer", "viewer"},
		{`C:\Games\big game.exe`, "big game.exe", "big game.exe"},
		{`C:\Games\game.exe|-dx12`, "game.exe", "game.exe"},
		{"/usr/lib/xorg/Xorg|:0", "Xorg", "Xorg"},
		{"/", "x", "/"},
		{"", "x", ""},
	}
	for _, tt := range tests {
		args := splitCmdline([]byte(strings.ReplaceAll(tt.command, "|", "\x00")))
		if got := nameOf(args, tt.comm); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.command, got, tt.want)
		}
	}
}

func TestCommandLines(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sh", "-c", "while :; do :; done"}, "sh -c 'while :; do :; done'"},
		{[]string{"a", "", "b"}, "a '' b"},
		{[]string{"a", "it's two"}, `a "it's two"`},
		{[]string{"a", `it's "two"`}, `a 'it'\''s "two"'`},
		{[]string{"a", "it's"}, "a it's"},
		{[]string{"serve", "--token", "two words", "--password=my long pass", "--port", "1"}, "serve --token 'two words' '--password=my long pass' --port 1"},
	} {
		if got := quoted(c.args); got != c.want {
			t.Errorf("%q: %s, want %s", c.args, got, c.want)
		}
	}
	secret := monitor.MaskSecrets(quoted([]string{"serve", "--token", "two words", "--password=my long pass", "--api-key", "", "--port", "1"}))
	if secret != "serve --token *** '--password=***' --api-key *** --port 1" && secret != "serve --token *** '--password=*** --api-key *** --port 1" {
		t.Errorf("masked: %s", secret)
	}
}
