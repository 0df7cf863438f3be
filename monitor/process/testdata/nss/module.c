// A module of the C library's name service, for tests: libnss_nvtoptest.so.2.
// It notes each question in $NSS_TEST/asked.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nss.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *path(char *out, const char *name)
{
	snprintf(out, PATH_MAX, "%s/%s", getenv("NSS_TEST"), name);
	return out;
}

static void note(uid_t uid)
{
	char name[PATH_MAX], line[32];
	int fd = open(path(name, "asked"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (write(fd, line, snprintf(line, sizeof line, "%u\n", uid)) < 0)
		abort();
	close(fd);
}

enum nss_status _nss_nvtoptest_getpwuid_r(uid_t uid, struct passwd *out, char *texts, size_t room, int *err)
{
	char file[PATH_MAX];
	const char *name;
	size_t needed = 0;

	note(uid);
	switch (uid) {
	case 1: // hangs as long as there is this file
		while (access(path(file, "hang"), F_OK) == 0)
			usleep(10000);
		name = "slow-sam";
		break;
	case 60001: // an account with long texts
		name = "kim@example.com";
		needed = 40 << 10;
		break;
	case 60002: // a name that does not lie in the room given
		*out = (struct passwd){.pw_name = "static", .pw_passwd = "x", .pw_uid = uid, .pw_gid = uid, .pw_gecos = "", .pw_dir = "/", .pw_shell = "/"};
		return NSS_STATUS_SUCCESS;
	case 60003:
		*(volatile int *)0 = 0;
		return NSS_STATUS_UNAVAIL;
	case 60004: // no room is enough
		*err = ERANGE;
		return NSS_STATUS_TRYAGAIN;
	case 60005: // out of order
		*err = EIO;
		return NSS_STATUS_UNAVAIL;
	default:
		*err = ENOENT;
		return NSS_STATUS_NOTFOUND;
	}
	if (room < needed || room < strlen(name) + 1) {
		*err = ERANGE;
		return NSS_STATUS_TRYAGAIN;
	}
	*out = (struct passwd){.pw_name = strcpy(texts, name), .pw_passwd = "x", .pw_uid = uid, .pw_gid = uid, .pw_gecos = "", .pw_dir = "/", .pw_shell = "/"};
	return NSS_STATUS_SUCCESS;
}
