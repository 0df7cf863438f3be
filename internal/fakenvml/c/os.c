/* What differs between Linux and Windows. */
#ifndef _WIN32
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#endif

#include "fake.h"

#ifdef _WIN32

struct os_mutex {
	SRWLOCK lock;
};
os_mutex state_mutex = {SRWLOCK_INIT};

void os_lock(os_mutex *m) { AcquireSRWLockExclusive(&m->lock); }
void os_unlock(os_mutex *m) { ReleaseSRWLockExclusive(&m->lock); }

int64_t os_now_us(void)
{
	LARGE_INTEGER n, f;
	QueryPerformanceCounter(&n);
	QueryPerformanceFrequency(&f);
	return (int64_t)((double)n.QuadPart * 1e6 / (double)f.QuadPart);
}

int64_t os_wall_us(void)
{
	FILETIME f;
	GetSystemTimeAsFileTime(&f);
	uint64_t t = (uint64_t)f.dwHighDateTime << 32 | f.dwLowDateTime;
	return (int64_t)(t / 10 - 11644473600000000ULL);
}

void os_sleep_ms(unsigned ms) { Sleep(ms); }

void os_library_dir(char *dir, size_t size)
{
	HMODULE module = NULL;
	dir[0] = 0;
	if (!GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
	                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
	                        (LPCSTR)&state_mutex, &module))
		return;
	if (!GetModuleFileNameA(module, dir, (DWORD)size)) dir[0] = 0;
	char *end = strrchr(dir, '\\');
	if (end) end[1] = 0;
}

void *os_map_file(const char *path, size_t size)
{
	HANDLE file = CreateFileA(path, GENERIC_READ | GENERIC_WRITE,
	                          FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
	                          OPEN_EXISTING, 0, NULL);
	if (file == INVALID_HANDLE_VALUE) return NULL;
	LARGE_INTEGER length;
	void *view = NULL;
	if (GetFileSizeEx(file, &length) && length.QuadPart >= (LONGLONG)size) {
		HANDLE map = CreateFileMappingA(file, NULL, PAGE_READWRITE, 0, (DWORD)size, NULL);
		if (map) {
			view = MapViewOfFile(map, FILE_MAP_ALL_ACCESS, 0, 0, size);
			CloseHandle(map);
		}
	}
	CloseHandle(file);
	return view;
}

int64_t os_stamp(const char *path)
{
	WIN32_FILE_ATTRIBUTE_DATA d;
	if (!GetFileAttributesExA(path, GetFileExInfoStandard, &d)) return -1;
	uint64_t t = (uint64_t)d.ftLastWriteTime.dwHighDateTime << 32 |
	             d.ftLastWriteTime.dwLowDateTime;
	return (int64_t)((t ^ ((uint64_t)d.nFileSizeLow << 40)) & INT64_MAX);
}

void os_write_blocking(const char *path)
{
	HANDLE file = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
	                          OPEN_ALWAYS, 0, NULL);
	DWORD n;
	if (file == INVALID_HANDLE_VALUE) return;
	WriteFile(file, "x", 1, &n, NULL);
	FlushFileBuffers(file);
	CloseHandle(file);
}

#else

struct os_mutex {
	pthread_mutex_t lock;
};
os_mutex state_mutex = {PTHREAD_MUTEX_INITIALIZER};

void os_lock(os_mutex *m) { pthread_mutex_lock(&m->lock); }
void os_unlock(os_mutex *m) { pthread_mutex_unlock(&m->lock); }

static int64_t clock_us(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t os_now_us(void) { return clock_us(CLOCK_MONOTONIC); }
int64_t os_wall_us(void) { return clock_us(CLOCK_REALTIME); }

void os_sleep_ms(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
	/* A Go program interrupts its threads with signals all the time. */
	while (nanosleep(&t, &t) != 0) {
	}
}

void os_library_dir(char *dir, size_t size)
{
	Dl_info info;
	dir[0] = 0;
	if (!dladdr((void *)&state_mutex, &info) || !info.dli_fname) return;
	snprintf(dir, size, "%s", info.dli_fname);
	char *end = strrchr(dir, '/');
	if (end)
		end[1] = 0;
	else
		dir[0] = 0;
}

void *os_map_file(const char *path, size_t size)
{
	int file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0) return NULL;
	struct stat s;
	void *view = MAP_FAILED;
	if (fstat(file, &s) == 0 && (uint64_t)s.st_size >= size)
		view = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return view == MAP_FAILED ? NULL : view;
}

int64_t os_stamp(const char *path)
{
	struct stat s;
	if (stat(path, &s) != 0) return -1;
	uint64_t h = (uint64_t)s.st_mtim.tv_sec * 1000000000u + (uint64_t)s.st_mtim.tv_nsec;
	h = h * 31 + (uint64_t)s.st_size;
	h = h * 31 + (uint64_t)s.st_ino;
	return (int64_t)(h & INT64_MAX);
}

void os_write_blocking(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0) return;
	/* On a frozen file system this never comes back, not even for a kill. */
	if (write(file, "x", 1) == 1) fsync(file);
	close(file);
}

#endif
