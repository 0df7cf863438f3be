package monitor

import (
	"strings"
	"testing"
)

// TestMaskSecretsOfServers: command lines as the usual servers and their wrappers
// have them. /proc joins arguments with blanks and without quotes; Windows has
// the quotes.
func TestMaskSecretsOfServers(t *testing.T) {
	tests := []struct{ command, want string }{
		// vLLM, TGI, SGLang, Triton, Ollama, llama.cpp
		{"python -m vllm.entrypoints.openai.api_server --model m --api-key sk-S3 --port 8000 --max-model-len 8192", "python -m vllm.entrypoints.openai.api_server --model m --api-key *** --port 8000 --max-model-len 8192"},
		{"vllm serve m --api-key=sk-S3 -tp 8", "vllm serve m --api-key=*** -tp 8"},
		{"text-generation-launcher --model-id m --api-key S3 --num-shard 4", "text-generation-launcher --model-id m --api-key *** --num-shard 4"},
		{"python -m sglang.launch_server --model m --admin-api-key S3 --tp 8", "python -m sglang.launch_server --model m --admin-api-key *** --tp 8"},
		{"tritonserver --model-repository=s3://bucket/models --http-restricted-api=model-repository:admin-key=S3 --http-port=8000", "tritonserver --model-repository=s3://bucket/models --http-restricted-api=model-repository:admin-key=*** --http-port=8000"},
		{"env OLLAMA_HOST=0.0.0.0 OLLAMA_API_KEY=S3 ollama serve", "env OLLAMA_HOST=0.0.0.0 OLLAMA_API_KEY=*** ollama serve"},
		{"llama-server -m x.gguf --api-key-file /run/keys/llama", "llama-server -m x.gguf --api-key-file ***"},
		// Jupyter
		{"jupyter-lab --ip 0.0.0.0 --ServerApp.token=S3 --no-browser", "jupyter-lab --ip 0.0.0.0 --ServerApp.token=*** --no-browser"},
		{"jupyter-notebook --NotebookApp.password=argon2:S3 --NotebookApp.token=", "jupyter-notebook --NotebookApp.password=*** --NotebookApp.token="},
		{"jupyter-lab --IdentityProvider.token S3 --port 8888", "jupyter-lab --IdentityProvider.token *** --port 8888"},
		{"jupyter-lab --ServerApp.password='S3 x' --port 8888", "jupyter-lab --ServerApp.password=*** --port 8888"},
		// Training
		{"env WANDB_API_KEY=S3 HF_TOKEN=S3 torchrun --nproc_per_node=8 --rdzv_endpoint=n1:29500 train.py", "env WANDB_API_KEY=*** HF_TOKEN=*** torchrun --nproc_per_node=8 --rdzv_endpoint=n1:29500 train.py"},
		{"bash -c export HF_TOKEN=S3; python train.py", "bash -c export HF_TOKEN=*** python train.py"},
		{"bash -c AWS_ACCESS_KEY_ID=S3 AWS_SECRET_ACCESS_KEY=S3 AWS_REGION=eu-1 python t.py", "bash -c AWS_ACCESS_KEY_ID=*** AWS_SECRET_ACCESS_KEY=*** AWS_REGION=eu-1 python t.py"},
		{"python train.py trainer.logger.api_key=S3 model.lr=0.1", "python train.py trainer.logger.api_key=*** model.lr=0.1"},
		{"ray start --head --redis-password S3 --port 6379", "ray start --head --redis-password *** --port 6379"},
		{"mlflow server --backend-store-uri postgresql://mlflow:S3@db:5432/mlflow --port 5000", "mlflow server --backend-store-uri postgresql://mlflow:***@db:5432/mlflow --port 5000"},
		{"env MLFLOW_TRACKING_PASSWORD=S3 MLFLOW_TRACKING_USERNAME=kim python t.py", "env MLFLOW_TRACKING_PASSWORD=*** MLFLOW_TRACKING_USERNAME=kim python t.py"},
		// Kubernetes, docker
		{"kubectl --token=S3 --server https://k8s:6443 get pods", "kubectl --token=*** --server https://k8s:6443 get pods"},
		{"kubectl create secret generic x --from-literal=password=S3 --from-literal=user=kim", "kubectl create secret generic x --from-literal=password=*** --from-literal=user=kim"},
		{"docker run -e HF_TOKEN=S3 --env=WANDB_API_KEY=S3 -p 8000:8000 -v /etc/keys:/keys img", "docker run -e HF_TOKEN=*** --env=WANDB_API_KEY=*** -p 8000:8000 -v /etc/keys:/keys img"},
		{"docker login -u kim --password S3 reg.example.org", "docker login -u kim --password *** reg.example.org"},
		// URLs
		{"worker --broker redis://:S3@cache:6379/0 --loglevel info", "worker --broker redis://:***@cache:6379/0 --loglevel info"},
		{"app --db=postgres://kim:S3@h1:5432,h2:5432/x?sslmode=require", "app --db=postgres://kim:***@h1:5432,h2:5432/x?sslmode=require"},
		{"git clone https://S3@github.com/o/r.git", "git clone https://***@github.com/o/r.git"},
		{"a http://u:S3@h1/x,http://u:S3@h2/x b", "a http://u:***@h1/x,http://u:***@h2/x b"},
		{"get https://host/x?sig=1&access_token=S3&b=2", "get https://host/x?sig=1&access_token=***"},
		{"serve https://host:8080/a@b ftp://host/x", "serve https://host:8080/a@b ftp://host/x"},
		// JSON, YAML, headers
		{`serve --config {"api_key": "S3 x", "model": "m"} --port 80`, `serve --config {"api_key": *** "model": "m"} --port 80`},
		{`serve --config {"api_key":"S3 x","model":"m"} --port 80`, `serve --config {"api_key":***,"model":"m"} --port 80`},
		{`serve --config '{"model":"m","api_key":"S3","secret":"S3"}'`, `serve --config '{"model":"m","api_key":***,"secret":***}'`},
		{`serve --config "{\"api_key\":\"S3\",\"model\":\"m\"}"`, `serve --config "{\"api_key\":***,\"model\":\"m\"}"`},
		{`serve --config {"keys":["S3", "S3"],"n":1}`, `serve --config {"keys":***,"n":1}`},
		{`serve {"key":S3}`, `serve {"key":***}`},
		{`serve {"key":{"a":"S3"},"n":1}`, `serve {"key":***,"n":1}`},
		{`serve {"key":"S3`, `serve {"key":***`},
		{"helm --set-string api_key: S3", "helm --set-string api_key: ***"},
		{"curl -H Authorization: Bearer S3 https://host/x", "curl -H Authorization: Bearer *** https://host/x"},
		{"curl -H authorization: S3 https://host/x", "curl -H authorization: *** https://host/x"},
		{`curl -H "X-Api-Key: S3" https://host/x`, `curl -H "X-Api-Key: *** https://host/x`},
		{`curl -H "Authorization: Basic S3" https://host/x`, `curl -H "Authorization: Basic *** https://host/x`},
		{"pwsh -File s.ps1 -Token:S3 -Name x", "pwsh -File s.ps1 -Token:*** -Name x"},
		// Keys, and values that begin with a dash
		{"serve --key -----BEGIN RSA PRIVATE KEY-----\nS3\nS3\n-----END RSA PRIVATE KEY----- --port 80", "serve --key *** --port 80"},
		{"serve TLS_KEY=-----BEGIN KEY-----\nS3\n-----END KEY-----\n --port 80", "serve TLS_KEY=***\n --port 80"},
		{"serve --tls -----BEGIN KEY-----\nS3 S3", "serve --tls ***"},
		{"serve --token -S3abcdef1 --port 80", "serve --token *** --port 80"},
		{"serve --use-key -v --port 80", "serve --use-key -v --port 80"},
		{"serve --passphrase S3 MY_PASSWD=S3 --pwd S3 --jwt=S3 COOKIE=S3", "serve --passphrase *** MY_PASSWD=*** --pwd *** --jwt=*** COOKIE=***"},
		// Quotes
		{`cmd /c "serve --token S3" --port 80`, `cmd /c "serve --token *** --port 80`},
		{`cmd /c "serve --token S3 --port 80"`, `cmd /c "serve --token *** --port 80"`},
		{"chat --prompt don't --token S3 --prompt isn't", "chat --prompt don't --token *** --prompt isn't"},
		{`serve --token="S3 S3" --port 80`, `serve --token=*** --port 80`},
		{`serve "--token=S3 S3" --port 80`, `serve "--token=*** --port 80`},
		// The rule takes harmless values along.
		{"train --tokenizer /m --max-tokens 4096 --num-key-value-heads 8 --keyring x", "train --tokenizer *** --max-tokens *** --num-key-value-heads *** --keyring ***"},
		// What is no secret by name stays.
		{"mysql -pS1 -u kim", "mysql -pS1 -u kim"},
		{"serve -p 8000 --model keyboard/monkey", "serve -p 8000 --model keyboard/monkey"},
		{"ssh kim@host", "ssh kim@host"},
		{`C:\keys\serve.exe --port 80`, `C:\keys\serve.exe --port 80`},
	}
	for _, tt := range tests {
		got := MaskSecrets(tt.command)
		if got != tt.want || strings.Contains(got, "S3") {
			t.Errorf("MaskSecrets(%q)\n got %q\nwant %q", tt.command, got, tt.want)
		}
		if again := MaskSecrets(got); strings.Contains(again, "S3") || len(again) > len(got)+3 {
			t.Errorf("masked twice: %q", again)
		}
	}
}
