/* console.exe FILE COMMAND [CELLS]: runs a command in its console, and writes the
 * console's modes before and after it, and its exit code, into FILE. Into CELLS it
 * writes, ten times a second, all that the command has written on the console:
 * Wine's console takes escape sequences for text, so that is every byte of them.
 * FILE.count has the handles that the command and its children hold, and FILE.pid
 * its PID. When there is FILE.kill the command is killed. */
#include <windows.h>
#include <winternl.h>
#include <tlhelp32.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3000, UNWRITTEN = 0xE000 };

static BOOL WINAPI stay(DWORD event) { return event == CTRL_C_EVENT; }

static int same_modes(DWORD want[2])
{
	DWORD now[2] = {0, 0};
	HANDLE in = CreateFileA("CONIN$", GENERIC_READ | GENERIC_WRITE, 3, NULL, OPEN_EXISTING, 0, NULL);
	HANDLE out = CreateFileA("CONOUT$", GENERIC_READ | GENERIC_WRITE, 3, NULL, OPEN_EXISTING, 0, NULL);
	int same, ok = GetConsoleMode(in, &now[0]) && GetConsoleMode(out, &now[1]);
	CloseHandle(in);
	CloseHandle(out);
	same = ok && now[0] == want[0] && now[1] == want[1];
	want[0] = ok ? now[0] : 0xFFFFFFFF;
	want[1] = now[1];
	return same;
}

/* put replaces a file. */
static void put(const char *file, const void *bytes, size_t n)
{
	char next[MAX_PATH];
	FILE *f;
	snprintf(next, sizeof next, "%s.new", file);
	f = fopen(next, "wb");
	fwrite(bytes, 1, n, f);
	fclose(f);
	MoveFileExA(next, file, MOVEFILE_REPLACE_EXISTING);
}

static void tell_cells(HANDLE out, const char *file)
{
	static WCHAR cells[ROWS * 512];
	CONSOLE_SCREEN_BUFFER_INFO info;
	COORD at = {0, 0};
	DWORD n, all = 0;
	GetConsoleScreenBufferInfo(out, &info);
	for (; at.Y <= info.dwCursorPosition.Y; at.Y++, all += n) {
		n = 0;
		ReadConsoleOutputCharacterW(out, cells + all, info.dwSize.X, at, &n);
	}
	while (all > 0 && cells[all - 1] == UNWRITTEN) all--;
	put(file, cells, 2 * all);
}

/* handles counts those of a process. */
static unsigned handles(DWORD pid)
{
	static struct { ULONG_PTR count, reserved; struct { PVOID object; ULONG_PTR pid, handle; ULONG rest[4]; } list[20000]; } all;
	unsigned n = 0;
	if (NtQuerySystemInformation((SYSTEM_INFORMATION_CLASS)64, &all, sizeof all, NULL)) return 0;
	for (ULONG_PTR i = 0; i < all.count; i++) n += all.list[i].pid == pid;
	return n;
}

static void tell_count(const char *told, DWORD pid)
{
	char file[MAX_PATH], line[64];
	unsigned n = handles(pid);
	PROCESSENTRY32 e = {sizeof e};
	HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	for (BOOL ok = Process32First(all, &e); ok; ok = Process32Next(all, &e))
		if (e.th32ParentProcessID == pid) n += handles(e.th32ProcessID);
	CloseHandle(all);
	snprintf(file, sizeof file, "%s.count", told);
	snprintf(line, sizeof line, "%u", n);
	put(file, line, strlen(line));
}

/* killed kills the process where that is wanted. */
static int killed(const char *told, HANDLE process)
{
	char file[MAX_PATH];
	snprintf(file, sizeof file, "%s.kill", told);
	return GetFileAttributesA(file) != INVALID_FILE_ATTRIBUTES && TerminateProcess(process, 137);
}

int main(int argc, char **argv)
{
	STARTUPINFOA s = {sizeof s};
	PROCESS_INFORMATION p;
	DWORD before[2] = {0, 0}, after[2], code = 0, mode = 0, n;
	char file[MAX_PATH], line[16];
	HANDLE out = CreateFileA("CONOUT$", GENERIC_READ | GENERIC_WRITE, 3, NULL, OPEN_EXISTING, 0, NULL);
	FILE *f;
	int end = 0;
	SetConsoleCtrlHandler(stay, TRUE);
	if (argc > 3) { /* so long that nothing moves up, and filled with what nobody writes */
		CONSOLE_SCREEN_BUFFER_INFO info;
		COORD start = {0, 0};
		GetConsoleScreenBufferInfo(out, &info);
		info.dwSize.Y = ROWS;
		if (info.dwSize.X > 512 || !SetConsoleScreenBufferSize(out, info.dwSize)) return 90;
		FillConsoleOutputCharacterW(out, UNWRITTEN, info.dwSize.X * ROWS, start, &n);
		SetConsoleCursorPosition(out, start);
	}
	same_modes(before);
	if (!CreateProcessA(NULL, argv[2], NULL, NULL, TRUE, 0, NULL, NULL, &s, &p)) return 91;
	snprintf(file, sizeof file, "%s.pid", argv[1]);
	snprintf(line, sizeof line, "%lu", p.dwProcessId);
	put(file, line, strlen(line));
	/* Once the program has set its modes: that CR, LF and BS are cells, too. */
	while (argc > 3 && GetConsoleMode(out, &mode) && WaitForSingleObject(p.hProcess, 1) == WAIT_TIMEOUT)
		if (mode & DISABLE_NEWLINE_AUTO_RETURN) {
			SetConsoleMode(out, mode & ~ENABLE_PROCESSED_OUTPUT);
			break;
		}
	while (WaitForSingleObject(p.hProcess, 100) == WAIT_TIMEOUT) {
		end = end || killed(argv[1], p.hProcess);
		if (argc > 3) {
			tell_cells(out, argv[3]);
			tell_count(argv[1], p.dwProcessId);
		}
	}
	GetExitCodeProcess(p.hProcess, &code);
	memcpy(after, before, sizeof after);
	for (int i = 0; !same_modes(after) && end && i < 300; i++) { /* its driver process does that */
		memcpy(after, before, sizeof after);
		Sleep(100);
	}
	if (argc > 3) tell_cells(out, argv[3]);
	f = fopen(argv[1], "w");
	fprintf(f, "%#lx %#lx\n%#lx %#lx\n%lu\n", before[0], before[1], after[0], after[1], code);
	return fclose(f);
}
