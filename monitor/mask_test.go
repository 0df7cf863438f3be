package monitor

import (
	"strings"
	"testing"
)

func TestMaskSecrets(t *testing.T) {
	tests := []struct{ command, want string }{
		{"", ""},
		{"python train.py --config big.yaml", "python train.py --config big.yaml"},
		{"serve --api-key abc --port 80", "serve --api-key *** --port 80"},
		{"serve --api-key=abc --port=80", "serve --api-key=*** --port=80"},
		{"serve -token abc", "serve -token ***"},
		{"serve -token=abc", "serve -token=***"},
		{"env HF_TOKEN=hf_abc python x.py", "env HF_TOKEN=*** python x.py"},
		{"Secret=1 PASSWORD=2 my_Credentials=3 LANG=C", "Secret=*** PASSWORD=*** my_Credentials=*** LANG=C"},
		{"docker run --env=WANDB_API_KEY=abc -e DB_PASSWORD=def img", "docker run --env=WANDB_API_KEY=*** -e DB_PASSWORD=*** img"},
		{`serve --password "two words" --port 80`, "serve --password *** --port 80"},
		{`serve --password='two words' --port 80`, "serve --password=*** --port 80"},
		{`sh -c "HF_TOKEN=abc python x.py" next`, `sh -c "HF_TOKEN=*** next`},
		{"fetch https://host/x?user=kim&token=abc", "fetch https://host/x?user=kim&token=***"},
		{"serve --use-key --verbose abc", "serve --use-key --verbose abc"},
		{"serve --key  abc", "serve --key  ***"},
		{"serve --key", "serve --key"},
		{"serve --key=", "serve --key="},
		{"keyboard monkey tokens", "keyboard monkey tokens"},
		{"run --token a=b", "run --token ***"},
		{"a=b=c key==x", "a=b=c key=***"},
		{`x --secret "never closed and more`, `x --secret ***`},
	}
	for _, tt := range tests {
		if got := MaskSecrets(tt.command); got != tt.want {
			t.Errorf("MaskSecrets(%q)\n got %q\nwant %q", tt.command, got, tt.want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { MaskSecrets("python train.py --config big.yaml --resume last") }); n > 0 {
		t.Errorf("a command line without a secret costs %v allocations", n)
	}
}

func FuzzMaskSecrets(f *testing.F) {
	f.Add("serve --api-key", "abc")
	f.Fuzz(func(t *testing.T, before, secret string) {
		MaskSecrets(before)
		if secret == "" || len(secret) < 4 || strings.ContainsAny(secret, " \t\n\"'*") || strings.ContainsAny(before, "\"'") || strings.Contains(before, secret) {
			return
		}
		for _, got := range []string{
			MaskSecrets(before + " --my-token=" + secret + " x"),
			MaskSecrets(before + " PASSWORD=" + secret),
		} {
			if strings.Contains(strings.TrimPrefix(got, before), secret) && !strings.Contains("--my-token=*** x PASSWORD=***", secret) {
				t.Errorf("%q shows %q", got, secret)
			}
		}
	})
}
