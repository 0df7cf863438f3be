package ansi

import "testing"

func TestMinttyPipe(t *testing.T) {
	for name, want := range map[string]bool{
		`\msys-1888ae32e00d56aa-pty0-to-master`:         true,
		`\msys-1888ae32e00d56aa-pty12-from-master`:      true,
		`\cygwin-c5e39b7a9d22bafb-pty1-to-master`:       true,
		`\msys-dd50a72ab4668b33-pty0-to-master-nat`:     true,
		`\cygwin-c5e39b7a9d22bafb-pty1-from-master-nat`: true,
		`\msys-1888ae32e00d56aa-pipe-0x16`:              false,
		`\msys-1888ae32e00d56aa-pty0-to-master-cyg`:     false,
		`\msys-1888ae32e00d56aa-pty-to-master`:          false,
		`\msys-1888ae32e00d56aa-pty0x-to-master`:        false,
		`\msys-1888ae32e00d56aa-pty0-echoloop`:          false,
		`\msys--pty0-to-master`:                         false,
		`\other-1888ae32e00d56aa-pty0-to-master`:        false,
		`msys-1888ae32e00d56aa-pty0-to-master`:          false,
		`\Win32Pipes.0000157c.00000003`:                 false,
		`\a\msys-1888ae32e00d56aa-pty0-to-master`:       false,
		`\msys-1888ae32e00d56aa-pty0-to-master-nat-nat`: false,
		`\`:   false,
		``:    false,
		`-`:   false,
		`---`: false,
	} {
		if got := isMinttyPipe(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
